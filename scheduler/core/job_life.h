// The life of one job, as pure functions: the state before and what happened in, the state after out.
//
//   Waiting --MakeReady--> Queued --Grant--> Leased --Succeed--> Succeeded
//   Leased --Fail, Lose, GiveBack--> Queued     Leased --Fail, Lose, none left; Refuse--> Failed
//   Waiting, Queued --FailInput--> Failed       Failed --Retry--> Queued or Waiting
//   Waiting, Queued, Leased --Cancel--> Cancelled --Revive--> Queued or Waiting
//
// All return FAILED_PRECONDITION when the state does not admit the event, but for what an attempt reports: there
// ABORTED says that the attempt does not hold the job's lease (any more).
#pragma once

#include <string>

#include "proto/base/status.h"
#include "proto/types/job.h"

namespace longreach::core {

// Failures of its own (crash, out of memory, hang, refusal) after which a job fails.
inline constexpr int kMaxFailures = 3;
// Lost workers and expired leases after which it fails.
inline constexpr int kMaxLosses = 10;

// A job and its counters. `reason`: why its last attempt did not succeed; empty when there was none such.
struct Life {
  JobState state = Queued{};
  int failures = 0;
  int losses = 0;
  std::string reason = {};
  bool operator==(const Life&) const = default;
};

absl::StatusOr<Life> MakeReady(const Life& before);
// `reason` says which input and why: "input failed: weights (job 1a2b3c4d)".
absl::StatusOr<Life> FailInput(const Life& before, std::string reason);

absl::StatusOr<Life> Grant(const Life& before, Attempt attempt, WorkerId holder);

// Closes a job whose attempt reports success. Repeating the report is OK and changes nothing: workers retry when a
// reply is lost. ABORTED if the job was leased again meanwhile: two results for one job would weigh it twice.
absl::StatusOr<Life> Succeed(const Life& before, Attempt attempt);

// The attempt failed. Counts only when the job was `alone` in its pack: of several, nobody knows the culprit.
absl::StatusOr<Life> Fail(const Life& before, Attempt attempt, bool alone, std::string reason);

// The attempt failed, as any other would: the job fails at once.
absl::StatusOr<Life> Refuse(const Life& before, Attempt attempt, std::string reason);

// The attempt's worker is gone or was silent for too long.
absl::StatusOr<Life> Lose(const Life& before, Attempt attempt, std::string reason);

// The attempt was stopped on purpose. Counts nothing, and the reason of an earlier failure stays.
absl::StatusOr<Life> GiveBack(const Life& before, Attempt attempt);

// The rules of the next three as one job sees them. The scheduler has them for sets of jobs, in SQL (store/settling.cc); the simulation
// (tests/simulation) holds both to one model.

// OK and no change for a cancelled job. A failed job stays failed: it needs no cancelling.
absl::StatusOr<Life> Cancel(const Life& before);
// A cancelled job is wanted again. Its counters stay.
absl::StatusOr<Life> Revive(const Life& before, bool inputs_there);
// A failed job gets another chance, with fresh counters.
absl::StatusOr<Life> Retry(const Life& before, bool inputs_there);

}  // namespace longreach::core
