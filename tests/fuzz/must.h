// What a fuzz target demands of an answer: where it does not hold, the process ends and the input is kept.
#pragma once

#include <cstdlib>
#include <iostream>
#include <string_view>

namespace longreach::fuzz {

// `detail`: a text of any kind, printed as it is.
template <typename Text = std::string_view>
void Must(bool holds, std::string_view what, const Text& detail = "") {
  if (holds) return;
  std::cerr << "fuzz: does not hold: " << what << "\n" << detail << std::endl;
  std::abort();
}

}  // namespace longreach::fuzz
