// What a fuzz target demands of an answer: where it does not hold, the process ends and the input is kept.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace longreach::fuzz {

// `detail`: a text of any kind, printed as it is.
template <typename Text = std::string_view>
void Must(bool holds, const char* what, const Text& detail = {}) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: does not hold: %s\n%.*s\n", what, static_cast<int>(detail.size()), detail.data());
  std::abort();
}

}  // namespace longreach::fuzz
