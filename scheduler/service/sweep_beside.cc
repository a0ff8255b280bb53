#include "scheduler/service/sweep_beside.h"

#include <utility>
#include <vector>

#include "scheduler/experiments/differences.h"
#include "scheduler/service/replies.h"
#include "store/sweeps.h"

namespace longreach::service {

absl::StatusOr<std::optional<SweepBeside>> FindSweepBeside(sql::Connection& db, const v1::SweepSpec& sweep, const std::string& name) {
  ASSIGN_OR_RETURN(const std::vector<std::string> named, store::SweepsNamed(db, name));
  std::optional<SweepBeside> newest, alike;
  int64_t most = -1;
  for (const std::string& id : named) {
    ASSIGN_OR_RETURN(const std::optional<store::SweepRow> row, store::FindSweep(db, id));
    if (!row.has_value()) return absl::InternalError("a sweep went away within a snapshot");
    const absl::StatusOr<v1::SweepSpec> spec = SpecOf(*row);
    SweepBeside found{.sweep = row->num, .to_come = row->to_come, .cancelled = row->state == SweepState::kCancelled};
    if (spec.ok()) found.differences = experiments::DifferingSettings(sweep, *spec);
    else found.differences.insert("what this program cannot read");
    if (found.differences.empty() && row->counts.jobs() > most) {
      most = row->counts.jobs();
      alike = found;
    }
    if (!newest) newest = std::move(found);
  }
  return alike ? alike : newest;
}

}  // namespace longreach::service
