#include "scheduler/service/paged_sweeps.h"

#include <algorithm>

#include "scheduler/service/replies.h"

namespace longreach::service {
namespace {

// As many as there must be for a sweep to be one of several seeds, of which some kinds do not admit every setting.
constexpr int kSeedsKept = 2;

void KeepFirstSeeds(v1::SweepSpec& spec) {
  if (spec.axes().seed_size() > kSeedsKept) spec.mutable_axes()->mutable_seed()->Truncate(kSeedsKept);
}

absl::StatusOr<PagedSweep> ReadForPages(const store::SweepRow& row) {
  PagedSweep read;
  ASSIGN_OR_RETURN(v1::SweepSpec spec, SpecOf(row));
  ASSIGN_OR_RETURN(read.metric, MainMetricOfSweep(spec));
  read.systems = experiments::SystemRanges(spec);
  KeepFirstSeeds(spec);
  for (v1::System& system : *spec.mutable_systems()) KeepFirstSeeds(*system.mutable_with());
  read.spec = spec;  // A copy: the lists that were cut still have the memory of all seeds.
  return read;
}

}  // namespace

std::shared_ptr<const PagedSweep> PagedSweeps::Find(Kept& kept, const std::string& id) {
  const auto found = std::ranges::find(kept, id, &Kept::value_type::first);
  if (found == kept.end()) return nullptr;
  kept.splice(kept.begin(), kept, found);
  return found->second;
}

absl::StatusOr<std::shared_ptr<const PagedSweep>> PagedSweeps::Of(const store::SweepRow& row) {
  if (std::shared_ptr<const PagedSweep> found = Find(*kept_.Lock(), row.id)) return found;
  // Without the lock: others need not wait for it.
  ASSIGN_OR_RETURN(PagedSweep read, ReadForPages(row));
  auto sweep = std::make_shared<const PagedSweep>(std::move(read));
  auto kept = kept_.Lock();
  if (Find(*kept, row.id) == nullptr) kept->emplace_front(row.id, sweep);
  if (kept->size() > kMost) kept->pop_back();
  return sweep;
}

}  // namespace longreach::service
