#include "worker/data/import_model.h"

#include <fmt/format.h>

#include <cerrno>
#include <optional>

#include "proto/base/sha256.h"
#include "worker/data/data_folder.h"
#include "worker/data/files.h"
#include "worker/data/mapped_file.h"
#include "worker/data/staging.h"

namespace longreach::data {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBlock = 1 << 20;

// Reads the file once: into the hash, and into the copy where one is made.
absl::StatusOr<FileEntry> Take(const fs::path& from, const fs::path& to, bool link, Progress& progress) {
  std::error_code error;
  fs::remove(to, error);  // Of an import that was interrupted.
  if (link) {
    fs::create_hard_link(from, to, error);
    if (error.value() == EXDEV) {
      return absl::InvalidArgumentError(
          fmt::format("--link: {} lies on another file system than {}; leave --link out, and it is copied", from.string(), to.parent_path().string()));
    }
    if (error) return SystemError("link", from, error.value());
  }
  ASSIGN_OR_RETURN(const MappedFile mapped, MappedFile::Open(from));
  const std::string_view bytes(reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size());
  Sha256 hash;
  std::optional<OutputFile> out;
  if (!link) {
    ASSIGN_OR_RETURN(OutputFile opened, OutputFile::Open(to));
    out.emplace(std::move(opened));
  }
  for (size_t at = 0; at < bytes.size(); at += kBlock) {
    const std::string_view block = bytes.substr(at, kBlock);
    hash.Update(block);
    if (out) RETURN_IF_ERROR(out->Write(block));
    progress.Advance(static_cast<int64_t>(block.size()));
  }
  if (out) RETURN_IF_ERROR(out->Close());
  return FileEntry{.name = to.filename().string(), .bytes = static_cast<int64_t>(bytes.size()), .sha256 = hash.Finish()};
}

}  // namespace

absl::StatusOr<Manifest> ImportModel(const ModelImport& wanted, Progress& progress) {
  RETURN_IF_ERROR(CheckName(wanted.name));
  Manifest manifest;
  manifest.kind = Kind::kModel;
  manifest.source = wanted.source.string();
  manifest.description = wanted.description;
  manifest.nope = wanted.nope;
  std::vector<fs::path> sources;
  int64_t total = 0;
  for (const std::string& file : wanted.files) {
    std::error_code error;
    // A folder of the hub's cache holds links.
    const fs::path& real = sources.emplace_back(fs::canonical(wanted.source / file, error));
    if (error) return SystemError("open", wanted.source / file, error.value());
    total += static_cast<int64_t>(fs::file_size(real, error));
    if (error) return SystemError("look at", real, error.value());
  }
  ASSIGN_OR_RETURN(Staging staging, Staging::Open(wanted.folder, wanted.name));
  progress.Start(total, 0, "bytes");
  for (size_t i = 0; i < sources.size(); ++i) {
    absl::StatusOr<FileEntry> taken = Take(sources[i], staging.path() / wanted.files[i], wanted.link, progress);
    if (!taken.ok()) {
      staging.Discard();  // It is begun anew in any case.
      return taken.status();
    }
    manifest.files.push_back(*std::move(taken));
  }
  progress.Finish();
  RETURN_IF_ERROR(staging.Publish(manifest));
  return ReadDataSet(wanted.folder, wanted.name);
}

}  // namespace longreach::data
