#include "scheduler/service/other_work.h"

namespace longreach::service {

absl::StatusOr<OtherWork> OtherWork::Than(sql::Connection& db, const core::Health& failed) {
  OtherWork other;
  for (const std::vector<int64_t>& jobs : failed.failed) other.jobs_.insert(jobs.begin(), jobs.end());
  if (other.jobs_.empty()) return other;
  ASSIGN_OR_RETURN(other.pack_keys_, store::PackKeysOf(db, other.jobs_));
  ASSIGN_OR_RETURN(other.sweeps_, store::SweepsOf(db, other.jobs_));
  return other;
}

store::Apart OtherWork::Apart(core::Offer offer) const {
  switch (offer) {
    case core::Offer::kOtherSweeps: return {.sweeps = sweeps_.any, .pack_keys = pack_keys_};
    case core::Offer::kOtherPacks: return {.pack_keys = pack_keys_};
    case core::Offer::kOtherJobs: return {.jobs = jobs_};
    case core::Offer::kAll: break;
  }
  return {};
}

}  // namespace longreach::service
