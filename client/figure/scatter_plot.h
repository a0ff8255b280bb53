// One metric against another, a point for each cell that two tables have in common: the scale of each attention head and its entropy.
#pragma once

#include <string>
#include <vector>

#include "client/figure/vega_lite.h"

namespace longreach::client {

struct ScatterPlot {
  PlotTitle title;
  std::string x_title;       // "scale of an attention head"
  std::string y_title;       // "attention entropy (nats)"
  bool y_log = false;
  std::string lines_title;   // "layer": rows of the tables, a colour each.
  std::string points_title;  // "head": columns of the tables.
  // Those of x and y with the same key belong together.
  std::vector<PlotPanel> x = {};
  std::vector<PlotPanel> y = {};
};

// A straight line of least squares goes through each colour's points where there are at least three.
std::string VegaLiteOf(const ScatterPlot& plot);

// Points that would be drawn.
int PointsOf(const ScatterPlot& plot);

// How the two go together in one colour of one panel.
struct Correlation {
  std::string panel;
  std::string line;
  int points = 0;
  double slope = 0;  // Of the straight line.
  double r = 0;      // Pearson's.
};
// Of the colours that have at least three points, neither all of one x nor of one y; as drawn, after a logarithm.
std::vector<Correlation> CorrelationsOf(const ScatterPlot& plot);

}  // namespace longreach::client
