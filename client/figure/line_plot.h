// Measurements as curves, one line for each row of a table over its numeric columns.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/figure/vega_lite.h"

namespace longreach::client {

// A straight line or curve that goes with a line: a fit, drawn dashed in its colour.
struct PlotCurve {
  std::string panel;  // Its title.
  std::string line;   // Its label.
  std::vector<std::pair<double, double>> points;
};

struct LinePlot {
  PlotTitle title;
  std::string x_title;                  // "length"
  bool x_log = false;
  bool x_each = false;                  // Where its values are few each has a tick: learning rates, seeds, layers.
  std::string y_title;                  // "accuracy (%)"
  bool y_log = false;
  std::string lines_title;              // "encoding"
  std::string best_of_title = {};       // "best learning rate": what cells name in best_of. Empty: they do not.
  // The longest length of training: a dashed line, where lengths are on the x axis. Absent: none.
  std::optional<double> trained = {};
  // What guessing has: a thin dotted line. Absent: none.
  std::optional<double> chance = {};
  std::vector<PlotCurve> curves = {};
  // One standard deviation to each side of a point that is a mean of several jobs. Around another aggregate it would say what no job did.
  bool bands = true;
  // Their columns are numbers (lengths, learning rates, seeds); rows are the lines.
  std::vector<PlotPanel> panels;
  // So many of them, one after the other, are to be compared with each other first, and stand in rows of their own; 0: any.
  size_t panels_together = 0;
};

// Points have the aggregate of their jobs. Lines that are an encoding and its randomized form have the same colour, the latter is dashed. What was
// not measured is left out.
std::string VegaLiteOf(const LinePlot& plot);

// Points that would be drawn.
int PointsOf(const LinePlot& plot);

}  // namespace longreach::client
