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
  size_t bytes = 0;  // Of memory, about.
};

// Safe from several threads.
class PagedSweeps {
 public:
  // Of sweeps, which never change; those that nobody has asked for longest go.
  static constexpr size_t kMost = 16;
  // Of all that are kept: a sweep may list millions of learning rates, or a hundred thousand systems. One that has more by itself is not kept.
  static constexpr size_t kMostBytes = size_t{128} << 20;

  explicit PagedSweeps(size_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

  // DATA_LOSS: what is stored cannot be read.
  absl::StatusOr<std::shared_ptr<const PagedSweep>> Of(const store::SweepRow& row);

 private:
  // By their ids. The last that was asked for is the first.
  using Kept = std::list<std::pair<std::string, std::shared_ptr<const PagedSweep>>>;
  static std::shared_ptr<const PagedSweep> Find(Kept& kept, const std::string& id);
  bool AreTooMany(const Kept& kept) const;

  const size_t most_bytes_;
  Synchronized<Kept> kept_;
};

}  // namespace longreach::service
