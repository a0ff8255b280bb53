// The lines of a file that others may be writing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/base/file_to_read.h"
#include "proto/base/status.h"

namespace longreach::data {

// Memory has one line at a time and a piece of the file. The file is read and not mapped: one that is cut off meanwhile is an error.
class LineReader {
 public:
  // `file` is borrowed for as long as this lives. `most`: bytes that a line may have.
  LineReader(const FileToRead& file, size_t most) : file_(file), most_(most) {}

  // The next line without its end, which may be used until the next call; nothing: there is no other. RESOURCE_EXHAUSTED: it has more bytes than a line may have;
  // errors of FileToRead.
  absl::StatusOr<std::optional<std::string_view>> Next();

  // Bytes of the file that have been given as lines, with their ends: where the next one begins.
  int64_t given() const { return given_; }

 private:
  // The bytes of the buffer up to `end`, behind which the next line begins at `next`.
  std::string_view Give(size_t end, size_t next);

  const FileToRead& file_;
  size_t most_;
  std::string buffer_;
  size_t begin_ = 0;  // In the buffer: what is before has been given.
  uint64_t read_ = 0;
  int64_t given_ = 0;
};

}  // namespace longreach::data
