// What a shell offers for a choice among a sweep's jobs: behind --only and behind --between. Pure.
#pragma once

#include <string>
#include <vector>

#include "client/commands/known_values.h"

namespace longreach::client {

// Puts what another sweep has of each axis to what there is of it already.
void AddKnownValues(const std::vector<ValuesOfAxis>& more, std::vector<ValuesOfAxis>& known);

// Of AXIS=VALUE[,VALUE...]: "task=" of each axis that is known, and of those in `others`; once an axis is there, what was written of it with each of its
// values that it does not have yet behind it. What does not begin with `current` is left out, and so are values that a shell would not leave as they are.
std::vector<std::string> OnlyWords(const std::string& current, const std::vector<ValuesOfAxis>& known, const std::vector<std::string>& others);

// Of AXIS=A,B: "task=" of each axis with two values at least, "randomized" where there are plain and randomized encodings; then the first value with the ','
// behind it, or both, where there are no others.
std::vector<std::string> BetweenWords(const std::string& current, const std::vector<ValuesOfAxis>& known);

}  // namespace longreach::client
