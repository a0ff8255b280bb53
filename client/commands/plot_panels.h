// The panels of a figure: a table for each value of an axis, and what their notes say together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/commands/plot_axes.h"
#include "client/connection.h"
#include "client/figure/vega_lite.h"
#include "longreach/v1/api.pb.h"

namespace longreach::client {

inline constexpr int kMostPanels = 60;

// What all panels of a figure have in common.
struct PanelsQuestion {
  std::string sweep;              // Its id.
  PlotAxes axes;                  // Complete.
  std::string metric;
  int length = 0;
  std::string slice;
  std::string aggregate;
  std::vector<std::string> only;  // As TableSpec has it.
  int step_bins = 0;
  std::vector<std::string> best_of = {};  // Axes of jobs, of which each line has its best value (plot_best_of.h).
  v1::TableSpec usual;            // Its rows and columns come in the order that they have there.
};

// What one set of panels is made of.
struct PanelsSource {
  std::string columns;
  std::string metric;
  int length = 0;
  bool usual_order = true;  // Of the columns: as PanelsQuestion::usual has them, where it does.
};

// What tells the jobs of a panel: nothing where there is one of all jobs. Settings that jobs do not have are panels too, and have no key.
std::optional<std::string> PanelOf(const PlotAxes& axes, const std::string& key);

// A table of the panel's jobs; `panel` as PanelOf() has it.
absl::StatusOr<v1::Table> FetchPanelTable(Connection& connection, const PanelsQuestion& question, const std::string& rows, const PanelsSource& source,
                                          const std::optional<std::string>& panel);

// Never empty, though a table may have no cells. INVALID_ARGUMENT: too many panels. FAILED_PRECONDITION: there is nothing to choose the best by.
absl::StatusOr<std::vector<PlotPanel>> FetchPanels(Connection& connection, const PanelsQuestion& question, const PanelsSource& source);

// What panels have in common is said once.
std::vector<std::string> NotesOf(const PlotAxes& axes, const std::vector<PlotPanel>& panels);

}  // namespace longreach::client
