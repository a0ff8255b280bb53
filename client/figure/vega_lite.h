// What all figures of measurements have in common as Vega-Lite specifications with their data in them
// (https://vega.github.io/vega-lite/): so one file is the figure for paper, page and notebook.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "longreach/v1/api.pb.h"

namespace longreach::client {

// One panel: what a table has.
struct PlotPanel {
  std::string title;
  std::string key = {};  // What `title` is the label of.
  v1::Table table;
};

// Above the panels.
struct PlotTitle {
  std::string text;
  std::vector<std::string> notes = {};  // Below it: what a reader must know.
};

using VegaJson = nlohmann::ordered_json;

std::string LabelOf(const v1::TableAxisEntry& entry);

// A quantitative axis. `nice`: it ends at round numbers.
VegaJson NumberAxis(std::string_view field, const std::string& title, bool log, bool nice);

// Ends a logarithmic axis, and no other, at what these fields of `values` have, with a small margin: the next powers of ten may leave half of a
// figure empty. Where fewer than two of these are on it, its ticks are 1, 2 and 5 times such.
void EndAtData(VegaJson& axis, const VegaJson& values, std::initializer_list<const char*> fields);

// Ticks of the axis to the right at these values and no others, each with its label, which stand upright where they would run together side by
// side. Values that are too many for that change nothing.
void TickAt(VegaJson& axis, std::vector<double> at, size_t panels);

// Of one panel of so many, in pixels.
int PanelWidth(size_t panels);
int PanelHeight(size_t panels);
// Of a text on an axis or in a panel, about.
double TextWidth(std::string_view text);
inline constexpr double kTextHeight = 12;

// The colours for so many names.
std::string ColourScheme(size_t names);

// Of a legend with so many names: all of them are in it.
VegaJson LegendOf(size_t names);

// The whole text. No name on an axis or in a legend is cut, as those of a grid's systems differ at their ends. `values` have a field "panel" with the title of one of `panels`; `layers` are drawn in each. Several panels share their axes, but
// for those of `own_axes` ("x", "y"). Each `together` of them stand in rows of their own; 0: any do.
std::string VegaLiteText(const PlotTitle& title, const std::vector<PlotPanel>& panels, VegaJson values, const VegaJson& layers,
                         const std::vector<std::string>& own_axes = {}, size_t together = 0);

}  // namespace longreach::client
