#include "scheduler/service/artifact_total.h"

#include <fmt/format.h>

#include "store/artifacts.h"

namespace longreach::service {

absl::Status ArtifactTotal::MakeGood(Sum& sum, sql::Connection& db, SteadyTime now) {
  if (now < sum.good_until) return absl::OkStatus();
  ASSIGN_OR_RETURN(sum.bytes, store::BytesOfAllArtifacts(db));
  sum.good_until = now + kHolds;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ArtifactTotal::Admitted>> ArtifactTotal::Admit(sql::Connection& db, double bytes, double most, SteadyTime now) {
  auto sum = sum_.Lock();
  RETURN_IF_ERROR(MakeGood(*sum, db, now));
  if (sum->bytes + bytes > most) {
    return absl::ResourceExhaustedError(fmt::format("all artifacts have {:.0f} bytes, and with this file more than --max-artifact-bytes {:.0f}; "
                                                    "raise it, or let sweeps end: finished jobs keep no checkpoints", sum->bytes, most));
  }
  sum->bytes += bytes;
  return std::make_unique<Admitted>(*this, bytes, now);
}

void ArtifactTotal::GiveBack(double bytes, SteadyTime admitted_at) {
  auto sum = sum_.Lock();
  // A sum that was made later never had it, as no row names it.
  if (admitted_at + kHolds >= sum->good_until) sum->bytes -= bytes;
}

absl::StatusOr<double> ArtifactTotal::Left(sql::Connection& db, double most, SteadyTime now) {
  auto sum = sum_.Lock();
  RETURN_IF_ERROR(MakeGood(*sum, db, now));
  return most - sum->bytes;
}

}  // namespace longreach::service
