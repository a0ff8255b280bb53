#include "worker/trainer/longbench/similarity.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace longreach::longbench {

namespace {

// From this length on difflib ignores characters that are too common to tell anything.
constexpr size_t kPopularFrom = 200;

// Python's difflib.SequenceMatcher without junk.
class SequenceMatcher {
 public:
  SequenceMatcher(std::u32string_view a, std::u32string_view b) : a_(a), b_(b) {
    for (size_t j = 0; j < b.size(); ++j) places_[b[j]].push_back(j);
    if (b.size() < kPopularFrom) return;
    const size_t most = b.size() / 100 + 1;
    std::erase_if(places_, [&](const auto& entry) { return entry.second.size() > most; });
  }

  // Characters in matching blocks: the longest one, then those on either side of it.
  size_t Matches() const {
    struct Range {
      size_t a_begin, a_end, b_begin, b_end;
    };
    std::vector<Range> left = {{0, a_.size(), 0, b_.size()}};
    size_t matches = 0;
    while (!left.empty()) {
      const Range range = left.back();
      left.pop_back();
      const Block block = Longest(range.a_begin, range.a_end, range.b_begin, range.b_end);
      if (block.size == 0) continue;
      matches += block.size;
      left.push_back({range.a_begin, block.a, range.b_begin, block.b});
      left.push_back({block.a + block.size, range.a_end, block.b + block.size, range.b_end});
    }
    return matches;
  }

 private:
  struct Block {
    size_t a, b, size;
  };

  Block Longest(size_t a_begin, size_t a_end, size_t b_begin, size_t b_end) const {
    Block best{a_begin, b_begin, 0};
    // Lengths of matches that end at b's place j and the place in a before this one.
    std::unordered_map<size_t, size_t> lengths;
    for (size_t i = a_begin; i < a_end; ++i) {
      std::unordered_map<size_t, size_t> next;
      if (const auto places = places_.find(a_[i]); places != places_.end()) {
        for (const size_t j : places->second) {
          if (j < b_begin) continue;
          if (j >= b_end) break;
          const auto before = j > 0 ? lengths.find(j - 1) : lengths.end();
          const size_t length = (before == lengths.end() ? 0 : before->second) + 1;
          next[j] = length;
          if (length > best.size) best = {i + 1 - length, j + 1 - length, length};
        }
      }
      lengths = std::move(next);
    }
    // Common characters find no match, but belong to one that they adjoin.
    while (best.a > a_begin && best.b > b_begin && a_[best.a - 1] == b_[best.b - 1]) --best.a, --best.b, ++best.size;
    while (best.a + best.size < a_end && best.b + best.size < b_end &&
        a_[best.a + best.size] == b_[best.b + best.size]) ++best.size;
    return best;
  }

  std::u32string_view a_, b_;
  std::unordered_map<char32_t, std::vector<size_t>> places_;
};

// The length of the longest common subsequence: what insertions and deletions alone leave.
size_t CommonSubsequence(std::u32string_view a, std::u32string_view b) {
  std::vector<size_t> row(b.size() + 1, 0);
  for (const char32_t c : a) {
    size_t diagonal = 0;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = c == b[j - 1] ? diagonal + 1 : std::max(above, row[j - 1]);
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

double LineSimilarity(std::u32string_view a, std::u32string_view b, LineMatcher matcher) {
  if (a == b) return 1;
  if (a.empty() || b.empty()) return 0;
  const size_t matches = matcher == LineMatcher::kDifflib ? SequenceMatcher(a, b).Matches() : CommonSubsequence(a, b);
  const double ratio = 2.0 * static_cast<double>(matches) / static_cast<double>(a.size() + b.size());
  return std::nearbyint(100 * ratio) / 100;
}

}  // namespace longreach::longbench
