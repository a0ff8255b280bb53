// Of the reference model (model.h): jobs of a sweep that are cancelled or retried alone.
#include <algorithm>

#include "tests/simulation/model.h"

namespace longreach::simulation {

std::span<const int> Model::Part(int sweep, int from, int slice) const {
  const std::span<const int> there = There(sweep);
  const size_t begin = std::min(there.size(), static_cast<size_t>(from));
  return there.subspan(begin, std::min(there.size() - begin, static_cast<size_t>(slice)));
}

bool Model::IsMember(int sweep, int job) const {
  const std::vector<int>& members = universe_->sweeps[static_cast<size_t>(sweep)].members;
  return std::ranges::find(members, job) != members.end();
}

// Something that the sweep goes on with, or may try again, needs it.
bool Model::IsNeeded(int sweep, int source) const {
  return std::ranges::any_of(Spec(source).dependants, [&](int job) { return Claims(sweep, job) && At(job).state != JobState::kSucceeded; });
}

// What needs them goes with them, and then what nothing needs any more. How many of these the sweep waited for.
int Model::GiveUp(int sweep, const std::vector<int>& jobs) {
  std::set<int>& given_up = sweeps_[static_cast<size_t>(sweep)].given_up;
  std::vector<int> gone;
  const auto give_up = [&](int job) {
    if (!Claims(sweep, job) || At(job).state == JobState::kSucceeded) return;
    given_up.insert(job);
    gone.push_back(job);
  };
  for (const int job : jobs) give_up(job);
  for (size_t i = 0; i < gone.size(); ++i) {
    for (const int job : Spec(gone[i]).dependants) give_up(job);
  }
  for (size_t i = 0; i < gone.size(); ++i) {
    for (const int source : Spec(gone[i]).sources) {
      if (!IsMember(sweep, source) && !IsNeeded(sweep, source)) give_up(source);
    }
  }
  return static_cast<int>(std::ranges::count_if(gone, [this](int job) { return At(job).state != JobState::kFailed; }));
}

// With all that they need, however far away, unless it is there. How many of these had failed or were given up.
int Model::TryAgain(int sweep, const std::vector<int>& jobs) {
  std::set<int> needed(jobs.begin(), jobs.end());
  std::vector<int> next = jobs;
  while (!next.empty()) {
    const int job = next.back();
    next.pop_back();
    if (At(job).state == JobState::kSucceeded) continue;
    for (const int source : Spec(job).sources) {
      if (needed.insert(source).second) next.push_back(source);
    }
  }
  int again = 0;
  for (const int job : needed) {
    const bool given_up = sweeps_[static_cast<size_t>(sweep)].given_up.erase(job) > 0;
    if (At(job).state == JobState::kSucceeded) continue;
    const bool failed = At(job).state == JobState::kFailed;
    again += static_cast<int>(given_up || failed);
    if (!failed) continue;
    At(job).failures = At(job).losses = 0;
    // As the pack that made what it goes on from.
    At(job).apart = At(job).checkpoint > 0 ? -At(job).checkpoint_by : 0;
    At(job).state = InputsThere(job) ? JobState::kQueued : JobState::kWaiting;
  }
  return again;
}

absl::Status Model::CanSteerJobs(const Steering& steering) const {
  if (sweeps_[static_cast<size_t>(steering.sweep)].state == SweepState::kCancelled) return absl::FailedPreconditionError("cancelled");
  if (steering.cancels && ToCome(steering.sweep) > 0) return absl::FailedPreconditionError("some may be meant that are to come");
  return absl::OkStatus();
}

absl::Status Model::SteerJobs(Steering& steering, int slice) {
  if (sweeps_[static_cast<size_t>(steering.sweep)].state == SweepState::kAbsent) return absl::NotFoundError("no such sweep");
  RETURN_IF_ERROR(CanSteerJobs(steering));
  return AtOnce(steering.sweep, slice) ? SteerNextJobs(steering, kAllJobs) : absl::OkStatus();
}

absl::Status Model::SteerNextJobs(Steering& steering, int slice) {
  RETURN_IF_ERROR(CanSteerJobs(steering));
  const int sweep = steering.sweep;
  const std::span<const int> part = Part(sweep, steering.at, slice);
  const bool last = steering.at + static_cast<int>(part.size()) == sweeps_[static_cast<size_t>(sweep)].there;
  steering.at += static_cast<int>(part.size());
  std::vector<int> open;
  for (const int job : part) {
    if (!IsMember(sweep, job) || !steering.some.Has(Spec(job))) continue;
    const bool succeeded = At(job).state == JobState::kSucceeded;
    const bool failed = At(job).state == JobState::kFailed && Claims(sweep, job);
    ++(succeeded ? steering.succeeded : failed ? steering.failed : steering.others);
    if (!succeeded && !(failed && steering.cancels)) open.push_back(job);
  }
  const int meant = steering.others + (steering.cancels ? 0 : steering.failed);
  if (last && meant == 0 && ToCome(sweep) > 0) return absl::FailedPreconditionError("some may be meant that are to come");
  if (last && steering.succeeded + steering.failed + steering.others == 0) return absl::InvalidArgumentError("no job of the sweep is so");
  if (last && meant == 0) return absl::FailedPreconditionError("all have come to their end");
  steering.steered += steering.cancels ? GiveUp(sweep, open) : TryAgain(sweep, open);
  FollowNow(sweep, part);
  return absl::OkStatus();
}

}  // namespace longreach::simulation
