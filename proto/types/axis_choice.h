// What tables and lists are asked for of one axis (TableSpec.only, --only): values, and of numbers ranges too, as "10,41..60". Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/base/status.h"

namespace longreach {

// Its values are numbers, or may be: those of slices are in most.
bool IsNumberAxis(std::string_view axis);

// A value of an axis that a user wrote, as jobs have it: 1e-3 is 0.001.
std::string ValueOfJobs(std::string_view axis, const std::string& word);

class AxisChoice {
 public:
  // Both ends are in it.
  struct Range {
    double first = 0;
    double last = 0;

    bool Has(const std::string& value) const;
    // As it may be written: "41..60".
    std::string Text() const;
  };

  explicit AxisChoice(std::string axis) : axis_(std::move(axis)) {}

  // Takes VALUE[,VALUE...] too, where a value of numbers may be FIRST..LAST. On an axis of names that is a name. Brackets around it all
  // and blanks around values, which a list has in a sweep file, are left out.
  // INVALID_ARGUMENT: it is no range, one as other programs write it, or no test length: 0, which stands for all lengths together, is none.
  absl::Status Add(std::string_view text);

  // `value`: as jobs have it.
  bool Has(const std::string& value) const;
  // Of one value at most.
  bool IsSingle() const { return values_.size() <= 1 && ranges_.empty(); }

  const std::string& axis() const { return axis_; }
  const std::set<std::string>& values() const { return values_; }
  const std::vector<Range>& ranges() const { return ranges_; }
  // For people, ascending: "10", "41 to 60".
  std::vector<std::string> Words() const;

 private:
  absl::Status AddRange(const std::string& word);

  std::string axis_;
  std::set<std::string> values_;
  std::vector<Range> ranges_;
};

}  // namespace longreach
