#include "worker/data/packed_tokens.h"

#include <fmt/format.h>

#include <algorithm>

namespace longreach::data {

namespace {

constexpr size_t kVersionAt = 7, kTypeAt = 15, kCountAt = 16, kHeaderBytes = 24;
constexpr uint8_t kUint16 = 8;  // Of the format's type codes.

uint64_t ReadLittleEndian(std::span<const uint8_t> bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= uint64_t{bytes[at + i]} << (8 * i);
  return value;
}

}  // namespace

absl::StatusOr<PackedTokens> PackedTokens::Open(const std::filesystem::path& file) {
  PackedTokens packed;
  ASSIGN_OR_RETURN(packed.file_, MappedFile::Open(file));
  const std::span<const uint8_t> bytes = packed.file_.bytes();
  const auto damaged = [&](const std::string& why) { return absl::DataLossError(fmt::format("{}: {}", file.string(), why)); };
  if (bytes.size() < kHeaderBytes || !std::equal(kPackedMagic.begin(), kPackedMagic.end(), bytes.begin())) {
    return damaged("does not begin with 'LITPKDS': it is no packed file of tokens");
  }
  const uint64_t version = ReadLittleEndian(bytes, kVersionAt, 8), count = ReadLittleEndian(bytes, kCountAt, 8);
  if (version != 1) return damaged(fmt::format("is of version {}, expected 1", version));
  if (bytes[kTypeAt] != kUint16) {
    return damaged(fmt::format("its ids are of type {}, expected 8 (16 bits without sign)", bytes[kTypeAt]));
  }
  const uint64_t stored = bytes.size() - kHeaderBytes;
  if (stored % 2 != 0 || count != stored / 2) {
    return damaged(fmt::format("is said to hold {} tokens, but {} bytes follow its header", count, stored));
  }
  packed.tokens_ = static_cast<int64_t>(count);
  return packed;
}

std::vector<int64_t> PackedTokens::Ids(int64_t first, int64_t count) const {
  std::vector<int64_t> ids;
  ids.reserve(static_cast<size_t>(count));
  for (int64_t i = first; i < first + count; ++i) {
    ids.push_back(static_cast<int64_t>(ReadLittleEndian(file_.bytes(), kHeaderBytes + 2 * static_cast<size_t>(i), 2)));
  }
  return ids;
}

}  // namespace longreach::data
