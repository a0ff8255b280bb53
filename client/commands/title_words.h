// What titles of tables and figures say: what was measured, at which lengths, and of how many jobs a value is made.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/commands/system_settings.h"

namespace longreach::client {

// "accuracy (%)"; without a unit the bare name.
std::string WithUnit(std::string_view name, std::string_view unit);
// The same with the unit that a metric is stored in.
std::string WithUnit(std::string_view metric);

// "over all test lengths" for 0, else "at length 100"; where `only` (as TableSpec::only) names several, over which a job's
// value is the mean then, "averaged over length 41 to 60". Values of tests while jobs were trained are over those tests' lengths, which may be fewer:
// "over the lengths of curves". Such are those of a slice, or of an `only`, that names a step, and those with steps as an axis, `by_step`.
std::string AtLength(int length, const std::vector<std::string>& only, std::string_view slice, bool by_step = false);
// The same where each length has a place of its own: "at each test length", "at each length of curves".
std::string AtEachLength(const std::vector<std::string>& only, std::string_view slice, bool by_step = false);

struct Aggregation {
  std::string aggregate;           // max, min, mean or median.
  std::vector<std::string> shown;  // Axes whose values have places of their own.
  std::vector<std::string> only;   // As TableSpec::only.
  std::vector<std::string> best_of = {};  // As TableSpec::best_of.
};
// "maximum over seeds and learning rates": of the other axes those of which a value has several. "mean over seeds at the best learning rate":
// of those of `best_of` too. Empty: it is of one job.
std::string AggregatedOver(const SystemSettings& settings, const Aggregation& how);
// Of what a value is over, what makes unlike jobs of them: all but seeds and learning rates, which are trials of one. "encodings and systems"; empty: nothing.
std::string UnlikeOver(const SystemSettings& settings, const Aggregation& how);

}  // namespace longreach::client
