// Words of commands that messages tell to be typed.
#pragma once

#include <string>
#include <string_view>

namespace longreach {

// 'text' as one word for a POSIX shell. What needs quotes gets double ones where they do, since sentences tell commands within single ones.
std::string ShellWord(std::string_view text);

}  // namespace longreach
