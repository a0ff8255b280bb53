#include "scheduler/service/log_text.h"

#include <algorithm>
#include <vector>

#include "proto/base/utf8.h"

namespace longreach::service {
namespace {

constexpr size_t kLongestCharacter = 4;

// Reads a text byte by byte for a pattern, which is not empty, by the rule of Knuth, Morris and Pratt: logs repeat themselves, and comparing from every
// place would take minutes.
class Matcher {
 public:
  explicit Matcher(std::string_view pattern) : pattern_(pattern), border_(pattern.size() + 1, 0) {
    for (size_t i = 1, length = 0; i < pattern.size(); ++i) {
      while (length > 0 && pattern[i] != pattern[length]) length = border_[length];
      if (pattern[i] == pattern[length]) ++length;
      border_[i + 1] = length;
    }
  }

  // How much of the pattern's beginning the text ends with, once this byte has come.
  size_t Take(char byte) {
    if (matched_ == pattern_.size()) matched_ = border_[matched_];
    while (matched_ > 0 && byte != pattern_[matched_]) matched_ = border_[matched_];
    if (byte == pattern_[matched_]) ++matched_;
    return matched_;
  }

 private:
  const std::string_view pattern_;
  std::vector<size_t> border_;  // Of each beginning of the pattern: the longest shorter one that it ends with.
  size_t matched_ = 0;
};

// How much of the beginning of `left` is the end of `seen`.
size_t Overlap(std::string_view seen, std::string_view left) {
  Matcher matcher(left);
  size_t overlap = 0;
  for (const char byte : seen) overlap = matcher.Take(byte);
  return overlap;
}

// Where `seen` ends in `left`, the first time that all of it is there.
std::optional<size_t> EndWithin(std::string_view left, std::string_view seen) {
  Matcher matcher(seen);
  for (size_t i = 0; i < left.size(); ++i) {
    if (matcher.Take(left[i]) == seen.size()) return i + 1;
  }
  return std::nullopt;
}

}  // namespace

size_t RestOfCharacter(std::string_view bytes) {
  size_t rest = 0;
  while (rest < kLongestCharacter - 1 && rest < bytes.size() && IsWithinCharacter(bytes[rest])) ++rest;
  return rest;
}

size_t WholeCharacters(std::string_view bytes) {
  for (size_t back = 1; back < kLongestCharacter && back <= bytes.size(); ++back) {
    const char byte = bytes[bytes.size() - back];
    if (IsWithinCharacter(byte)) continue;
    return BytesOfCharacter(byte) > back ? bytes.size() - back : bytes.size();
  }
  return bytes.size();
}

std::optional<std::string_view> RestOfLog(std::string_view left, bool whole, uint64_t position, std::string_view seen) {
  if (whole) return left.substr(static_cast<size_t>(std::min<uint64_t>(position, left.size())));
  if (seen.empty() || left.empty()) return std::nullopt;
  // Of a log that was long when somebody began to follow it, less was seen than it has left. What was seen from the first byte on cannot lie within its end.
  if (position > seen.size()) {
    if (const std::optional<size_t> end = EndWithin(left, seen)) return left.substr(*end);
  }
  const size_t overlap = Overlap(seen, left);
  if (overlap == 0) return std::nullopt;
  return left.substr(overlap);
}

}  // namespace longreach::service
