// The axes of a figure, by the names of options: what a user says of them, and what is filled in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/commands/system_settings.h"
#include "proto/base/status.h"

namespace longreach::client {

// The axis to the right of curves of this metric, where none is named; "" is a sweep's main one.
std::string UsualX(std::string_view metric);

struct PlotAxes {
  std::string x = {};       // An axis, or another metric.
  std::string y = {};       // Of a heat map.
  std::string lines = {};
  std::string points = {};  // With a metric as x.
  std::string panels = {};  // "none": one panel.

  // One metric against another.
  bool IsScatter() const;
  bool Has(std::string_view axis) const;
  bool HasSettings() const;

  // INVALID_ARGUMENT, with the option's name: a word is no axis that can be there, or does not go with the others.
  absl::Status Check() const;
  // Fills in what was left open for such a sweep. `only` as TableSpec::only. INVALID_ARGUMENT: two of them are the same.
  absl::Status Complete(const SystemSettings& settings, const std::vector<std::string>& only);
  // Those that are there; "" stands for one that is open.
  std::vector<std::string> All() const { return {x, y, lines, points, panels}; }

 private:
  std::string UsualLines(const SystemSettings& settings, const std::vector<std::string>& only) const;
};

}  // namespace longreach::client
