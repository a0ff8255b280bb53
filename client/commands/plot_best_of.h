// Lines of a figure at the best value of an axis, as of the learning rate. It is chosen once for each line, by the values of all its tests: the best
// at each point would make one curve of several models.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/commands/plot_axes.h"
#include "client/figure/vega_lite.h"
#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"

namespace longreach::client {

// INVALID_ARGUMENT: of an axis of the figure no best value is chosen, or lines and panels are not of jobs, so that one model would be several.
// `axes` are complete.
absl::Status CheckBestOf(const std::vector<std::string>& best_of, const PlotAxes& axes);

// `choice` has the lines as rows, and the values of `best_of` as columns; `by_value` has a row for each line with each of these values. What is
// left of it are the lines, each at its best value, which its cells name. A line without any value is left out. Notes are those of both, and where
// a choice was not a fair one.
v1::Table AtBestValues(const v1::Table& choice, const v1::Table& by_value, const std::vector<std::string>& best_of);

// How many lines have which value: "learning_rate chosen for each line by its mean over all test lengths: 0.001 in 7 lines". `by`: what it was
// chosen by. Empty: there are no lines.
std::string NoteOnBestValues(const std::vector<PlotPanel>& panels, const std::vector<std::string>& best_of, std::string_view by);

}  // namespace longreach::client
