#include "client/commands/before_store.h"

#include <fmt/format.h>

#include <chrono>

#include "client/commands/sweep_calls.h"
#include "client/embedded.h"
#include "client/errors.h"
#include "client/program_answer.h"
#include "client/spec/parts.h"

namespace longreach::client {
namespace {

// A sweep is looked through before its jobs are counted, which takes minutes of millions of them.
constexpr std::chrono::seconds kPatience{10};
// Its libraries are large, and may come over a network. One that is slower is not unable.
constexpr std::chrono::seconds kWorkerPatience{60};

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

absl::StatusOr<std::optional<int>> TryWorkerBeforeStore(const Session& session, bool embed_by_default, const InterruptScope& interrupt) {
  if (!session.WouldMakeStore(embed_by_default)) return std::optional<int>();
  ASSIGN_OR_RETURN(Process process, StartWorkerProgram(session.environment().binaries, {"--version"}));
  const ProgramAnswer answer = AnswerOf(process, kWorkerPatience, interrupt);
  if (answer.end == ProgramAnswer::End::kInterrupted) return std::optional<int>(interrupt.exit_code());
  if (answer.end == ProgramAnswer::End::kGaveUp || answer.exit_code == 0) return std::optional<int>();
  return Error(absl::StatusCode::kFailedPrecondition, fmt::format("the worker cannot run: {}", LastWords(process, "longreach-worker")),
               "nothing was submitted, and no store was made; 'longreach-worker --version' says the same");
}

}  // namespace longreach::client
