#include "worker/agent/left_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "proto/base/file_to_read.h"
#include "proto/base/safetensors.h"
#include "proto/base/sha256.h"
#include "proto/base/text.h"

namespace longreach::agent {
namespace {

// As the trainer names its own; what was fetched for it has other names, and what it is just writing ends otherwise.
bool IsCheckpoint(const std::filesystem::path& file) { return file.filename().string().starts_with("checkpoint-") && file.extension() == ".safetensors"; }

// How far its pack was, by its name: updates, then what was tested ("checkpoint-2000-14-s30"; on the way "checkpoint-500-t2"). An attempt only ever gets further. Times of files say less: one that was
// handed in has a new one, since the cache has a name of the same file, and clocks are set back.
std::vector<int64_t> PointOf(const std::filesystem::path& file) {
  std::vector<int64_t> point;
  for (std::string_view number : Split(file.stem().string(), '-')) {
    if (number.starts_with('s') || number.starts_with('t')) number.remove_prefix(1);
    point.push_back(ParseInteger(number).value_or(0));
  }
  return point;
}

// The furthest one first.
std::vector<std::filesystem::path> CheckpointsIn(const std::filesystem::path& folder) {
  std::vector<std::pair<std::vector<int64_t>, std::filesystem::path>> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    std::error_code gone;
    if (IsCheckpoint(entry.path()) && entry.is_regular_file(gone)) found.emplace_back(PointOf(entry.path()), entry.path());
  }
  std::ranges::sort(found, std::ranges::greater());
  std::vector<std::filesystem::path> files;
  for (auto& [point, file] : found) files.push_back(std::move(file));
  return files;
}

std::optional<uint64_t> NumberOf(const std::filesystem::path& folder) {
  const std::optional<int64_t> number = ParseInteger(folder.filename().string());
  return number && *number > 0 ? std::optional<uint64_t>(*number) : std::nullopt;
}

// Errors name the file.
absl::StatusOr<LeftCheckpoint> ReadWhole(const std::filesystem::path& file) {
  ASSIGN_OR_RETURN(const FileToRead opened, FileToRead::Open(file));
  ASSIGN_OR_RETURN(const SafetensorsHeader header, SafetensorsHeader::ReadFrom(opened));
  const std::optional<int64_t> step = ParseInteger(header.Metadata("step"));
  if (header.Metadata("kind") != "checkpoint" || !step || *step < 0 || *step > std::numeric_limits<int>::max()) {
    return absl::DataLossError(fmt::format("{} is not a checkpoint", file.string()));
  }
  ASSIGN_OR_RETURN(const std::string sha256, Sha256OfFile(file, header.payload_begin));
  if (sha256 != header.Metadata("payload_sha256")) {
    return absl::DataLossError(fmt::format("{}: its bytes are not those that were written (SHA-256 differs)", file.string()));
  }
  return LeftCheckpoint{.checkpoint = {.file = file, .step = static_cast<int>(*step)}, .jobs = Split(header.Metadata("jobs"), '\n')};
}

}  // namespace

bool HasCheckpoint(const std::filesystem::path& folder) { return !CheckpointsIn(folder).empty(); }

absl::StatusOr<std::shared_ptr<Attempt>> ReadLost(const std::filesystem::path& folder) {
  const std::optional<uint64_t> number = NumberOf(folder);
  if (!number || !HasCheckpoint(folder)) return absl::NotFoundError(fmt::format("{} has no checkpoint of an attempt", folder.string()));
  auto attempt = std::make_shared<Attempt>();
  attempt->lease.set_attempt(*number);
  attempt->folder = folder;
  attempt->stage = Attempt::Stage::kHandingIn;
  attempt->kept = true;
  attempt->lost = true;
  return attempt;
}

absl::StatusOr<LeftCheckpoint> NewestWholeCheckpoint(const std::filesystem::path& folder) {
  std::vector<std::string> wrong;
  for (const std::filesystem::path& file : CheckpointsIn(folder)) {
    absl::StatusOr<LeftCheckpoint> found = ReadWhole(file);
    if (found.ok()) return found;
    wrong.emplace_back(found.status().message());
  }
  return absl::NotFoundError(Join(wrong, "; "));
}

}  // namespace longreach::agent
