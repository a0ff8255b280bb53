#include "scheduler/service/log_text.h"

#include <algorithm>
#include <vector>

namespace longreach::service {
namespace {

constexpr size_t kLongestCharacter = 4;

bool IsContinuation(char byte) { return (byte & 0xc0) == 0x80; }

// As its first byte says; 0: it is no first byte.
size_t LengthOfCharacter(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte < 0x80) return 1;
  if ((byte >> 5) == 6) return 2;
  if ((byte >> 4) == 14) return 3;
  return (byte >> 3) == 30 ? 4 : 0;
}

// How much of the beginning of `left` is the end of `seen`, by the rule of Knuth, Morris and Pratt: logs repeat themselves, and comparing from every
// place would take minutes.
size_t Overlap(std::string_view seen, std::string_view left) {
  if (left.empty()) return 0;
  std::vector<size_t> border(left.size() + 1, 0);  // Of each beginning: the longest shorter one that it ends with.
  for (size_t i = 1, length = 0; i < left.size(); ++i) {
    while (length > 0 && left[i] != left[length]) length = border[length];
    if (left[i] == left[length]) ++length;
    border[i + 1] = length;
  }
  size_t matched = 0;
  for (const char byte : seen) {
    if (matched == left.size()) matched = border[matched];
    while (matched > 0 && byte != left[matched]) matched = border[matched];
    if (byte == left[matched]) ++matched;
  }
  return matched;
}

}  // namespace

size_t RestOfCharacter(std::string_view bytes) {
  size_t rest = 0;
  while (rest < kLongestCharacter - 1 && rest < bytes.size() && IsContinuation(bytes[rest])) ++rest;
  return rest;
}

size_t WholeCharacters(std::string_view bytes) {
  for (size_t back = 1; back < kLongestCharacter && back <= bytes.size(); ++back) {
    const char byte = bytes[bytes.size() - back];
    if (IsContinuation(byte)) continue;
    return LengthOfCharacter(byte) > back ? bytes.size() - back : bytes.size();
  }
  return bytes.size();
}

std::optional<std::string_view> RestOfLog(std::string_view left, bool whole, uint64_t position, std::string_view seen) {
  if (whole) return left.substr(static_cast<size_t>(std::min<uint64_t>(position, left.size())));
  const size_t overlap = Overlap(seen, left);
  if (overlap == 0) return std::nullopt;
  return left.substr(overlap);
}

}  // namespace longreach::service
