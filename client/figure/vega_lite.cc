#include "client/figure/vega_lite.h"

#include <utility>

#include "client/output/text.h"

namespace longreach::client {
namespace {

constexpr int kPanelsInRow = 3;
// Of one panel, in pixels.
constexpr int kWidth = 260;
constexpr int kHeight = 180;
constexpr int kWidthAlone = 480;
constexpr int kHeightAlone = 300;
constexpr size_t kColoursOfTen = 10;

}  // namespace

std::string LabelOf(const v1::TableAxisEntry& entry) { return Printable(entry.label().empty() ? entry.key() : entry.label()); }

VegaJson NumberAxis(std::string_view field, const std::string& title, bool log, bool nice) {
  return {{"field", field}, {"type", "quantitative"}, {"title", title}, {"scale", {{"type", log ? "log" : "linear"}, {"zero", false}, {"nice", nice}}}};
}

std::string ColourScheme(size_t names) { return names > kColoursOfTen ? "tableau20" : "tableau10"; }

std::string VegaLiteText(const PlotTitle& title, const std::vector<PlotPanel>& panels, VegaJson values, const VegaJson& layers) {
  VegaJson spec = {{"$schema", "https://vega.github.io/schema/vega-lite/v5.json"},
                   {"title", {{"text", Printable(title.text)}, {"anchor", "start"}}}};
  for (const std::string& note : title.notes) spec["title"]["subtitle"].push_back(Printable(note));
  spec["data"] = {{"values", std::move(values)}};
  if (panels.size() == 1) {
    spec["width"] = kWidthAlone;
    spec["height"] = kHeightAlone;
    spec["layer"] = layers;
  } else {
    VegaJson titles = VegaJson::array();
    for (const PlotPanel& panel : panels) titles.push_back(Printable(panel.title));
    spec["facet"] = {{"field", "panel"}, {"type", "nominal"}, {"title", nullptr}, {"sort", titles}};
    spec["columns"] = kPanelsInRow;
    spec["spec"] = {{"width", kWidth}, {"height", kHeight}, {"layer", layers}};
  }
  return spec.dump(1, ' ', false, VegaJson::error_handler_t::replace) + "\n";
}

}  // namespace longreach::client
