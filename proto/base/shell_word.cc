#include "proto/base/shell_word.h"

#include "proto/base/text.h"

namespace longreach {

std::string ShellWord(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  constexpr std::string_view kReadInDoubleQuotes = "\"$`\\!";  // By a shell; at its prompt '!' too.
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
  if (text.find_first_of(kReadInDoubleQuotes) == std::string_view::npos) return Text("\"", text, "\"");
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace longreach
