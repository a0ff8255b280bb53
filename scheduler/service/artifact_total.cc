#include "scheduler/service/artifact_total.h"

#include <fmt/format.h>

#include "store/artifacts.h"

namespace longreach::service {

absl::Status ArtifactTotal::Admit(sql::Connection& db, double bytes, double most, SteadyTime now) {
  auto sum = sum_.Lock();
  if (now >= sum->good_until) {
    ASSIGN_OR_RETURN(sum->bytes, store::BytesOfAllArtifacts(db));
    sum->good_until = now + kHolds;
  }
  if (sum->bytes + bytes > most) {
    return absl::ResourceExhaustedError(fmt::format("all artifacts have {:.0f} bytes, and with this file more than --max-artifact-bytes {:.0f}; "
                                                    "raise it, or let sweeps end: finished jobs keep no checkpoints", sum->bytes, most));
  }
  sum->bytes += bytes;
  return absl::OkStatus();
}

}  // namespace longreach::service
