#include "worker/data/data_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <system_error>

#include "proto/base/names.h"
#include "proto/base/sha256.h"
#include "proto/base/synchronized.h"
#include "proto/base/text.h"
#include "worker/data/data_stamp.h"
#include "worker/data/files.h"

namespace longreach::data {
namespace {

constexpr int64_t kMaxManifestBytes = int64_t{256} << 20;

const char* Setting(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

absl::Status Damaged(const std::filesystem::path& file, std::string_view what, absl::StatusCode code = absl::StatusCode::kDataLoss) {
  return absl::Status(code, fmt::format("{}: {}", file.string(), what));
}

std::string Short(const std::string& sha256) { return sha256.substr(0, 8); }

// What somebody put there later belongs to no identity.
absl::Status CheckNoOtherFiles(const std::filesystem::path& folder, const Manifest& manifest) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder / manifest.name, error), end; !error && entry != end; entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    if (file.front() == '.' || file == kManifest || std::ranges::find(manifest.files, file, &FileEntry::name) != manifest.files.end()) continue;
    return Damaged(entry->path(), fmt::format("was not imported with the data set '{}', whose files are those of its import alone; move it elsewhere, or import a folder "
                                              "that has it under another name", manifest.name), absl::StatusCode::kFailedPrecondition);
  }
  return error ? SystemError("list", folder / manifest.name, error.value()) : absl::OkStatus();
}

absl::Status CheckBytes(const std::filesystem::path& folder, const std::string& name, const FileEntry& entry) {
  ASSIGN_OR_RETURN(const std::string sha256, Sha256OfFile(folder / name / entry.name));
  return CheckHash(folder, name, entry, sha256);
}

// Stamps of data sets whose bytes are known to be their import's. A data set has another one whenever it is touched, so there is a limit; what is let go of is read once more.
class SoundStamps {
 public:
  bool Has(const std::string& stamp) { return stamps_.Lock()->contains(stamp); }
  void Add(const std::string& stamp) {
    auto stamps = stamps_.Lock();
    if (stamps->size() >= kMost) stamps->clear();
    stamps->insert(stamp);
  }

 private:
  static constexpr size_t kMost = 10'000;
  Synchronized<std::set<std::string>> stamps_;
};

SoundStamps& Sound() {
  static SoundStamps sound;
  return sound;
}

// The manifest is the last file that an import writes. Of those that were written later the bytes are looked at: once in a process, as long as the data set's stamp stays the same, and not
// at all where somebody has done so.
absl::Status CheckWrittenLater(const std::filesystem::path& folder, const Manifest& manifest) {
  std::error_code error;
  const auto imported = std::filesystem::last_write_time(folder / manifest.name / kManifest, error);
  std::vector<const FileEntry*> later;
  for (const FileEntry& entry : manifest.files) {
    const std::filesystem::path path = folder / manifest.name / entry.name;
    const auto written = error ? imported : std::filesystem::last_write_time(path, error);
    if (error) return SystemError("look at", path, error.value());
    if (written > imported) later.push_back(&entry);
  }
  if (later.empty()) return absl::OkStatus();
  // Before they are read: what is written meanwhile makes another one of it.
  ASSIGN_OR_RETURN(const std::string stamp, StampOf(folder, manifest));
  if (Sound().Has(stamp)) return absl::OkStatus();
  for (const FileEntry* entry : later) RETURN_IF_ERROR(CheckBytes(folder, manifest.name, *entry));
  Sound().Add(stamp);
  return absl::OkStatus();
}

// ReadDataSet() without words on what else is there: NOT_FOUND alone.
absl::StatusOr<Manifest> ReadIfThere(const std::filesystem::path& folder, const std::string& name) {
  RETURN_IF_ERROR(CheckName(name));
  const std::filesystem::path file = folder / name / kManifest;
  absl::StatusOr<std::string> text = ReadFile(file, kMaxManifestBytes);
  RETURN_IF_ERROR(text.status());
  absl::StatusOr<Manifest> manifest = ParseManifest(*text);
  if (!manifest.ok()) {
    // What has been imported was right: it is no argument of whoever asks for it now that is wrong.
    const absl::StatusCode code = absl::IsInvalidArgument(manifest.status()) ? absl::StatusCode::kDataLoss : manifest.status().code();
    return Damaged(file, fmt::format("{}; 'longreach data remove {}' and import it anew", std::string(manifest.status().message()), name), code);
  }
  // A copy under another name is as good as the first; a name is a folder's.
  manifest->name = name;
  for (const FileEntry& entry : manifest->files) {
    const std::filesystem::path path = folder / name / entry.name;
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    if (error == std::errc::no_such_file_or_directory) {
      return Damaged(path, fmt::format("is missing; 'longreach data remove {}' and import it anew", name));
    }
    if (error) return SystemError("look at", path, error.value());
    if (static_cast<int64_t>(bytes) != entry.bytes) {
      return Damaged(path, fmt::format("has {} bytes, and {} were imported; 'longreach data remove {}' and import it anew", bytes,
                                       entry.bytes, name));
    }
  }
  return manifest;
}

}  // namespace

std::filesystem::path DefaultDataFolder() {
  if (const char* folder = Setting("LONGREACH_DATA")) return folder;
  if (const char* folder = Setting("XDG_DATA_HOME")) return std::filesystem::path(folder) / "longreach" / "data";
  if (const char* home = Setting("HOME")) return std::filesystem::path(home) / ".local" / "share" / "longreach" / "data";
  return "longreach-data";
}

absl::Status CheckDataFolder(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder, error) || std::filesystem::is_directory(folder, error)) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("'{}' is a file, and no folder of data sets; name another with --data-folder or LONGREACH_DATA", folder.string()));
}

absl::Status CheckName(const std::string& name) {
  if (IsOfNameCharacters(name) && name.size() <= kMaxNameBytes && name.front() != '.') return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("'{}' cannot be a data set's name; take letters, digits, '-', '_' and '.', at most {}, and not '.' first", name, kMaxNameBytes));
}

std::vector<std::string> DataSetNames(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unknown;
    if (const std::string name = entry->path().filename().string(); CheckName(name).ok() && std::filesystem::exists(entry->path() / kManifest, unknown)) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

absl::StatusOr<Manifest> ReadDataSet(const std::filesystem::path& folder, const std::string& name) {
  absl::StatusOr<Manifest> manifest = ReadIfThere(folder, name);
  if (!absl::IsNotFound(manifest.status())) return manifest;
  const std::string near = ClosestWord(name, DataSetNames(folder));
  return absl::NotFoundError(fmt::format("there is no data set '{}' in {}; {}'longreach data import' makes one", name, folder.string(),
                                         near.empty() ? "" : fmt::format("did you mean '{}'? ", near)));
}

absl::StatusOr<Manifest> ReadDataSet(const std::filesystem::path& folder, const std::string& name, const std::string& sha256, Kind kind) {
  ASSIGN_OR_RETURN(Manifest manifest, ReadDataSet(folder, name));
  if (const std::string own = manifest.Identity(); !sha256.empty() && own != sha256) {
    return absl::FailedPreconditionError(fmt::format("the data set '{}' in {} has other bytes: {} instead of {}", name, folder.string(),
                                                     Short(own), Short(sha256)));
  }
  // Behind the identity, of which the kind is a part: what is asked for by that has this kind on every machine.
  if (manifest.kind != kind) {
    return absl::InvalidArgumentError(
        fmt::format("the data set '{}' is of the kind '{}', and '{}' is needed", name, Word(manifest.kind), Word(kind)));
  }
  RETURN_IF_ERROR(CheckWrittenLater(folder, manifest));
  // Of a model's folder what is there is what is read.
  if (kind == Kind::kModel) RETURN_IF_ERROR(CheckNoOtherFiles(folder, manifest));
  return manifest;
}

void TakeAsVerified(const std::string& stamp) { Sound().Add(stamp); }

Listing ListDataSets(const std::filesystem::path& folder) {
  Listing listing;
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unknown;
    const std::string name = entry->path().filename().string();
    // What cannot be looked at, as a disk or a server does not let, may be one: reading it says why it is none.
    if ((entry->is_directory(unknown) || unknown) && name.front() != '.') names.push_back(name);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    const absl::Status why = SystemError("list", folder, error.value());
    listing.status = absl::Status(why.code(), fmt::format("{}; see that this user may read the folder, and that its disk or server answers, or name another one with --data-folder or "
                                                          "LONGREACH_DATA", std::string(why.message())));
  }
  std::ranges::sort(names);
  for (const std::string& name : names) {
    absl::StatusOr<Manifest> manifest = ReadIfThere(folder, name);
    if (manifest.ok()) {
      listing.data_sets.push_back(*std::move(manifest));
    } else if (manifest.status().code() != absl::StatusCode::kNotFound) {
      listing.damaged.push_back({.name = name, .reason = std::string(manifest.status().message())});
    }
  }
  return listing;
}

absl::Status CheckHash(const std::filesystem::path& folder, const std::string& name, const FileEntry& entry, const std::string& sha256) {
  if (sha256 == entry.sha256) return absl::OkStatus();
  return Damaged(folder / name / entry.name, fmt::format("its bytes have changed since the import (SHA-256 {} instead of {}); 'longreach data remove {}' and import it anew",
                                                         Short(sha256), Short(entry.sha256), name));
}

absl::Status CheckDataSet(const std::filesystem::path& folder, const std::string& name) {
  ASSIGN_OR_RETURN(const Manifest manifest, ReadDataSet(folder, name));
  RETURN_IF_ERROR(CheckNoOtherFiles(folder, manifest));
  for (const FileEntry& entry : manifest.files) {
    RETURN_IF_ERROR(CheckBytes(folder, name, entry));
  }
  return absl::OkStatus();
}

}  // namespace longreach::data
