#include "worker/agent/log_part.h"

#include <limits>
#include <string>
#include <utility>

#include "proto/base/file_to_read.h"

namespace longreach::agent {

v1::AttemptLog ReadLogPart(const std::filesystem::path& log, uint64_t from) {
  v1::AttemptLog part;
  part.set_from(from);
  const absl::StatusOr<FileToRead> in = FileToRead::Open(log);
  if (!in.ok() || in->bytes() <= from) return part;
  const uint64_t end = in->bytes();
  const uint64_t begin = end - from > kMaxLogPartBytes ? end - kMaxLogPartBytes : from;
  std::string text(static_cast<size_t>(end - begin), '\0');
  if (!in->Read(begin, text).ok()) return part;
  part.set_from(begin);
  part.set_text(std::move(text));
  return part;
}

v1::AttemptLog LogNotReadYet() {
  v1::AttemptLog part;
  part.set_from(std::numeric_limits<uint64_t>::max());
  return part;
}

}  // namespace longreach::agent
