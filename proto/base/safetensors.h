// The header of a safetensors file: 8 bytes of its length, then JSON that names tensors and where their bytes lie behind it. Files
// are not trusted: a header that does not fit its file is refused with what is wrong.
// Source: github.com/huggingface/safetensors, README, section Format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/file_to_read.h"
#include "proto/base/status.h"

namespace longreach {

inline constexpr size_t kSafetensorsLengthBytes = 8;

struct SafetensorsEntry {
  std::string dtype;  // "F32", "F64", "I32", ...
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // In bytes of the payload.
  uint64_t end = 0;

  int64_t count() const;
};

struct SafetensorsHeader {
  // Of a file's bytes, all of them. Every tensor lies within the file and has the size that its shape says, and together they
  // fill it without overlap or hole. DATA_LOSS with the reason, which does not name the file.
  static absl::StatusOr<SafetensorsHeader> Parse(std::string_view file);
  // The same of a file on disk, of which no more than the header is read. DATA_LOSS with the file and the reason.
  static absl::StatusOr<SafetensorsHeader> ReadFrom(const FileToRead& file);

  const SafetensorsEntry* Find(const std::string& name) const;
  std::string Metadata(const std::string& key) const;  // "" when there is none.

  size_t payload_begin = 0;  // Where the tensors' bytes begin in the file.
  std::map<std::string, std::string> metadata;
  std::map<std::string, SafetensorsEntry> entries;
};

}  // namespace longreach
