#include "store/pack_file.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "proto/base/file_to_read.h"
#include "proto/base/safetensors.h"
#include "proto/base/text.h"
#include "store/sql/connection.h"

namespace longreach::store {
namespace {

// Of whatever version: a later one may hold other tensors, and says of whom they are in the same way.
constexpr std::string_view kOurTrainer = "longreach-trainer/";

// Of a tensor's bytes at a time.
constexpr uint64_t kPiece = uint64_t{1} << 20;

// The bytes of a tensor that are a member's.
struct MemberBytes {
  uint64_t begin = 0;  // In the file.
  uint64_t bytes = 0;
};

struct OpenPack {
  FileToRead file;
  SafetensorsHeader header;
};

std::optional<OpenPack> OpenOfOurTrainer(const std::filesystem::path& path) {
  absl::StatusOr<FileToRead> file = FileToRead::Open(path);
  if (!file.ok()) return std::nullopt;
  absl::StatusOr<SafetensorsHeader> header = SafetensorsHeader::ReadFrom(*file);
  if (!header.ok() || !header->Metadata("format").starts_with(kOurTrainer)) return std::nullopt;
  return OpenPack{.file = *std::move(file), .header = *std::move(header)};
}

PackFile Described(const SafetensorsHeader& header) {
  return {.kind = header.Metadata("kind"), .step = ParseInteger(header.Metadata("step")), .jobs = Split(header.Metadata("jobs"), '\n')};
}

std::optional<MemberBytes> MemberBytesOf(const SafetensorsHeader& header, const SafetensorsEntry& tensor, int member) {
  if (tensor.shape.empty() || member < 0 || member >= tensor.shape.front()) return std::nullopt;
  const uint64_t bytes = (tensor.end - tensor.begin) / static_cast<uint64_t>(tensor.shape.front());
  return MemberBytes{.begin = header.payload_begin + tensor.begin + static_cast<uint64_t>(member) * bytes, .bytes = bytes};
}

bool AreAlike(const SafetensorsEntry& one, const SafetensorsEntry& other) {
  return one.dtype == other.dtype && !one.shape.empty() && one.shape.size() == other.shape.size() && std::equal(one.shape.begin() + 1, one.shape.end(), other.shape.begin() + 1);
}

// Of parts of the same size. Nothing: they cannot be read.
absl::StatusOr<std::optional<bool>> AreSame(const OpenPack& one, const MemberBytes& part, const OpenPack& other, const MemberBytes& other_part, const std::stop_token& stop) {
  std::vector<char> here, there;
  for (uint64_t at = 0; at < part.bytes; at += kPiece) {
    if (stop.stop_requested()) return sql::Stopped();
    const auto size = static_cast<size_t>(std::min(kPiece, part.bytes - at));
    here.resize(size);
    there.resize(size);
    if (!one.file.Read(part.begin + at, here).ok() || !other.file.Read(other_part.begin + at, there).ok()) return std::optional<bool>();
    if (here != there) return std::optional(false);
  }
  return std::optional(true);
}

}  // namespace

std::optional<int> PackFile::MemberOf(const std::string& job) const {
  const auto found = std::ranges::find(jobs, job);
  if (found == jobs.end() || std::find(found + 1, jobs.end(), job) != jobs.end()) return std::nullopt;
  return static_cast<int>(found - jobs.begin());
}

std::optional<PackFile> ReadPackFile(const std::filesystem::path& file) {
  const std::optional<OpenPack> pack = OpenOfOurTrainer(file);
  if (!pack) return std::nullopt;
  return Described(pack->header);
}

absl::StatusOr<std::optional<bool>> HaveSamePart(const std::filesystem::path& one, const std::filesystem::path& other, const std::string& job, const std::stop_token& stop) {
  const std::optional<OpenPack> here = OpenOfOurTrainer(one), there = OpenOfOurTrainer(other);
  if (!here || !there) return std::optional<bool>();
  const std::optional<int> member = Described(here->header).MemberOf(job), other_member = Described(there->header).MemberOf(job);
  if (!member || !other_member) return std::optional<bool>();
  if (here->header.entries.size() != there->header.entries.size()) return std::optional(false);
  for (const auto& [name, tensor] : here->header.entries) {
    const SafetensorsEntry* const same_name = there->header.Find(name);
    if (same_name == nullptr || !AreAlike(tensor, *same_name)) return std::optional(false);
    const std::optional<MemberBytes> part = MemberBytesOf(here->header, tensor, *member), other_part = MemberBytesOf(there->header, *same_name, *other_member);
    if (!part || !other_part) return std::optional<bool>();
    ASSIGN_OR_RETURN(const std::optional<bool> same, AreSame(*here, *part, *there, *other_part, stop));
    if (!same || !*same) return same;
  }
  return std::optional(true);
}

}  // namespace longreach::store
