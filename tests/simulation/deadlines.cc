#include "tests/simulation/deadlines.h"

#include <vector>

#include <fmt/format.h>

#include "tests/simulation/op.h"
#include "tests/simulation/scheduler.h"

namespace longreach::simulation {
namespace {

// A worker whose call broke off has this long to come back.
constexpr Duration kComeBackWithin = seconds(1);
// A scheduler that stood still gives each lease a second term; and a full disk may delay the end.
constexpr Duration kLongestTerm = 2 * kLeaseTerm + seconds(5);

}  // namespace

void Deadlines::Restart(const Model& model) {
  renewed_.clear();
  newest_.clear();
  for (const auto& [id, attempt] : model.running()) renewed_[id] = world_.now();
}

void Deadlines::Renew(const v1::SynchronizeRequest& request, const Model& model) {
  newest_[request.worker()] = {.incarnation = request.incarnation(), .sequence = request.sequence()};
  for (const auto& [id, attempt] : model.running()) {
    if (attempt.worker == request.worker()) renewed_[id] = world_.now();
  }
}

void Deadlines::BreakOff(const v1::SynchronizeRequest& request) {
  Newest& newest = newest_[request.worker()];
  if (newest.incarnation == request.incarnation() && newest.sequence == request.sequence() && !newest.broke_at) newest.broke_at = world_.now();
}

void Deadlines::Begin(const Model& before, const Model& after) {
  for (const auto& [id, attempt] : after.running()) {
    if (!before.running().contains(id)) renewed_[id] = world_.now();
  }
}

void Deadlines::Follow(sql::Connection& db, SteadyTime now, Model& model) const {
  // Which leases are over is the engine's to say.
  std::vector<int64_t> lost;
  for (const auto& [id, attempt] : model.running()) {
    const absl::StatusOr<int> is_lost = db.One<int>("SELECT outcome IS 'lost' FROM attempts WHERE id = ?", id);
    if (is_lost.value_or(0) != 0) lost.push_back(id);
    CheckLease(id, attempt, is_lost.value_or(0) != 0, now);
  }
  model.Expire(lost);
  // So is when it goes on with a sweep whose submission broke off; not how.
  for (size_t sweep = 0; sweep < universe_.sweeps.size(); ++sweep) {
    const absl::StatusOr<int> to_come =
        db.One<int>("SELECT ifnull(sum(jobs_to_come), 0) FROM sweeps WHERE id = ?", universe_.sweeps[sweep].id);
    const int before = model.ToCome(static_cast<int>(sweep));
    if (model.sweeps()[sweep].state == Model::SweepState::kAbsent || to_come.value_or(before) == before) continue;
    world_.Count("jobs came after their submission broke off");
    model.AddJobs(static_cast<int>(sweep), kJobsInSlice);
  }
  for (size_t sweep = 0; sweep < universe_.sweeps.size(); ++sweep) {
    const std::optional<int> before = model.sweeps()[sweep].unsettled;
    const absl::StatusOr<int> unsettled =
        db.One<int>("SELECT ifnull(sum(unsettled_from), -1) FROM sweeps WHERE id = ?", universe_.sweeps[sweep].id);
    if (!before || unsettled.value_or(*before) == *before) continue;
    world_.Count("jobs followed after a steering broke off");
    model.FollowNext(static_cast<int>(sweep), kSettledInSlice);
  }
}

void Deadlines::CheckLease(int64_t id, const Model::Attempt& attempt, bool lost, SteadyTime now) const {
  const auto renewed = renewed_.find(id);
  if (renewed == renewed_.end()) return;  // Given in this very group.
  const Duration silent = now - renewed->second;
  if (!lost) {
    if (silent > kLongestTerm) world_.Violation(fmt::format("attempt {} is leased after {} s of silence", id, silent / seconds(1)));
    return;
  }
  if (silent >= kLeaseTerm) return world_.Count("refusal: lease ran out");
  const auto newest = newest_.find(attempt.worker);
  const bool broke_off = newest != newest_.end() && newest->second.broke_at && now - *newest->second.broke_at >= kComeBackWithin;
  if (broke_off) return world_.Count("refusal: lease ended with a broken call");
  world_.Violation(fmt::format("the lease of attempt {} was ended after {} ms", id, silent / milliseconds(1)));
}

}  // namespace longreach::simulation
