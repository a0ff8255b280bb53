#include "client/doctor/variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/catalog/variables.h"

namespace longreach::client {

std::vector<UnknownVariable> UnknownVariables(const std::vector<std::string>& names) {
  static const std::vector<std::string> known(std::begin(catalog::kVariables), std::end(catalog::kVariables));
  std::vector<UnknownVariable> unknown;
  for (const std::string& name : names) {
    if (!name.starts_with(catalog::kVariablePrefix)) continue;
    const std::string rest = name.substr(catalog::kVariablePrefix.size());
    if (std::ranges::find(known, rest) != known.end()) continue;
    const std::string meant = ClosestWord(rest, known);
    unknown.push_back({.name = name, .meant = meant.empty() ? "" : fmt::format("{}{}", catalog::kVariablePrefix, meant)});
  }
  std::ranges::sort(unknown, {}, &UnknownVariable::name);
  return unknown;
}

std::string WhatIsUnknown(const UnknownVariable& variable) { return fmt::format("{} means nothing to any of the programs", Printable(variable.name)); }

std::string AdviceOn(const UnknownVariable& variable) {
  if (variable.meant.empty()) return fmt::format("unset {}, unless it is for something else", Printable(variable.name));
  return fmt::format("did you mean {}?", variable.meant);
}

Check JudgeVariables(const std::vector<std::string>& names) {
  Findings findings("variables");
  const std::vector<UnknownVariable> unknown = UnknownVariables(names);
  for (const UnknownVariable& one : unknown) findings.Add(CheckState::kWarning, WhatIsUnknown(one), AdviceOn(one));
  if (!unknown.empty()) return findings.check();
  const auto ours = std::ranges::count_if(names, [](const std::string& name) { return name.starts_with(catalog::kVariablePrefix); });
  findings.Add(CheckState::kOk, ours == 0 ? fmt::format("none begins with {}", catalog::kVariablePrefix)
                                          : fmt::format("{} {} with {}, and {} something", Count(ours, "variable"), ours == 1 ? "begins" : "begin", catalog::kVariablePrefix,
                                                      ours == 1 ? "means" : "mean"));
  return findings.check();
}

}  // namespace longreach::client
