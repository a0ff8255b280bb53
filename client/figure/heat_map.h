// Measurements as colours, a rectangle for each cell of a table: passkeys retrieved by length and depth.
#pragma once

#include <string>
#include <vector>

#include "client/figure/vega_lite.h"

namespace longreach::client {

struct HeatMap {
  PlotTitle title;
  std::string x_title;      // "length"
  std::string y_title;      // "depth"
  std::string value_title;  // "passkeys retrieved (%)"
  bool log = false;         // Colours go by the logarithm.
  // Rows are drawn from top to bottom, columns from left to right.
  std::vector<PlotPanel> panels;
};

// Cells that are large enough have their values printed in them. What was not measured is left out; panels that have other columns than others have an axis of their own. Colours of percent begin at 0 and end at 100, in all figures alike.
std::string VegaLiteOf(const HeatMap& map);

// Rectangles that would be drawn.
int PointsOf(const HeatMap& map);

}  // namespace longreach::client
