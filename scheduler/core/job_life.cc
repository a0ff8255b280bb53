#include "scheduler/core/job_life.h"

#include <utility>

#include <fmt/format.h>

namespace longreach::core {
namespace {

absl::Status NotAdmitted(const Life& before, std::string_view event) {
  return absl::FailedPreconditionError(fmt::format("a job that is {} cannot {}", Word(before.state), event));
}

// OK when `attempt` holds the job.
absl::Status CheckHolds(const Life& before, Attempt attempt) {
  const auto* lease = std::get_if<Leased>(&before.state);
  if (lease != nullptr && lease->attempt == attempt) return absl::OkStatus();
  return absl::AbortedError(fmt::format("attempt {} does not hold the lease of this job, which is {}", attempt.value, Word(before.state)));
}

JobState ReadyOrWaiting(bool inputs_there) { return inputs_there ? JobState(Queued{}) : JobState(Waiting{}); }

}  // namespace

absl::StatusOr<Life> MakeReady(const Life& before) {
  if (!std::holds_alternative<Waiting>(before.state)) return NotAdmitted(before, "become ready");
  Life after = before;
  after.state = Queued{};
  return after;
}

absl::StatusOr<Life> FailInput(const Life& before, std::string reason) {
  if (!std::holds_alternative<Waiting>(before.state) && !std::holds_alternative<Queued>(before.state)) {
    return NotAdmitted(before, "fail for an input");
  }
  Life after = before;
  after.state = Failed{reason};
  after.reason = std::move(reason);
  return after;
}

absl::StatusOr<Life> Grant(const Life& before, Attempt attempt, WorkerId holder) {
  if (!std::holds_alternative<Queued>(before.state)) return NotAdmitted(before, "be leased");
  Life after = before;
  after.state = Leased{attempt, std::move(holder)};
  return after;
}

absl::StatusOr<Life> Succeed(const Life& before, Attempt attempt) {
  const auto* done = std::get_if<Succeeded>(&before.state);
  if (done != nullptr && done->attempt == attempt) return before;
  RETURN_IF_ERROR(CheckHolds(before, attempt));
  Life after = before;
  after.state = Succeeded{attempt};
  after.reason.clear();
  return after;
}

absl::StatusOr<Life> Fail(const Life& before, Attempt attempt, bool alone, std::string reason) {
  RETURN_IF_ERROR(CheckHolds(before, attempt));
  Life after = before;
  if (alone) ++after.failures;
  after.reason = std::move(reason);
  after.state = after.failures >= kMaxFailures ? JobState(Failed{after.reason}) : JobState(Queued{});
  return after;
}

absl::StatusOr<Life> Refuse(const Life& before, Attempt attempt, std::string reason) {
  RETURN_IF_ERROR(CheckHolds(before, attempt));
  Life after = before;
  ++after.failures;
  after.state = Failed{reason};
  after.reason = std::move(reason);
  return after;
}

absl::StatusOr<Life> Lose(const Life& before, Attempt attempt, std::string reason) {
  RETURN_IF_ERROR(CheckHolds(before, attempt));
  Life after = before;
  ++after.losses;
  after.reason = std::move(reason);
  after.state = Queued{};
  if (after.losses >= kMaxLosses) {
    after.reason = fmt::format("lost {} times; the last: {}", after.losses, after.reason);
    after.state = Failed{after.reason};
  }
  return after;
}

absl::StatusOr<Life> GiveBack(const Life& before, Attempt attempt) {
  RETURN_IF_ERROR(CheckHolds(before, attempt));
  Life after = before;
  after.state = Queued{};
  return after;
}

absl::StatusOr<Life> Cancel(const Life& before) {
  if (std::holds_alternative<Succeeded>(before.state)) return NotAdmitted(before, "be cancelled");
  if (std::holds_alternative<Failed>(before.state)) return before;
  Life after = before;
  after.state = Cancelled{};
  return after;
}

absl::StatusOr<Life> Revive(const Life& before, bool inputs_there) {
  if (!std::holds_alternative<Cancelled>(before.state)) return NotAdmitted(before, "be revived");
  Life after = before;
  after.state = ReadyOrWaiting(inputs_there);
  return after;
}

absl::StatusOr<Life> Retry(const Life& before, bool inputs_there) {
  if (!std::holds_alternative<Failed>(before.state)) return NotAdmitted(before, "be retried");
  return Life{.state = ReadyOrWaiting(inputs_there)};
}

}  // namespace longreach::core
