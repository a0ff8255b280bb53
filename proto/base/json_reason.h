// Why a text is no JSON object, for those who wrote it.
#pragma once

#include <string>
#include <string_view>

namespace longreach {

// "line 1, column 24: syntax error ..."; "it is another kind of JSON value". Of a text that is not an object.
std::string WhyNoJsonObject(std::string_view text);

}  // namespace longreach
