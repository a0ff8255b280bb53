// Some of a sweep's jobs on their way into the store: those that one event writes.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "proto/base/status.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/service/effects.h"
#include "scheduler/service/plan.h"
#include "store/jobs.h"
#include "store/sweeps.h"

namespace longreach::service {

class Slice {
 public:
  // The jobs of the sweep from `first` on, `most` of them if there are so many, with what they need. Makes them: this takes as long as
  // writing them.
  Slice(experiments::Expansion& sweep, int64_t first, int64_t most);

  // Positions in the sweep.
  int64_t first() const { return first_; }
  int64_t end() const { return end_; }

  // Adds the jobs, and gives them to the sweep, which has those before them. Whether any was there before. Once.
  absl::StatusOr<bool> Write(sql::Transaction& tx, const store::SweepRow& sweep, Effects& effects);

  // After that: true. Somebody else may have taken its place.
  bool is_written() const { return states_.size() == jobs_.size(); }
  // What it asks for.
  void CountInto(PlanCounter& counter) const;

 private:
  void Add(experiments::ExpandedJob job, bool member);

  int64_t first_;
  int64_t end_;
  struct Job {
    experiments::ExpandedJob job;
    bool member = false;
  };
  std::vector<Job> jobs_;  // What makes an input comes before what needs it.
  std::vector<store::NewJob> rows_;         // Of each.
  std::vector<store::State> states_;        // Of each, once it is written.
  std::unordered_set<std::string> makers_;  // What many members need is there once.
};

}  // namespace longreach::service
