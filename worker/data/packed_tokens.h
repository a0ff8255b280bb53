// TinyLlama's packed files of tokens: a header and one chunk of 16-bit ids, documents one after the other.
// Source: lit_gpt/packed_dataset.py of jzhang38/TinyLlama.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/base/file_to_read.h"
#include "proto/base/status.h"

namespace longreach::data {

// What such a file begins with.
inline constexpr std::string_view kPackedMagic = "LITPKDS";

class PackedTokens {
 public:
  // NOT_FOUND, or DATA_LOSS with the file and what is wrong with it: no such header, another version or type of ids, or bytes
  // that are missing or too many.
  static absl::StatusOr<PackedTokens> Open(const std::filesystem::path& file);

  int64_t tokens() const { return tokens_; }
  // Blocks do not overlap; what is left at the end is dropped. A block of L predictions has L + 1 tokens.
  int64_t Blocks(int64_t block_size) const { return block_size > 0 ? tokens_ / block_size : 0; }
  // `block` is in [0, Blocks(block_size)). DATA_LOSS: the file was cut off meanwhile, or its disk has an error.
  absl::StatusOr<std::vector<int64_t>> Block(int64_t block, int64_t block_size) const { return Ids(block * block_size, block_size); }
  // `first` to `first + count` lie within tokens(). Errors as Block().
  absl::StatusOr<std::vector<int64_t>> Ids(int64_t first, int64_t count) const;

 private:
  explicit PackedTokens(FileToRead file) : file_(std::move(file)) {}

  FileToRead file_;
  int64_t tokens_ = 0;
};

}  // namespace longreach::data
