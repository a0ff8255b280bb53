#include "store/pack_file.h"

#include <algorithm>
#include <string_view>

#include "proto/base/file_to_read.h"
#include "proto/base/safetensors.h"
#include "proto/base/text.h"

namespace longreach::store {
namespace {

// Of whatever version: a later one may hold other tensors, and says of whom they are in the same way.
constexpr std::string_view kOurTrainer = "longreach-trainer/";

}  // namespace

std::optional<int> PackFile::MemberOf(const std::string& job) const {
  const auto found = std::ranges::find(jobs, job);
  if (found == jobs.end() || std::find(found + 1, jobs.end(), job) != jobs.end()) return std::nullopt;
  return static_cast<int>(found - jobs.begin());
}

std::optional<PackFile> ReadPackFile(const std::filesystem::path& file) {
  const absl::StatusOr<FileToRead> opened = FileToRead::Open(file);
  if (!opened.ok()) return std::nullopt;
  const absl::StatusOr<SafetensorsHeader> header = SafetensorsHeader::ReadFrom(*opened);
  if (!header.ok() || !header->Metadata("format").starts_with(kOurTrainer)) return std::nullopt;
  return PackFile{.kind = header->Metadata("kind"), .step = ParseInteger(header->Metadata("step")), .jobs = Split(header->Metadata("jobs"), '\n')};
}

}  // namespace longreach::store
