// What one cell of a results table is made of. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "longreach/v1/api.pb.h"
#include "scheduler/service/table_axes.h"

namespace longreach::service {

// The job is not done, and nobody has said that it is not to be.
bool IsOpen(store::State state);

// What values are of that stand together, by the axes of MixedAxes.
struct Mixture {
  std::vector<std::string> first = {};           // Of the first of them.
  std::vector<std::set<std::string>> keys = {};  // Of all, where an axis has several; nothing until one has.
};

struct CellJobs {
  // A job may have several values in one cell, by head or step; spread between jobs is not spread within one.
  struct OfJob {
    double sum = 0;
    int count = 0;
  };
  // Those with the same value of TableSpec.best_of; without that all.
  struct Group {
    std::vector<double> values;
    std::vector<OfJob> by_job;  // Those that have values.
    Mixture mixture = {};
    // Over jobs, of each the mean of its values. Nothing for fewer than two.
    std::optional<double> Deviation() const;
  };

  std::map<std::string, Group> groups;  // By that value.
  std::set<std::string> builds;
  std::set<std::string> engines;
  int jobs = 0;
  int succeeded = 0;
  int diverged = 0;
  int failed = 0;
  std::map<std::string, int> unmeasured;   // Succeeded, not diverged, without this measurement; by system.
  std::set<std::string> measured_systems;  // Of those that did have it; jobs of no system are not in here.
  std::string last_builds = {};
  std::string last_engines = {};
  std::string data = {};  // Of all its jobs; empty where they differ.

  // `group`: its value of TableSpec.best_of. Whether the job has a value that counts.
  bool Add(const TableJob& job, const std::string& group, double factor);
  // The groups with the best aggregate, by their values: one, or those that are equally good; none: no job has a value. Which is better is not asked of one
  // group.
  std::set<std::string> Best(std::string_view aggregate, bool higher) const;
};

// Fills in what the cell's own jobs say: all but what is published, which is the best, and of which group it is. `group`: the one that is shown; nullptr: no job
// has a value.
void SetMeasured(v1::TableCell& cell, const CellJobs& jobs, std::string_view aggregate, const CellJobs::Group* group);

}  // namespace longreach::service
