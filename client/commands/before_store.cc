#include "client/commands/before_store.h"

#include <chrono>

#include "client/commands/sweep_calls.h"
#include "client/spec/parts.h"

namespace longreach::client {
namespace {

// A sweep is looked through before its jobs are counted, which takes minutes of millions of them.
constexpr std::chrono::seconds kPatience{10};

}  // namespace

absl::StatusOr<std::vector<v1::Plan>> PlansBeforeStore(const Session& session, bool embed_by_default, const std::vector<LoadedSweep>& sweeps) {
  std::vector<v1::Plan> plans;
  if (!session.WouldMakeStore(embed_by_default)) return plans;
  Session before(session.environment(), session.settings());
  ASSIGN_OR_RETURN(Connection * connection, before.Connect(StoreUse::kExistingOrNone, embed_by_default));
  for (const LoadedSweep& one : sweeps) {
    v1::SubmitSweepRequest request = SubmissionOf(one.file);
    request.set_dry_run(true);
    const absl::StatusOr<v1::SubmitSweepResponse> planned = connection->Call(&Connection::Stub::SubmitSweep, request, kPatience);
    if (planned.ok()) {
      plans.push_back(planned->plan());
    } else if (!absl::IsDeadlineExceeded(planned.status())) {
      const absl::Status refusal = one.file.places.WithPlace(planned.status());
      return sweeps.size() > 1 ? InPart(refusal, one) : refusal;
    }
  }
  return plans;
}

}  // namespace longreach::client
