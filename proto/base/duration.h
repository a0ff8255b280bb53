// Lengths of time as users write them: one form for every option that takes one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace longreach {

// For what is refused, and for help texts.
inline constexpr const char* kDurationForm = "seconds, or a number with s, min, h or d behind it";

// "90", "90s", "15min" or "15m", "2h", "1d" in seconds; there may be a blank before the unit. Nothing: it is none, is below 0, or is above
// 1e9 seconds, so that sums with clock times stay in range.
std::optional<double> ParseDuration(std::string_view text);

// For the transform() of an option of seconds, CLI::Validator(SecondsOfDuration, ""): "5min" becomes "300". A bare number stays as it is, whatever
// it is: the option's own bounds say what is wrong with it. Empty: nothing is wrong.
std::string SecondsOfDuration(std::string& text);

}  // namespace longreach
