#include "proto/base/parse_errors.h"

#include <regex>

namespace longreach {

std::string WordsOfParser(const std::string& message) {
  // CLI11's sentence, and ours.
  static const struct {
    std::regex theirs;
    const char* ours;
  } kSentences[] = {
      {std::regex("Could not convert: (\\S+) = (.*)"), "$1: '$2' is not a number of the kind that it takes"},
      {std::regex("(\\S+): Value (.*) not in range (\\S+) to (\\S+)"), "$1: $2 is not within $3 to $4"},
      {std::regex("(\\S+): At Most 1 required but received \\d+"), "$1: given more than once"},
      {std::regex("(\\S+): 1 required (\\S+).* missing"), "$1: its value is missing ($2)"},
      {std::regex("INI was not able to parse (.*)"), "$1: no option has this name, in the file that --config names"},
      {std::regex("(\\S+): At least \\d+ required but received \\d+"), "$1: too few values, with blanks between them"},
      {std::regex("The following arguments? (?:was|were) not expected: (.*)"), "there is no place for: $1"},
  };
  for (const auto& [theirs, ours] : kSentences) {
    if (std::smatch match; std::regex_match(message, match, theirs)) return match.format(ours);
  }
  return message;
}

}  // namespace longreach
