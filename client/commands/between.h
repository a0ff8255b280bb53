// What jobs of one sweep are compared by: two values of an axis, or plain and randomized positions of each encoding.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "client/commands/paired_values.h"
#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"

namespace longreach::client {

class Between {
 public:
  static constexpr std::string_view kRandomized = "randomized";

  // "encoding=rope,alibi", or "randomized". INVALID_ARGUMENT: neither.
  static absl::StatusOr<Between> Parse(const std::string& text);

  // INVALID_ARGUMENT: there is no such value among a sweep's `axes`. Axes without values are not known.
  absl::Status Check(const AxisValues& axes) const;

  // The side that a job is on, which then has only what it has in common with its partner. Nothing: it is on neither.
  std::optional<size_t> Take(v1::Job& job) const;

  // Whether partners have the same value of an axis.
  bool Leaves(std::string_view axis) const { return OfPositions() || axis != axis_; }
  // What differs: an axis, or "randomized".
  std::string_view difference() const { return OfPositions() ? kRandomized : axis_; }
  // Of each side, for people: "rope", "randomized".
  const std::array<std::string, 2>& values() const { return values_; }

 private:
  Between(std::string_view axis, std::array<std::string, 2> values) : axis_(axis), values_(std::move(values)) {}
  bool OfPositions() const { return values_[1] == kRandomized; }

  std::string_view axis_;  // One of kPairAxes.
  std::array<std::string, 2> values_;
};

}  // namespace longreach::client
