// What --only leaves of a sweep's jobs, where no table is asked for, which would know. That its words have a meaning is the scheduler's to say.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "longreach/v1/spec.pb.h"
#include "proto/types/axis_choice.h"

namespace longreach::client {

class Only {
 public:
  // Each is AXIS=VALUE[,VALUE...], as TableSpec.only; others say nothing, and what is no range leaves nothing.
  explicit Only(const std::vector<std::string>& texts);

  // `value`: as jobs have it. Of an axis that is not named, all.
  bool Admits(std::string_view axis, const std::string& value) const;
  using Choices = std::map<std::string, AxisChoice, std::less<>>;
  // By axis.
  const Choices& choices() const { return choices_; }
  // nullptr: the axis is not named.
  const AxisChoice* Of(std::string_view axis) const;

 private:
  Choices choices_;
};

// What a system's jobs have: its own axes, where it says some, else the sweep's.
v1::Axes AxesOf(const v1::SweepSpec& spec, const v1::System& system);
// The values of a job's axis ("task", "encoding", "learning_rate", "seed") as jobs have them, in the order of the sweep.
std::vector<std::string> ValuesOf(const v1::Axes& axes, std::string_view axis);

}  // namespace longreach::client
