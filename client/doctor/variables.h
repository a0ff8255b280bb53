// Variables of the environment that a user has set in vain, as their names are misspelt.
#pragma once

#include <string>
#include <vector>

#include "client/doctor/check.h"

namespace longreach::client {

struct UnknownVariable {
  std::string name;   // It begins with LONGREACH_ and means nothing to any of the programs.
  std::string meant;  // The known one that is nearest to it; empty: none is near.
};

// Those among all names of an environment, ascending.
std::vector<UnknownVariable> UnknownVariables(const std::vector<std::string>& names);

// "LONGREACH_SCHEDULR means nothing to any of the programs", and what to do about it.
std::string WhatIsUnknown(const UnknownVariable& variable);
std::string AdviceOn(const UnknownVariable& variable);

// The check "variables".
Check JudgeVariables(const std::vector<std::string>& names);

}  // namespace longreach::client
