// What jobs of one sweep are compared by: two values of an axis or of a setting of its systems, or plain and randomized positions of each
// encoding.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "client/commands/paired_values.h"
#include "client/commands/system_settings.h"
#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"

namespace longreach::client {

class Between {
 public:
  static constexpr std::string_view kRandomized = "randomized";

  // "encoding=rope,alibi", "model.layers=1,2", an axis or a setting alone, which the sweep must have two values of, or "randomized".
  // INVALID_ARGUMENT: none of these.
  static absl::StatusOr<Between> Parse(const std::string& text);

  // Of a setting, which what follows needs first: the value that each system has, and what else tells systems apart. INVALID_ARGUMENT: no
  // system has one of the values, or there are two with one that differ in more than settings.
  bool OfSetting() const { return !IsPairAxis(axis_); }
  absl::Status ReadSystems(const SystemSettings& settings);

  // Takes the two values of an axis that was named alone. INVALID_ARGUMENT: there is no such value among a sweep's `axes`, or not two of
  // them. Axes without values are not known.
  absl::Status Check(const AxisValues& axes);

  // The side that a job is on, which then has only what it has in common with its partner. Nothing: it is on neither.
  std::optional<size_t> Take(v1::Job& job) const;

  // Whether partners have the same value of an axis; of a setting their systems have the other settings in common.
  bool Leaves(std::string_view axis) const { return OfPositions() || axis != axis_; }
  // Of two systems of a sweep, the axes of which each has one value, and not the same one: NoPE and RoPE are systems that differ in their
  // encoding too. They go with the systems, so partners need not have them in common. By what the sweep says, whichever jobs are done.
  std::vector<std::string_view> Along(const v1::SweepSpec& spec, const std::vector<std::string>& only) const;
  // Beside it and Along(), the fields in which systems differ whose jobs are partners: two systems may be tested at other lengths as well.
  std::set<std::string> OtherFields(const v1::SweepSpec& spec) const;
  // What differs: an axis, a setting's path, or "randomized".
  std::string_view difference() const { return OfPositions() ? kRandomized : axis_; }
  // Of each side: "rope", "2", "randomized".
  const std::array<std::string, 2>& values() const { return values_; }
  // The same for people: "rope", but "model.layers 2", as a number, or true, does not say what it is of.
  std::array<std::string, 2> Names() const;
  // Of both: "rope and alibi", "model.layers 1 and 2".
  std::string Title() const;
  // The same for programs: "encoding=rope", "model.layers=2", and of positions "plain" and "randomized".
  std::string Choice(size_t side) const;

 private:
  Between(std::string_view axis, std::array<std::string, 2> values) : axis_(axis), values_(std::move(values)) {}
  bool OfPositions() const { return values_[1] == kRandomized; }
  bool NamesValues() const { return !values_[0].empty(); }
  // What stands before values that do not say what they are of.
  std::string Before() const;
  // The values are among those that the sweep has; where none were named, it has two.
  absl::Status CheckValues(const std::set<std::string>& known);

  // One that has one of the two values.
  struct System {
    size_t side = 0;
    std::string others;  // "training.batch_size=32": the settings beside it in which the sweep's systems differ.
  };

  std::string axis_;  // One of kPairAxes, or a setting's path.
  std::array<std::string, 2> values_;
  std::map<std::string, System, std::less<>> systems_;  // By name.
};

}  // namespace longreach::client
