// What a page of a sweep's jobs, or of their values, needs of the sweep's specification, kept from one page to the next: to read the specification is to read all
// of its seeds, which may be millions, and a page has a thousand jobs.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "proto/base/synchronized.h"
#include "scheduler/experiments/expansion.h"
#include "store/sweeps.h"

namespace longreach::service {

struct PagedSweep {
  v1::SweepSpec spec;  // With the first seeds alone: settings depend on none.
  std::string metric;  // Of its jobs' scores.
  std::vector<experiments::SystemRange> systems;
};

// Safe from several threads.
class PagedSweeps {
 public:
  // Of sweeps, which never change; those that nobody has asked for longest go.
  static constexpr size_t kMost = 16;

  // DATA_LOSS: what is stored cannot be read.
  absl::StatusOr<std::shared_ptr<const PagedSweep>> Of(const store::SweepRow& row);

 private:
  // By their ids. The last that was asked for is the first.
  using Kept = std::list<std::pair<std::string, std::shared_ptr<const PagedSweep>>>;
  static std::shared_ptr<const PagedSweep> Find(Kept& kept, const std::string& id);

  Synchronized<Kept> kept_;
};

}  // namespace longreach::service
