// How alike two lines of code are, as fuzzywuzzy's fuzz.ratio says it.
#pragma once

#include <string_view>

namespace longreach::longbench {

enum class LineMatcher {
  kDifflib,      // What LongBench's own requirements give.
  kLevenshtein,  // With python-Levenshtein beside it. The two differ: a report names its own.
};

// 0 to 1 in hundredths, halves to even. Equal texts are 1, an empty one beside another is 0.
double LineSimilarity(std::u32string_view a, std::u32string_view b, LineMatcher matcher);

}  // namespace longreach::longbench
