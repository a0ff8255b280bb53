#include "worker/agent/attempt.h"

#include <algorithm>

#include "worker/agent/log_part.h"

namespace longreach::agent {

void TakeProgress(const v1::PackProgress& progress, Attempt& attempt) {
  attempt.step = progress.step();
  attempt.steps_per_second = progress.steps_per_second();
  attempt.phase = ParseAttemptPhase(progress.phase()).value_or(attempt.phase);
  attempt.points.insert(attempt.points.end(), progress.points().begin(), progress.points().end());
  // The first thing that it says of a phase behind that is where it begins.
  if (attempt.began || attempt.phase == AttemptPhase::kStarting) return;
  attempt.began = true;
  if (!attempt.lease.jobs().empty() && attempt.step < attempt.lease.jobs(0).checkpoint().step()) attempt.began_at = attempt.step;
}

void NoteTold(const v1::HeldAttempt& told, Attempt& attempt) {
  if (attempt.began_at == told.step() && told.phase() == Word(AttemptPhase::kTraining)) attempt.began_at.reset();
}

v1::ToTrainer DropOf(const Attempt& attempt) {
  v1::ToTrainer message;
  message.mutable_drop()->set_attempt(attempt.number());
  message.mutable_drop()->mutable_jobs()->Assign(attempt.dropped.begin(), attempt.dropped.end());
  return message;
}

v1::HeldAttempt HeldOf(const Attempt& attempt, size_t most_points) {
  v1::HeldAttempt held;
  held.set_attempt(attempt.number());
  held.set_step(attempt.step);
  held.set_steps_per_second(attempt.steps_per_second);
  held.set_phase(std::string(Word(attempt.stage == Attempt::Stage::kHandingIn ? AttemptPhase::kUploading : attempt.phase)));
  if (attempt.began_at) {
    held.set_step(*attempt.began_at);
    held.set_phase(std::string(Word(AttemptPhase::kTraining)));
  }
  const size_t count = std::min({attempt.points.size(), most_points, kPointsPerCall});
  for (size_t i = 0; i < count; ++i) *held.add_points() = attempt.points[i];
  if (attempt.log) *held.mutable_log() = attempt.log->part ? *attempt.log->part : LogNotReadYet();
  return held;
}

v1::StartPack WithoutDropped(v1::StartPack start, const std::set<std::string>& dropped) {
  auto& members = *start.mutable_members();
  members.erase(std::remove_if(members.begin(), members.end(),
                               [&](const v1::PackMember& member) { return dropped.contains(member.job()); }),
                members.end());
  return start;
}

v1::StartPack GoingOn(const Attempt& attempt) {
  v1::StartPack start = attempt.start;
  for (int i = 0; i < start.members_size(); ++i) {
    v1::PackMember& member = *start.mutable_members(i);
    const v1::PackMember leased = member;
    member.clear_checkpoints();
    for (auto own = attempt.checkpoints.rbegin(); own != attempt.checkpoints.rend(); ++own) {
      v1::MemberPath& path = *member.add_checkpoints();
      path.set_path(own->file.string());
      path.set_member(i);
    }
    member.mutable_checkpoints()->MergeFrom(leased.checkpoints());
  }
  return start;
}

v1::AttemptReport Completed(const Attempt& attempt) {
  v1::AttemptReport report = attempt.report;
  report.set_attempt(attempt.number());
  report.clear_points();
  for (const v1::ProgressPoint& point : attempt.points) {
    if (static_cast<size_t>(report.points_size()) == kPointsPerCall) break;
    if (!attempt.dropped.contains(point.job())) *report.add_points() = point;
  }
  auto& results = *report.mutable_results();
  results.erase(std::remove_if(results.begin(), results.end(),
                               [&](const v1::MemberResult& result) { return attempt.dropped.contains(result.job()); }),
                results.end());
  return report;
}

}  // namespace longreach::agent
