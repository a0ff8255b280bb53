#include "worker/data/import_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "proto/base/file_to_read.h"
#include "proto/base/sha256.h"
#include "worker/data/byte_source.h"
#include "worker/data/data_folder.h"
#include "worker/data/files.h"
#include "worker/data/source_files.h"
#include "worker/data/staging.h"

namespace longreach::data {
namespace {

constexpr const char* kCorpus = "corpus.bin";
constexpr const char* kJournal = "journal.json";
constexpr size_t kReadBlock = 1 << 20;
// Bytes between two points from which an interrupted import goes on.
constexpr int64_t kBetweenPoints = int64_t{64} << 20;

// The first 10^8 bytes of the English Wikipedia's dump of March 3, 2006, with the split of all who report on it:
// 90, 5 and 5 million bytes. Hash: of the file in mattmahoney.net/dc/enwik8.zip (MD5 a1fa5ffddb56f4953e226637dabbb36a there).
constexpr KnownText kKnown[] = {
    {"enwik8", 100'000'000, "2b49720ec4d78c3c9fabaee6e4179a5e997302b3a70029f30f2d582218c024a8", {90, 5, 5}},
};

absl::Status CheckSplit(const std::array<int, 3>& split) {
  if (split[0] + split[1] + split[2] == 100 && std::ranges::all_of(split, [](int part) { return part > 0; })) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("the split {},{},{} is not three parts above 0 that add up to 100", split[0], split[1], split[2]));
}

// How many bytes of this very source are written and synced; 0: begin anew.
int64_t ReadJournal(const std::filesystem::path& staging, const std::string& fingerprint, int64_t size) {
  const absl::StatusOr<std::string> text = ReadFile(staging / kJournal, 1 << 16);
  if (!text.ok()) return 0;
  const nlohmann::json journal = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!journal.is_object() || journal.value("fingerprint", nlohmann::json()) != fingerprint) return 0;
  const nlohmann::json bytes = journal.value("bytes", nlohmann::json());
  if (!bytes.is_number_integer()) return 0;
  const auto written = bytes.get<int64_t>();
  std::error_code error;
  const auto there = std::filesystem::file_size(staging / kCorpus, error);
  if (error || written < 0 || written > size || static_cast<int64_t>(there) < written) return 0;
  return written;
}

absl::Status WriteJournal(const std::filesystem::path& staging, const std::string& fingerprint, int64_t bytes) {
  return WriteFile(staging / kJournal, nlohmann::json{{"fingerprint", fingerprint}, {"bytes", bytes}}.dump());
}

// Feeds the hash with what an import before this one has written.
absl::Status HashWritten(const std::filesystem::path& file, int64_t bytes, Sha256& hash) {
  if (bytes == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const FileToRead written, FileToRead::Open(file));  // Not mapped: a disk that fails is an error and no signal.
  std::vector<char> block(kReadBlock);
  for (int64_t at = 0; at < bytes;) {
    const std::span<char> next = std::span(block).first(static_cast<size_t>(std::min(static_cast<int64_t>(block.size()), bytes - at)));
    RETURN_IF_ERROR(written.Read(static_cast<uint64_t>(at), next));
    hash.Update({next.data(), next.size()});
    at += static_cast<int64_t>(next.size());
  }
  return absl::OkStatus();
}

// Copies the source and returns the SHA-256 of all of it.
absl::StatusOr<std::string> Copy(ByteSource& source, const std::filesystem::path& staging, Progress& progress) {
  int64_t done = ReadJournal(staging, source.fingerprint(), source.size());
  Sha256 hash;
  RETURN_IF_ERROR(HashWritten(staging / kCorpus, done, hash));
  RETURN_IF_ERROR(source.Skip(done));
  ASSIGN_OR_RETURN(OutputFile out, OutputFile::Open(staging / kCorpus, done));
  progress.Start(source.size(), done, "bytes");
  std::vector<char> block(kReadBlock);
  int64_t point = done;
  while (true) {
    ASSIGN_OR_RETURN(const size_t got, source.Read(block));
    if (got == 0) break;
    const std::string_view bytes(block.data(), got);
    hash.Update(bytes);
    RETURN_IF_ERROR(out.Write(bytes));
    done += static_cast<int64_t>(got);
    progress.Advance(static_cast<int64_t>(got));
    if (done - point < kBetweenPoints) continue;
    RETURN_IF_ERROR(out.Sync());
    RETURN_IF_ERROR(WriteJournal(staging, source.fingerprint(), done));
    point = done;
  }
  RETURN_IF_ERROR(out.Close());
  progress.Finish();
  return hash.Finish();
}

std::string SourcesText(const std::vector<std::filesystem::path>& sources) {
  std::string text;
  for (const std::filesystem::path& source : sources) text += (text.empty() ? "" : ", ") + source.string();
  return text;
}

}  // namespace

std::optional<KnownText> FindKnownText(std::string_view name) {
  const auto found = std::ranges::find(kKnown, name, &KnownText::name);
  if (found == std::end(kKnown)) return std::nullopt;
  return *found;
}

absl::StatusOr<Manifest> ImportText(const TextImport& wanted, Progress& progress) {
  RETURN_IF_ERROR(CheckName(wanted.name));
  RETURN_IF_ERROR(CheckSplit(wanted.split));
  const std::optional<KnownText> known = FindKnownText(wanted.name);
  if (known.has_value() && wanted.split != known->split) {
    return absl::InvalidArgumentError(fmt::format("'{}' is split {},{},{} by all who report on it; import it under another name for another split",
                                                  wanted.name, known->split[0], known->split[1], known->split[2]));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> source, OpenSource(wanted.sources));
  const int64_t size = source->size();
  const std::string from = SourcesText(wanted.sources);
  const auto not_it = [&](std::string_view how) {
    return absl::FailedPreconditionError(fmt::format("{} is not {}: {}; get it again, or import it under another name", from, wanted.name, how));
  };
  if (known.has_value() && size != known->bytes) return not_it(fmt::format("it has {} bytes instead of {}", size, known->bytes));

  Manifest manifest;
  manifest.kind = Kind::kText;
  manifest.source = from;
  manifest.train = {0, size / 100 * wanted.split[0] + size % 100 * wanted.split[0] / 100};
  manifest.valid = {manifest.train.end, manifest.train.end + size / 100 * wanted.split[1] + size % 100 * wanted.split[1] / 100};
  manifest.test = {manifest.valid.end, size};
  for (const ByteRange& range : {manifest.train, manifest.valid, manifest.test}) {
    if (range.begin == range.end) {
      return absl::InvalidArgumentError(fmt::format("{} has {} bytes: too few for a split of {},{},{} per cent", from, size, wanted.split[0],
                                                    wanted.split[1], wanted.split[2]));
    }
  }

  ASSIGN_OR_RETURN(Staging staging, Staging::Open(wanted.folder, wanted.name));
  ASSIGN_OR_RETURN(const std::string sha256, Copy(*source, staging.path(), progress));
  if (known.has_value() && sha256 != known->sha256) {
    staging.Discard();
    return not_it(fmt::format("its SHA-256 is {} instead of {}", sha256, known->sha256));
  }
  manifest.files = {{.name = kCorpus, .bytes = size, .sha256 = sha256}};
  manifest.skipped = LeftOutInManifest(source->left_out());
  RETURN_IF_ERROR(staging.Publish(manifest));
  ASSIGN_OR_RETURN(Manifest published, ReadDataSet(wanted.folder, wanted.name));
  published.skipped = source->left_out();
  return published;
}

}  // namespace longreach::data
