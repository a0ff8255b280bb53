#include "scheduler/experiments/position_layers.h"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "proto/catalog/catalog.h"
#include "scheduler/experiments/registry.h"

namespace longreach::experiments {

bool ActsInLayers(std::string_view encoding) {
  const catalog::Encoding* known = catalog::FindEncoding(encoding);
  return known != nullptr && (known->Has(catalog::kOfDistance) || known->Has(catalog::kEvenHeads));
}

void CheckPositionLayers(const v1::Axes& axes, const Settings& settings, Checks& checks) {
  const int every = settings.positions.none_every(), layers = settings.model.layers();
  if (every == 0) return;
  if (!settings.model.folder().empty()) {
    checks.Refuse(fmt::format("positions.none_every: {} is for a model of your own, and which layers of '{}' have positions its config.json says\n  leave it out", every,
                              settings.model.folder()));
  }
  if (every == 1) checks.Refuse("positions.none_every: 1 leaves no layer with positions\n  take the encoding 'none' instead");
  checks.Range("positions.none_every", every, 0, kMaxSize);
  if (every > layers) {
    checks.Refuse(fmt::format("positions.none_every: {} is above model.layers, {}: no layer would be without positions\n  set 0 where all are to have them", every, layers));
  }
  const bool is_used = std::ranges::any_of(axes.encoding(), [](const std::string& value) {
    const std::optional<EncodingName> encoding = ParseEncodingName(value);
    return encoding && ActsInLayers(encoding->name);
  });
  if (is_used || axes.encoding().empty()) return;
  checks.Refuse(fmt::format("positions.none_every: {} leaves an encoding out of layers, and {}\n  leave it out", every,
                            axes.encoding_size() == 1 ? fmt::format("'{}' does not act in layers", axes.encoding(0)) : "no encoding here acts in layers"));
}

void CompletePositionLayers(const v1::JobSpec& job, v1::Positions& positions) {
  if (!ActsInLayers(job.encoding())) positions.clear_none_every();
}

}  // namespace longreach::experiments
