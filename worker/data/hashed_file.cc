#include "worker/data/hashed_file.h"

namespace longreach::data {

absl::StatusOr<HashedFile> HashedFile::Open(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(OutputFile out, OutputFile::Open(path));
  return HashedFile(path.filename().string(), std::move(out));
}

absl::Status HashedFile::Write(std::string_view bytes) {
  constexpr size_t kGathered = 1 << 17;
  gathered_ += bytes;
  return gathered_.size() < kGathered ? absl::OkStatus() : Flush();
}

absl::StatusOr<FileEntry> HashedFile::Close() {
  RETURN_IF_ERROR(Flush());
  RETURN_IF_ERROR(out_.Close());
  return FileEntry{.name = name_, .bytes = bytes_, .sha256 = hash_.Finish()};
}

absl::Status HashedFile::Flush() {
  hash_.Update(gathered_);
  bytes_ += static_cast<int64_t>(gathered_.size());
  RETURN_IF_ERROR(out_.Write(gathered_));
  gathered_.clear();
  return absl::OkStatus();
}

}  // namespace longreach::data
