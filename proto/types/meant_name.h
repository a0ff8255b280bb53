// What is asked of somebody who names something that is not there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace longreach {

// "did you mean 'rope'?" where `word` is none of `known`, which are of the axis `what` ("task", "encoding" or any other): those of them that people know by that word
// (proto/catalog/other_names.h), or "did you mean 'a' or 'b'?" where these are several; else the nearest one. Empty: none is near. Encodings with randomized
// positions are known where the plain ones are.
std::string MeantName(std::string_view what, std::string_view word, const std::vector<std::string>& known);

}  // namespace longreach
