#include "proto/base/parse_errors.h"

#include <cmath>
#include <cstdlib>
#include <optional>
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
    {"*: At Most 1 required but received *", "$0: given more than once"},
    {"*: 1 required * in * missing", "$0: its value is missing ($1)"},
    {"*: 1 required * missing", "$0: its value is missing ($1)"},
    {"INI was not able to parse *", "$0: no option has this name, in the file that --config names"},
    {"*: * unit not recognized. Allowed values: *", "$0: '$1' is no unit that it takes; units are K, M, G, T, P and E, as in 500G"},
    {"* was not readable (missing?)", "cannot read $0: is it there, and may it be read?"},
    {"A subcommand is required", "one of its commands is required"},
};

// What is no number, and what is one that the option's type does not hold.
std::string NotConverted(const std::string& option, const std::string& value) {
  if (ParseInteger(value) || IsBeyondInteger(value) || IsBeyondDouble(value)) return Text(option, ": ", value, " is out of range");
  return Text(option, ": '", value, "' is not a number of the kind that it takes");
}

// "0.050000" as 0.05, "1000000000.000000" as 1000000000.
std::string WithoutZeros(std::string number) {
  if (number.find('.') == std::string::npos) return number;
  number.erase(number.find_last_not_of('0') + 1);
  if (number.ends_with('.')) number.pop_back();
  return number;
}

std::string NotWithin(const std::vector<std::string>& found) {
  // The largest number that there is, in 309 digits, is no bound.
  constexpr size_t kDigitsOfABound = 30;
  const std::string least = WithoutZeros(found[2]), most = WithoutZeros(found[3]);
  const std::string& value = found[1];
  const bool is_number = ParseDouble(value) || IsBeyondDouble(value);
  const std::string bounds = most.size() > kDigitsOfABound ? Text("from ", least, " on") : Text("from ", least, " to ", most);
  if (!is_number) return Text(found[0], ": '", value, "' is not a number ", bounds);  // Most often the next option, as the number was left out.
  if (most.size() > kDigitsOfABound) return Text(found[0], ": ", value, " is not a number ", bounds);
  return Text(found[0], ": ", value, " is not within ", least, " to ", most);
}

// An option that takes several values, which ours do in one word.
std::string OtherCount(const std::string& option, const std::string& takes, const std::string& got) {
  std::string form;
  for (int64_t i = 0; i < ParseInteger(takes).value_or(0); ++i) form += Text(i == 0 ? "" : ",", static_cast<char>('A' + i % 26));
  return Text(option, ": ", got, got == "1" ? " value" : " values", ", and it takes ", takes, " with ',' between them: ", form);
}

// What is left when all else is read. An option among it is the mistake, and words beside it were meant as its value.
std::string LeftOver(std::string_view words) {
  for (const std::string& word : Split(words, ' ')) {
    const bool is_option = word.size() > 1 && word[0] == '-' && !ParseDouble(word);
    if (is_option) return Text("unknown option '", word.substr(0, word.find('=')), "'");
  }
  return Text("not expected here: ", words);
}

std::optional<std::string> OfWords(const std::string& message) {
  std::vector<std::string> found;
  if (Match("The following argument* not expected: *", message, found)) return LeftOver(found[1]);
  if (Match("*: * not in {*}", message, found)) return Text(found[0], ": '", found[1], "' is none of ", Join(Split(found[2], ','), ", "));
  return std::nullopt;
}

std::optional<std::string> OfNumbers(const std::string& message) {
  std::vector<std::string> found;
  if (Match("Could not convert: * = *", message, found)) return NotConverted(found[0], found[1]);
  if (Match("*: Value * not in range * to *", message, found)) return NotWithin(found);
  for (const char* count : {"*: At least * required but received *", "*: At Most * required but received *"}) {
    if (Match(count, message, found) && found[1] != "1") return OtherCount(found[0], found[1], found[2]);
  }
  return std::nullopt;
}

}  // namespace

std::string WordsOfParser(const std::string& message) {
  if (std::optional<std::string> words = OfNumbers(message)) return *std::move(words);
  if (std::optional<std::string> words = OfWords(message)) return *std::move(words);
  std::vector<std::string> found;
  for (const auto& [theirs, ours] : kSentences) {
    if (!Match(theirs, message, found)) continue;
    return Filled(ours, found);
  }
  return message;
}

std::string RefuseNan(const std::string& value) {
  return std::isnan(std::strtod(value.c_str(), nullptr)) ? Text("'", value, "' is not a number") : "";
}

}  // namespace longreach
