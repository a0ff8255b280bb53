// Which build this is: recorded with every attempt, so that a number can be traced to the code that made it.
#pragma once

#include <string>

namespace longreach {

// "0.1.0 (1a2b3c4d5e6f, GNU 12.2.0, Release)"; the commit has a "+" when the tree was changed since.
std::string BuildDescription();

// "0.1.0".
std::string Version();

// The protocol between scheduler and workers; another version is refused.
inline constexpr int kProtocolVersion = 1;

}  // namespace longreach
