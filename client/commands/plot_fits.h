// What a figure of lines has beside its points: what guessing has; over lengths, the length that was trained and the fits of the best scales of
// attention.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/commands/plot_panels.h"
#include "client/connection.h"
#include "client/figure/line_plot.h"
#include "longreach/v1/api.pb.h"

namespace longreach::client {

// The metric that has fits.
inline constexpr std::string_view kScaleMetric = "best_attention_scale";

// What guessing has of a metric, in its unit, where the jobs that `only` (as TableSpec.only) shows are of one task and it is known. Nothing of several
// tasks: each has its own.
std::optional<double> ChanceOf(std::string_view metric, const v1::SweepSpec& spec, const std::vector<std::string>& only);

// The longest length of training, of the weights' makers too; of systems that of those which `only` (as TableSpec.only) shows, nothing where
// they do not agree.
absl::StatusOr<std::optional<double>> TrainedLength(Connection& connection, const v1::Sweep& sweep, const std::vector<std::string>& only);

// The growth that was fitted to the best scales, a ln(i/L) + 1 from the training length L on, where the sweep says L; each with a note.
// `plot` has its panels and the trained length.
absl::Status AddFits(Connection& connection, const v1::Sweep& sweep, const PanelsQuestion& question, LinePlot& plot);

}  // namespace longreach::client
