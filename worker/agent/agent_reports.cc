// The agent's own disk: what has ended is kept there until the scheduler has it, and what nobody needs any more is removed.
#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "proto/base/utf8.h"
#include "proto/types/wire_limits.h"
#include "worker/agent/agent.h"
#include "worker/agent/finished.h"
#include "worker/agent/left_checkpoint.h"
#include "worker/agent/log.h"

namespace longreach::agent {
namespace {

std::string_view NameOf(v1::AttemptReport::Outcome outcome) {
  switch (outcome) {
    case v1::AttemptReport::OUTCOME_SUCCEEDED: return "succeeded";
    case v1::AttemptReport::OUTCOME_FAILED: return "failed";
    case v1::AttemptReport::OUTCOME_GIVEN_BACK: return "given back";
    default: return "ended";
  }
}

// What the scheduler is told of an attempt whose files it has.
v1::AttemptReport ReportOf(const Attempt& attempt) {
  v1::AttemptReport report = Completed(attempt);
  report.set_detail(ValidUtf8(report.detail()));
  const size_t bytes = report.ByteSizeLong();
  if (bytes <= kMaxReportBytes) return report;
  report.Clear();
  report.set_attempt(attempt.number());
  report.set_outcome(v1::AttemptReport::OUTCOME_FAILED);
  report.set_detail(fmt::format("its report has {} bytes, and a call carries {}: run the worker with a smaller --pack-limit", bytes, kMaxReportBytes));
  return report;
}

}  // namespace

// A stopped attempt, too: its newest checkpoint may be hours ahead of the scheduler's, when that was away.
void Agent::KeepAndHandIn(const AttemptPtr& attempt) {
  attempt->stage = Attempt::Stage::kHandingIn;
  attempt->checkpoint_upload.request_stop();
  if (attempt->files.empty()) return BeginHandIn(attempt);
  Keep(attempt, [this, attempt] { BeginHandIn(attempt); });
}

void Agent::Keep(const AttemptPtr& attempt, std::function<void()> then) {
  OnDisk([this, folder = attempt->folder, kept = FinishedOf(*attempt)] { return WithRoom([&] { return KeepFinished(folder, kept); }); },
         [this, attempt, then = std::move(then)](const absl::Status& kept) {
           if (!Holds(attempt) || ended_already_) return;
           attempt->kept = attempt->kept || kept.ok();
           if (!attempt->kept) LogWarning(fmt::format("attempt {}: its results are in memory only: {}", attempt->number(), std::string(kept.message())));
           then();
         });
}

void Agent::KeepWhatFoundNoRoom() {
  for (const auto& [number, attempt] : attempts_) {
    if (attempt->stage == Attempt::Stage::kHandingIn && !attempt->kept && !attempt->files.empty()) Keep(attempt, [] {});
  }
  const std::set<uint64_t> reports = in_memory_;
  for (const uint64_t attempt : reports) {
    const v1::AttemptReport report = outbox_.reports().at(attempt);
    WriteReport(report);
  }
}

// What an earlier process had finished and not handed in, and what one that was killed had come to. If its lease is gone, the scheduler says so.
void Agent::TakeUpFinished() {
  for (const std::filesystem::path& folder : RemoveUnfinished(state_.attempts())) {
    absl::StatusOr<AttemptPtr> attempt = ReadFinished(folder);
    if (!attempt.ok() && attempt.status().code() != absl::StatusCode::kNotFound) LogWarning(std::string(attempt.status().message()));
    if (!attempt.ok()) attempt = ReadLost(folder);
    if (!attempt.ok() || outbox_.reports().contains((*attempt)->number())) {
      std::error_code ignored;
      std::filesystem::remove_all(folder, ignored);
      continue;
    }
    const bool lost = (*attempt)->lost;
    LogInfo(fmt::format("attempt {}: {}", (*attempt)->number(), lost ? "its worker was killed, looking for its newest checkpoint" : "finished before, handing it in"));
    attempts_[(*attempt)->number()] = *attempt;
    if (lost) HandInLeft(*attempt);
    else BeginHandIn(*attempt);
  }
}

// It is held until the scheduler has the checkpoint: the lease that it was written under must be there still.
void Agent::HandInLeft(const AttemptPtr& attempt) {
  InBackground([folder = attempt->folder] { return NewestWholeCheckpoint(folder); },
               [this, attempt](absl::StatusOr<LeftCheckpoint> found) {
                 if (!Holds(attempt) || ended_already_) return;
                 if (!found.ok()) return EndLost(attempt, found.status());
                 attempt->step = found->checkpoint.step;
                 attempt->members = std::move(found->jobs);
                 attempt->checkpoints.push_back(std::move(found->checkpoint));
                 HandInNewestCheckpoint(*attempt);
                 BeginHandIn(attempt);
               });
}

// Without a report: the scheduler sees that it is held no longer, and counts it as lost. Were it given back, a job that brings down every
// machine that trains it would do so without end.
void Agent::EndLost(const AttemptPtr& attempt, const absl::Status& why) {
  if (!why.ok()) LogWarning(fmt::format("attempt {}: no checkpoint is left of it: {}", attempt->number(), std::string(why.message())));
  Forget(attempt);
  synchronizer_.News();
}

bool Agent::ForgetLost() {
  if (!outbox_.reports().empty() || !std::ranges::all_of(attempts_, [](const auto& entry) { return entry.second->lost; })) return false;
  const auto held = attempts_;
  for (const auto& [number, attempt] : held) {
    LogWarning(fmt::format("attempt {}: its checkpoint goes, as the scheduler of its store is away", number));
    LetGo(attempt);
    std::error_code ignored;  // At once: the other store may have an attempt of that number.
    std::filesystem::remove_all(attempt->folder, ignored);
  }
  return true;
}

void Agent::Report(const AttemptPtr& attempt) {
  const v1::AttemptReport report = ReportOf(*attempt);
  LogInfo(fmt::format("attempt {}: {}{}{}", attempt->number(), NameOf(report.outcome()), report.detail().empty() ? "" : ": ", report.detail()));
  LetGo(attempt);
  struct Written {
    absl::Status status;
    bool left_behind = false;
  };
  OnDisk(
      [this, write = outbox_.Add(report), kept = attempt->kept, folder = attempt->folder] {
        Written written{.status = WithRoom(write)};
        // On a full disk the kept result stays: after a crash it is handed in again, and acknowledged again.
        written.left_behind = !written.status.ok() && kept;
        if (written.left_behind) return written;
        std::error_code ignored;  // The next start removes what remains.
        std::filesystem::remove_all(folder, ignored);
        if (!written.status.ok()) written.status = write();  // That has made room.
        return written;
      },
      [this, number = attempt->number()](const Written& written) { OnReportWritten(number, written.status, written.left_behind); });
  synchronizer_.News();
}

void Agent::WriteReport(const v1::AttemptReport& report) {
  OnDisk([this, write = outbox_.Add(report)] { return WithRoom(write); },
         [this, attempt = report.attempt()](const absl::Status& written) { OnReportWritten(attempt, written, false); });
}

void Agent::OnReportWritten(uint64_t attempt, const absl::Status& written, bool left_behind) {
  const bool in_memory = !written.ok() && !left_behind;
  if (in_memory && outbox_.reports().contains(attempt)) in_memory_.insert(attempt);
  else in_memory_.erase(attempt);
  const std::string_view where = in_memory && ended_already_ ? "lost with this process" : "in memory only";
  if (!written.ok()) LogWarning(fmt::format("attempt {}: its report is {}: {}", attempt, where, std::string(written.message())));
  if (!left_behind) return;
  if (outbox_.reports().contains(attempt)) left_behind_.insert(attempt);
  else RemoveFolderOf(attempt);  // It was acknowledged meanwhile.
}

void Agent::OnAcknowledged(uint64_t attempt) {
  in_memory_.erase(attempt);
  if (auto remove = outbox_.Remove(attempt)) {
    OnDisk([remove = std::move(remove)] { return remove(), true; }, [](bool) {});
  }
  if (left_behind_.erase(attempt) > 0) RemoveFolderOf(attempt);
}

bool Agent::ReportNoops(std::vector<v1::AttemptReport> reports) {
  if (reports.empty()) return false;
  const size_t count = reports.size();
  OnDisk([this, write = outbox_.AddAll(std::move(reports))] { return WithRoom(write); },
         [count](const absl::Status& written) {
           if (!written.ok()) LogWarning(fmt::format("the reports of {} no-op job(s) are in memory only: {}", count, std::string(written.message())));
         });
  LogInfo(fmt::format("{} no-op job(s) done", count));
  return true;
}

void Agent::LetGo(const AttemptPtr& attempt) {
  attempt->transfers.request_stop();
  attempt->checkpoint_upload.request_stop();
  attempts_.erase(attempt->number());
}

void Agent::Forget(const AttemptPtr& attempt) {
  LetGo(attempt);
  RemoveFolderOf(attempt->number());
}

void Agent::RemoveFolderOf(uint64_t attempt) {
  OnDisk(
      [folder = state_.attempts() / std::to_string(attempt)] {
        std::error_code ignored;  // The next start removes what remains.
        return std::filesystem::remove_all(folder, ignored);
      },
      [](std::uintmax_t) {});
}

absl::Status Agent::WithRoom(const std::function<absl::Status()>& write) const {
  absl::Status status = write();
  if (status.code() == absl::StatusCode::kResourceExhausted && cache_.MakeRoom()) status = write();
  return status;
}

}  // namespace longreach::agent
