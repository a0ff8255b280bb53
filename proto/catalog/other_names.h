// By which other words people know tasks and encodings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace longreach::catalog {

// The tasks, or encodings, whose name, label or other name (other_names.def) `word` is, however it is written: "T5-Bias" is t5, "Randomized RoPE" and
// "noisy_rotary" are rope:randomized. Several where several go by that word; empty: none does.
std::vector<std::string> TasksCalled(std::string_view word);
std::vector<std::string> EncodingsCalled(std::string_view word);

}  // namespace longreach::catalog
