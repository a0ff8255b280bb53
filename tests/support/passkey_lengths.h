// Lengths of passkey prompts as the NoPE authors choose them.
#pragma once

#include <cstdint>
#include <vector>

namespace longreach::testing {

// As many lengths as that, in equal steps up to the longest, ascending. The authors' are PasskeyLengths(32768, 16).
// Source: run_pass.py of AntNLP/nope_head_scale.
inline std::vector<int64_t> PasskeyLengths(int64_t longest, int64_t count) {
  std::vector<int64_t> lengths;
  for (int64_t i = count - 1; i >= 0; --i) lengths.push_back(longest - i * (longest / count));
  return lengths;
}

}  // namespace longreach::testing
