// The order of names that have numbers in them, as systems of a grid have: "layers-2" before "layers-10".
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace longreach {

// A name as texts, each with the number behind it; names are in the order of these: so "rate-1e-05" comes before "rate-0.001" too. Names that are
// written otherwise may have the same ("a-1", "a-01").
std::vector<std::pair<std::string, double>> NumberedWords(std::string_view name);

}  // namespace longreach
