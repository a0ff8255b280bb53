#include "worker/data/whole_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "proto/base/file_to_read.h"
#include "proto/base/sha256.h"
#include "worker/data/data_folder.h"
#include "worker/data/files.h"
#include "worker/data/staging.h"

namespace longreach::data {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kCopiedAtATime = 1 << 20;

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
  // Not mapped: a disk that fails, or a file that is cut off meanwhile, is an error and no signal.
  ASSIGN_OR_RETURN(const FileToRead in, FileToRead::Open(from));
  Sha256 hash;
  std::optional<OutputFile> out;
  if (!link) {
    ASSIGN_OR_RETURN(OutputFile opened, OutputFile::Open(to));
    out.emplace(std::move(opened));
  }
  std::vector<char> block(static_cast<size_t>(std::min(in.bytes(), kCopiedAtATime)));
  for (uint64_t at = 0; at < in.bytes();) {
    const std::span<char> next = std::span(block).first(static_cast<size_t>(std::min<uint64_t>(block.size(), in.bytes() - at)));
    RETURN_IF_ERROR(in.Read(at, next));
    const std::string_view bytes(next.data(), next.size());
    hash.Update(bytes);
    if (out) RETURN_IF_ERROR(out->Write(bytes));
    at += bytes.size();
    progress.Advance(static_cast<int64_t>(bytes.size()));
  }
  if (out) RETURN_IF_ERROR(out->Close());
  return FileEntry{.name = to.filename().string(), .bytes = static_cast<int64_t>(in.bytes()), .sha256 = hash.Finish()};
}

}  // namespace

absl::StatusOr<Manifest> ImportWholeFiles(const fs::path& folder, const std::string& name, const std::vector<WholeFile>& files, bool link,
                                          const std::function<absl::Status(size_t number)>& check, Manifest& manifest, Progress& progress) {
  int64_t total = 0;
  for (const WholeFile& file : files) {
    std::error_code error;
    total += static_cast<int64_t>(fs::file_size(file.from, error));
    if (error) return SystemError("look at", file.from, error.value());
  }
  ASSIGN_OR_RETURN(Staging staging, Staging::Open(folder, name));
  progress.Start(total, 0, "bytes");
  for (size_t i = 0; i < files.size(); ++i) {
    const WholeFile& file = files[i];
    const absl::Status checked = check(i);
    absl::StatusOr<FileEntry> taken = checked.ok() ? Take(file.from, staging.path() / file.name, link, progress) : checked;
    if (!taken.ok()) {
      staging.Discard();  // It is begun anew in any case.
      return taken.status();
    }
    manifest.files.push_back(*std::move(taken));
  }
  progress.Finish();
  RETURN_IF_ERROR(staging.Publish(manifest));
  return ReadDataSet(folder, name);
}

}  // namespace longreach::data
