// Measurements as curves, one line for each row of a table over its numeric columns: a Vega-Lite specification with its data in it,
// so that one file is the figure for paper, page and notebook (https://vega.github.io/vega-lite/).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "longreach/v1/api.pb.h"

namespace longreach::client {

// One panel: a table whose rows are the lines and whose columns are numbers (lengths, learning rates, seeds).
struct PlotPanel {
  std::string title;
  v1::Table table;
};

struct LinePlot {
  std::string title;
  std::vector<std::string> notes = {};  // Below the title: what a reader must know.
  std::string x_title;                  // "length"
  bool x_log = false;
  std::string y_title;                  // "accuracy (%)"
  bool y_log = false;
  std::string lines_title;              // "encoding"
  // The longest length of training: a dashed line, where lengths are on the x axis. Absent: none.
  std::optional<double> trained = {};
  std::vector<PlotPanel> panels;
};

// Points have the aggregate of their jobs, bands one standard deviation to each side where there are several jobs. Lines that are an
// encoding and its randomized form have the same colour, the latter is dashed. What was not measured is left out.
std::string VegaLiteOf(const LinePlot& plot);

// Points that would be drawn.
int PointsOf(const LinePlot& plot);

}  // namespace longreach::client
