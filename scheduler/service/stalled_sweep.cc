#include "scheduler/service/stalled_sweep.h"

#include <fmt/format.h>

#include "proto/types/job.h"

namespace longreach::service {

std::string StalledSweep(const store::SweepRow& sweep, const LiveBoard::State& live) {
  const auto why = live.stalled.find(sweep.num);
  if (why == live.stalled.end() || sweep.to_come == 0 || sweep.state == SweepState::kCancelled) return "";
  return fmt::format("Of the sweep '{}' {} {} to come, which this scheduler cannot make: {}. Start the version that it was submitted to, or end it with 'longreach cancel {}'.",
                     sweep.name, sweep.to_come, sweep.to_come == 1 ? "job is" : "jobs are", why->second, ShortId(sweep.id));
}

}  // namespace longreach::service
