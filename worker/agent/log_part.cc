#include "worker/agent/log_part.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

namespace longreach::agent {

v1::AttemptLog ReadLogPart(const std::filesystem::path& log, uint64_t from) {
  v1::AttemptLog part;
  part.set_from(from);
  std::ifstream in(log, std::ios::binary | std::ios::ate);
  if (!in) return part;
  const std::streamoff size = in.tellg();
  if (size <= 0 || static_cast<uint64_t>(size) <= from) return part;
  const auto end = static_cast<uint64_t>(size);
  const uint64_t begin = end - from > kMaxLogPartBytes ? end - kMaxLogPartBytes : from;
  std::string text(static_cast<size_t>(end - begin), '\0');
  in.seekg(static_cast<std::streamoff>(begin));
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  if (text.empty()) return part;
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
