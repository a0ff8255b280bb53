#include "client/commands/before_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "client/commands/sweep_calls.h"
#include "client/embedded.h"
#include "client/errors.h"
#include "client/spec/parts.h"

namespace longreach::client {
namespace {

// A sweep is looked through before its jobs are counted, which takes minutes of millions of them.
constexpr std::chrono::seconds kPatienceForPlan{10};
// Its libraries are large, and may come over a network. One that is slower is not unable.
constexpr std::chrono::seconds kWorkerPatience{60};
constexpr std::chrono::milliseconds kBetweenInterrupts{100};

enum class Tried { kOneCan, kNoneCan, kInterrupted, kNotKnown };

// Until one of the workers that are tried can run, or none can.
Tried AwaitTries(std::vector<Process>& tries, const InterruptScope& interrupt) {
  const auto end = std::chrono::steady_clock::now() + kWorkerPatience;
  while (true) {
    bool running = false;
    for (Process& one : tries) {
      if (!one.WaitFor(kBetweenInterrupts)) running = true;
      else if (one.exit_code() == 0) return Tried::kOneCan;
    }
    if (!running) return Tried::kNoneCan;
    if (interrupt.count() > 0) return Tried::kInterrupted;
    if (std::chrono::steady_clock::now() >= end) return Tried::kNotKnown;
  }
}

}  // namespace

absl::StatusOr<std::vector<v1::Plan>> PlansBeforeStore(const Session& session, bool embed_by_default, const std::vector<LoadedSweep>& sweeps) {
  std::vector<v1::Plan> plans;
  if (!session.WouldMakeStore(embed_by_default)) return plans;
  Session before(session.environment(), session.settings());
  ASSIGN_OR_RETURN(Connection * connection, before.Connect(StoreUse::kExistingOrNone, embed_by_default));
  for (const LoadedSweep& one : sweeps) {
    v1::SubmitSweepRequest request = SubmissionOf(one.file);
    request.set_dry_run(true);
    const absl::StatusOr<v1::SubmitSweepResponse> planned = connection->Call(&Connection::Stub::SubmitSweep, request, kPatienceForPlan);
    if (planned.ok()) {
      plans.push_back(planned->plan());
    } else if (!absl::IsDeadlineExceeded(planned.status())) {
      const absl::Status refusal = one.file.places.WithPlace(planned.status());
      return sweeps.size() > 1 ? InPart(refusal, one) : refusal;
    }
  }
  return plans;
}

absl::StatusOr<std::optional<int>> TryWorkerBeforeStore(const Session& session, bool embed_by_default, const WorkerOptions& options,
                                                        const InterruptScope& interrupt) {
  if (!session.WouldMakeStore(embed_by_default)) return std::optional<int>();
  const std::string& named = session.settings().store;
  const std::string store = named.empty() ? kDefaultStore : named;
  std::vector<Process> tries;
  for (const WorkerOptions& one : options.OfEach()) {
    ASSIGN_OR_RETURN(Process process, TryWorker(session.environment().binaries, store, one));
    process.CloseInput();
    tries.push_back(std::move(process));
  }
  const Tried tried = AwaitTries(tries, interrupt);
  for (Process& one : tries) {
    if (one.Running()) one.Kill();
  }
  if (tried == Tried::kInterrupted) return std::optional<int>(interrupt.exit_code());
  if (tried != Tried::kNoneCan) return std::optional<int>();
  const std::string refusal = fmt::format("the worker cannot run: {}", LastWords(tries.front(), "longreach-worker"));
  const std::string hint = "nothing was submitted, and no store was made; 'longreach-worker run --help' says what a worker can be told";
  // An option that none takes is as wrong here as it is there.
  if (std::ranges::all_of(tries, [](const Process& one) { return one.exit_code() == kUsage; })) return UsageError(refusal, hint);
  return Error(absl::StatusCode::kFailedPrecondition, refusal, hint + ", and 'longreach doctor' what this machine lacks");
}

}  // namespace longreach::client
