#include "worker/data/packed_tokens.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>

namespace longreach::data {

namespace {

constexpr size_t kVersionAt = 7, kTypeAt = 15, kCountAt = 16, kHeaderBytes = 24, kIdBytes = 2;
constexpr uint8_t kUint16 = 8;  // Of the format's type codes.

uint64_t ReadLittleEndian(std::span<const char> bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= uint64_t{static_cast<uint8_t>(bytes[at + i])} << (8 * i);
  return value;
}

}  // namespace

absl::StatusOr<PackedTokens> PackedTokens::Open(const std::filesystem::path& file) {
  ASSIGN_OR_RETURN(FileToRead opened, FileToRead::Open(file));
  PackedTokens packed(std::move(opened));
  const uint64_t all = packed.file_.bytes();
  const auto damaged = [&](const std::string& why) { return absl::DataLossError(fmt::format("{}: {}", file.string(), why)); };
  const absl::Status no_such = damaged("does not begin with 'LITPKDS': it is no packed file of tokens");
  if (all < kHeaderBytes) return no_such;
  std::array<char, kHeaderBytes> header;
  RETURN_IF_ERROR(packed.file_.Read(0, header));
  if (!std::string_view(header.data(), header.size()).starts_with(kPackedMagic)) return no_such;
  const uint64_t version = ReadLittleEndian(header, kVersionAt, 8), count = ReadLittleEndian(header, kCountAt, 8);
  if (version != 1) return damaged(fmt::format("is of version {}, expected 1", version));
  const auto type = static_cast<uint8_t>(header[kTypeAt]);
  if (type != kUint16) return damaged(fmt::format("its ids are of type {}, expected 8 (16 bits without sign)", type));
  const uint64_t stored = all - kHeaderBytes;
  if (stored % 2 != 0 || count != stored / 2) {
    return damaged(fmt::format("is said to hold {} tokens, but {} bytes follow its header", count, stored));
  }
  packed.tokens_ = static_cast<int64_t>(count);
  return packed;
}

absl::StatusOr<std::vector<int64_t>> PackedTokens::Ids(int64_t first, int64_t count) const {
  std::vector<char> bytes(kIdBytes * static_cast<size_t>(count));
  RETURN_IF_ERROR(file_.Read(kHeaderBytes + kIdBytes * static_cast<uint64_t>(first), bytes));
  std::vector<int64_t> ids(static_cast<size_t>(count));
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(ReadLittleEndian(bytes, kIdBytes * i, kIdBytes));
  return ids;
}

}  // namespace longreach::data
