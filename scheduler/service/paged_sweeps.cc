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
  read.bytes = read.spec.SpaceUsedLong() + read.systems.size() * sizeof(experiments::SystemRange);
  return read;
}

}  // namespace

std::shared_ptr<const PagedSweep> PagedSweeps::Find(Kept& kept, const std::string& id) {
  const auto found = std::ranges::find(kept, id, &Kept::value_type::first);
  if (found == kept.end()) return nullptr;
  kept.splice(kept.begin(), kept, found);
  return found->second;
}

bool PagedSweeps::AreTooMany(const Kept& kept) const {
  size_t bytes = 0;
  for (const auto& [id, sweep] : kept) bytes += sweep->bytes;
  return kept.size() > kMost || bytes > most_bytes_;
}

absl::StatusOr<std::shared_ptr<const PagedSweep>> PagedSweeps::Of(const store::SweepRow& row) {
  if (std::shared_ptr<const PagedSweep> found = Find(*kept_.Lock(), row.id)) return found;
  // Without the lock: others need not wait for it.
  ASSIGN_OR_RETURN(PagedSweep read, ReadForPages(row));
  auto sweep = std::make_shared<const PagedSweep>(std::move(read));
  if (sweep->bytes > most_bytes_) return sweep;  // The others stay.
  auto kept = kept_.Lock();
  if (Find(*kept, row.id) == nullptr) kept->emplace_front(row.id, sweep);
  while (AreTooMany(*kept)) kept->pop_back();
  return sweep;
}

}  // namespace longreach::service
