// A sweep's members beside the jobs that its specification makes, position by position: for whoever checks them (check_members.h) and whoever puts them right (mend_members.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "proto/base/status.h"
#include "scheduler/experiments/expansion.h"
#include "store/sql/connection.h"
#include "store/sweeps.h"

namespace longreach::service {

// What tells the jobs of a sweep apart, and what no version makes otherwise.
struct MemberAxes {
  std::string experiment{};
  std::string task{};
  std::string encoding{};
  double learning_rate = 0;
  uint32_t seed = 0;

  bool operator==(const MemberAxes&) const = default;
};

struct MemberThere {
  int64_t job = 0;
  std::string id{};
  MemberAxes axes{};
};

// A position whose member is not the job that belongs there.
struct WrongPlace {
  int64_t position = 0;
  std::optional<MemberThere> there{};                     // Nothing: it is lacking.
  const experiments::ExpandedJob* expected = nullptr;     // Null: the sweep has no such position.
};

// "sweep 1f3a92c0 ('first')"
std::string SweepInWords(const store::SweepRow& sweep);

// The first position whose job is to come, or the sweep's size. Nothing: it cannot have so many to come.
std::optional<int64_t> EndOfMembers(const store::SweepRow& sweep, const experiments::Expansion& expansion);

// Calls `use` for each of them, in no order; `expansion` is the sweep's. How many members there are.
absl::StatusOr<int64_t> ForEachWrongPlace(sql::Connection& db, const store::SweepRow& sweep, experiments::Expansion& expansion, const std::function<absl::Status(const WrongPlace&)>& use);

}  // namespace longreach::service
