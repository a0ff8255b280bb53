// What `compare` puts beside each other: two sweeps, or two kinds of one sweep's jobs, with what there is to say of them.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "client/commands/paired_values.h"
#include "client/connection.h"
#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"

namespace longreach::client {

// What is asked of `compare`.
struct ComparisonAsked {
  std::string first, second;  // Sweeps, as they are named; no second one where two kinds of the first one's jobs are compared.
  std::string between;        // Which these are.
  std::vector<std::string> by;
  std::string metric;
  int length = 0;
  std::string slice;
  std::vector<std::string> only;  // As TableSpec.only.

  bool IsOverChosenLengths() const;
};

// At which the jobs that are compared have the values that are asked for; with more than one entry they are of other tests.
using TestedLengths = std::set<std::vector<int>>;

// What one side's jobs are, for programs.
struct ComparedSide {
  std::string sweep;        // An id.
  std::string name;         // The sweep's.
  std::string choice = {};  // Which of its jobs: as Between::Choice(); empty: of two sweeps, all.
};

// Sides that are not asked what --only says of an axis, by the axis.
using Baselines = std::map<std::string, size_t, std::less<>>;

// What stands beside each other, and what there is to say of it.
struct Comparison {
  std::array<std::string, 2> names;  // Of the two sides, for people.
  std::array<ComparedSide, 2> sides;
  std::string title;  // Both, for people.
  std::vector<std::string> settings;  // In which they differ.
  PairedValues values;
  TestedLengths lengths;
  std::vector<std::string> notes;
  Baselines baselines = {};
};

// By pairs of jobs of a sweep and of another one, which is asked for. INVALID_ARGUMENT: it is the same, or rows are asked for by what differs.
absl::StatusOr<Comparison> CompareSweeps(Connection& connection, const ComparisonAsked& asked, const v1::Sweep& first);
// By pairs of jobs of one sweep.
absl::StatusOr<Comparison> CompareWithin(Connection& connection, const ComparisonAsked& asked, const v1::Sweep& sweep);

}  // namespace longreach::client
