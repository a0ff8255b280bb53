#include "client/commands/choice_words.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "client/commands/between.h"
#include "client/commands/paired_values.h"
#include "proto/base/names.h"
#include "proto/base/text.h"
#include "proto/catalog/encoding_name.h"
#include "proto/types/axis_choice.h"

namespace longreach::client {
namespace {

// Of thousands of seeds none is found in a list.
constexpr size_t kMostWordsOffered = 100;

// Needs no quotes, and is one value: a ',' would make it two.
bool IsPlainWord(const std::string& value) {
  return !value.empty() && std::ranges::all_of(value, [](char c) { return IsNameCharacter(c) || c == ':' || c == '/' || c == '+'; });
}

std::vector<std::string> PlainValuesOf(const std::string& axis, const std::vector<ValuesOfAxis>& known) {
  const auto found = std::ranges::find(known, axis, &ValuesOfAxis::axis);
  std::vector<std::string> values = found == known.end() ? std::vector<std::string>() : found->values;
  std::erase_if(values, [](const std::string& value) { return !IsPlainWord(value); });
  return values;
}

void KeepWordsThatBegin(const std::string& current, std::vector<std::string>& words) {
  std::erase_if(words, [&current](const std::string& word) { return !word.starts_with(current); });
  if (words.size() > kMostWordsOffered) words.resize(kMostWordsOffered);
}

bool HasBothPositions(const std::vector<std::string>& encodings) {
  const auto randomized = std::ranges::count_if(encodings, [](const std::string& encoding) { return catalog::IsRandomized(encoding); });
  return randomized > 0 && static_cast<size_t>(randomized) < encodings.size();
}

}  // namespace

void AddKnownValues(const std::vector<ValuesOfAxis>& more, std::vector<ValuesOfAxis>& known) {
  for (const ValuesOfAxis& one : more) {
    const auto found = std::ranges::find(known, one.axis, &ValuesOfAxis::axis);
    if (found == known.end()) {
      known.push_back(one);
      continue;
    }
    std::vector<std::string>& values = found->values;
    values.insert(values.end(), one.values.begin(), one.values.end());
    std::ranges::sort(values, IsValueBefore);
    values.erase(std::unique(values.begin(), values.end()), values.end());
  }
}

std::vector<std::string> OnlyWords(const std::string& current, const std::vector<ValuesOfAxis>& known, const std::vector<std::string>& others) {
  std::vector<std::string> words;
  const size_t equals = current.find('=');
  if (equals == std::string::npos) {
    for (const ValuesOfAxis& one : known) words.push_back(one.axis + "=");
    for (const std::string& axis : others) words.push_back(axis + "=");
  } else {
    const std::string axis = current.substr(0, equals);
    const size_t last = current.find_last_of("=,");
    std::vector<std::string> named = Split(current.substr(equals + 1, last - equals), ',');
    for (std::string& value : named) value = ValueOfJobs(axis, value);
    for (const std::string& value : PlainValuesOf(axis, known)) {
      if (std::ranges::find(named, value) == named.end()) words.push_back(current.substr(0, last + 1) + value);
    }
  }
  KeepWordsThatBegin(current, words);
  return words;
}

std::vector<std::string> BetweenWords(const std::string& current, const std::vector<ValuesOfAxis>& known) {
  std::vector<std::string> words;
  const size_t equals = current.find('=');
  if (equals == std::string::npos) {
    for (const ValuesOfAxis& one : known) {
      if (one.values.size() > 1) words.push_back(one.axis + "=");
      if (one.axis == "encoding" && HasBothPositions(one.values)) words.emplace_back(Between::kRandomized);
    }
  } else {
    const std::string axis = current.substr(0, equals);
    const std::vector<std::string> values = PlainValuesOf(axis, known);
    const size_t comma = current.find(',', equals);
    if (comma != std::string::npos) {
      const std::string first = ValueOfJobs(axis, current.substr(equals + 1, comma - equals - 1));
      for (const std::string& value : values) {
        if (value != first) words.push_back(current.substr(0, comma + 1) + value);
      }
    } else if (values.size() == 2) {
      words = {axis + "=" + values[0] + "," + values[1], axis + "=" + values[1] + "," + values[0]};
    } else if (values.size() > 2) {
      for (const std::string& value : values) words.push_back(axis + "=" + value + ",");
    }
  }
  KeepWordsThatBegin(current, words);
  return words;
}

}  // namespace longreach::client
