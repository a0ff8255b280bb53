// Of what was measured, what is a number.
#pragma once

#include <string>
#include <vector>

#include "worker/trainer/train.h"

namespace longreach::trainer {

// The first that is not finite, or null.
const Measurement* FirstNotFinite(const std::vector<Measurement>& measured);

// "perplexity at length 64", for people.
std::string NameOf(const Measurement& one);

// Adds what is finite to `all`, and returns a line on the rest: "" where there is none.
std::string AddFinite(const std::vector<Measurement>& measured, std::vector<Measurement>& all);

}  // namespace longreach::trainer
