// Which experiment kinds map an input of symbols to an output of symbols, each at a place of its own: one model, whose jobs are packed, scored and told of alike.
#pragma once

#include <string_view>

namespace longreach::catalog {

inline bool IsOfSequences(std::string_view experiment) { return experiment == "algorithmic" || experiment == "sequences"; }

}  // namespace longreach::catalog
