#include "proto/base/parse_errors.h"

#include <string_view>
#include <vector>

#include "proto/base/text.h"

namespace longreach {
namespace {

// What stands for each '*' of a pattern, if the whole text is as it says: each as short as it can be, but for the last.
bool Match(std::string_view pattern, std::string_view text, std::vector<std::string>& found) {
  found.clear();
  const std::vector<std::string> literals = Split(pattern, '*');
  if (!text.starts_with(literals.front())) return false;
  text.remove_prefix(literals.front().size());
  for (size_t i = 1; i < literals.size(); ++i) {
    const bool last = i + 1 == literals.size();
    if (last && !text.ends_with(literals[i])) return false;
    const size_t end = last ? text.size() - literals[i].size() : text.find(literals[i]);
    if (end == std::string_view::npos) return false;
    found.emplace_back(text.substr(0, end));
    text.remove_prefix(end + literals[i].size());
  }
  return true;
}

// With the words in the places of $0, $1, ...
std::string Filled(std::string_view sentence, const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < sentence.size(); ++i) {
    if (sentence[i] == '$') text += words[static_cast<size_t>(sentence[++i] - '0')];
    else text += sentence[i];
  }
  return text;
}

// CLI11's sentence, and ours.
constexpr struct {
  std::string_view theirs;
  std::string_view ours;
} kSentences[] = {
    {"Could not convert: * = *", "$0: '$1' is not a number of the kind that it takes"},
    {"*: Value * not in range * to *", "$0: $1 is not within $2 to $3"},
    {"*: At Most 1 required but received *", "$0: given more than once"},
    {"*: At least * required but received *", "$0: too few values, with blanks between them"},
    {"*: 1 required * in * missing", "$0: its value is missing ($1)"},
    {"*: 1 required * missing", "$0: its value is missing ($1)"},
    {"INI was not able to parse *", "$0: no option has this name, in the file that --config names"},
    {"The following argument* not expected: *", "there is no place for: $1"},
};

}  // namespace

std::string WordsOfParser(const std::string& message) {
  std::vector<std::string> found;
  for (const auto& [theirs, ours] : kSentences) {
    if (!Match(theirs, message, found)) continue;
    return Filled(ours, found);
  }
  return message;
}

}  // namespace longreach
