// The agent's dealings with its trainer child.
#include <fmt/format.h>

#include <iterator>
#include <system_error>

#include "worker/agent/abilities.h"
#include "worker/agent/agent.h"
#include "worker/agent/files.h"
#include "worker/agent/log.h"

namespace longreach::agent {
namespace {

constexpr size_t kCheckpointsOnDisk = 2;
constexpr size_t kLogTailBytes = 64 << 10;

std::chrono::steady_clock::duration Seconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

void Agent::StartTrainer() {
  absl::StatusOr<std::unique_ptr<TrainerProcess>> trainer = TrainerProcess::Start(
      io_,
      {.binary = options_.binary, .cuda = options_.cuda, .cuda_plugin = options_.cuda_plugin, .log = state_.trainer_log()},
      {.on_message = [this](const v1::FromTrainer& message) { OnTrainerMessage(message); },
       .on_exit = [this](const std::string& how) { OnTrainerExit(how); }});
  if (!trainer.ok()) return OnTrainerUnusable(std::string(trainer.status().message()));
  trainer_ = *std::move(trainer);
}

void Agent::RestartTrainer() {
  trainer_.reset();
  trainer_ready_ = false;
  StartTrainer();
}

void Agent::OnTrainerReady(const v1::TrainerReady& ready) {
  if (!ready.error().empty()) return OnTrainerUnusable(ready.error());
  abilities_ = AbilitiesOf(ready, options_.name, options_.threads, options_.pack_limit);
  trainer_ready_ = true;
  restart_backoff_.Reset();
  if (!std::exchange(ever_ready_, true)) {
    LogInfo(fmt::format("worker {} ({}) on {}, {} thread(s), scheduler {}", options_.name, state_.worker().substr(0, 8),
                        abilities_.device(), abilities_.threads(), options_.scheduler));
  }
  TryStart();
  synchronizer_.News();
}

// At the first start that is the end, because whoever started this worker can do something about it. Later it may be
// passing (no memory, a GPU that is reset).
void Agent::OnTrainerUnusable(const std::string& why) {
  trainer_.reset();
  trainer_ready_ = false;
  if (!ever_ready_) return End(absl::FailedPreconditionError(why));
  const std::chrono::duration<double> wait = restart_backoff_.Next();
  LogWarning(fmt::format("the trainer does not start: {}; trying again", why));
  restart_timer_.expires_after(Seconds(wait.count()));
  restart_timer_.async_wait([this](boost::system::error_code error) {
    if (!error && !ended_already_) StartTrainer();
  });
}

void Agent::OnTrainerMessage(const v1::FromTrainer& message) {
  if (message.has_ready()) return OnTrainerReady(message.ready());
  const auto found = attempts_.find(training_);
  if (training_ == 0 || found == attempts_.end()) return;
  const AttemptPtr attempt = found->second;
  switch (message.message_case()) {
    case v1::FromTrainer::kProgress: {
      const v1::PackProgress& progress = message.progress();
      hang_.Alive(progress.usual_s());
      attempt->step = progress.step();
      attempt->steps_per_second = progress.steps_per_second();
      attempt->phase = progress.phase();
      attempt->points.insert(attempt->points.end(), progress.points().begin(), progress.points().end());
      break;
    }
    case v1::FromTrainer::kCheckpoint:
      OnCheckpointWritten(attempt, message.checkpoint());
      break;
    case v1::FromTrainer::kFinished:
      EndTraining();
      OnFinished(attempt, message.finished());
      break;
    case v1::FromTrainer::kFailed:
      EndTraining();
      if (message.failed().child_ends()) RestartTrainer();  // Before it can be given, and lose, another attempt.
      Fail(attempt, message.failed().detail());
      break;
    default:
      break;
  }
}

void Agent::OnTrainerExit(const std::string& how) {
  const AttemptPtr attempt = EndTraining();
  if (!trainer_ready_) {
    const std::string last = LastLine(ReadTail(state_.trainer_log(), kLogTailBytes));
    return OnTrainerUnusable(fmt::format("{}{}{}", how, last.empty() ? "" : ": ", last));
  }
  if (attempt != nullptr) {
    const std::string last = LastLine(ReadTail(attempt->folder / "log", kLogTailBytes));
    Fail(attempt, fmt::format("crashed: trainer {}{}{}", how, last.empty() ? "" : "; the log ends with: ", last));
  }
  RestartTrainer();
}

// Gives the trainer the attempt that waits for it, if it is free.
void Agent::TryStart() {
  if (training_ != 0 || !trainer_ready_ || ended_already_) return;
  for (const auto& [number, attempt] : attempts_) {
    if (attempt->stage != Attempt::Stage::kReady) continue;
    v1::ToTrainer message;
    *message.mutable_start() = WithoutDropped(attempt->start, attempt->dropped);
    v1::StartPack& start = *message.mutable_start();
    if (start.members().empty()) continue;  // The scheduler will drop it.
    start.set_log((attempt->folder / "log").string());
    start.set_threads(options_.threads);
    start.set_cuda(options_.cuda);
    start.set_checkpoint_every_s(options_.checkpoint_every_s);
    start.set_data_folder(options_.data_folder.string());
    for (const v1::PackMember& member : start.members()) attempt->members.push_back(member.job());
    attempt->stage = Attempt::Stage::kTraining;
    training_ = number;
    trainer_->Send(message);
    hang_.Start();
    watched_at_ = std::chrono::steady_clock::now();
    WatchTrainer();
    return;
  }
}

// Whatever was being trained is not in the trainer any more.
Agent::AttemptPtr Agent::EndTraining() {
  const auto found = attempts_.find(std::exchange(training_, 0));
  hang_timer_.cancel();
  return found == attempts_.end() ? nullptr : found->second;
}

void Agent::WatchTrainer() {
  hang_timer_.expires_after(Seconds(hang_.period_s()));
  hang_timer_.async_wait([this, watched = training_](boost::system::error_code error) {
    if (error || training_ != watched || ended_already_) return;
    const auto now = std::chrono::steady_clock::now();
    hang_.Watched(std::chrono::duration<double>(now - std::exchange(watched_at_, now)).count());
    if (!hang_.hung()) return WatchTrainer();
    const AttemptPtr attempt = EndTraining();
    RestartTrainer();
    if (attempt == nullptr) return;
    Fail(attempt, fmt::format("hung: no sign of life for {:.0f} s (limit {:.0f} s) while {} at step {}", hang_.silent_s(),
                              hang_.limit_s(), attempt->phase, attempt->step));
  });
}

void Agent::OnCheckpointWritten(const AttemptPtr& attempt, const v1::CheckpointWritten& written) {
  hang_.Alive();
  attempt->checkpoints.push_back({written.path(), written.step()});
  while (attempt->checkpoints.size() > kCheckpointsOnDisk) {
    const std::filesystem::path oldest = attempt->checkpoints.front().file;
    attempt->checkpoints.pop_front();
    // One that is being uploaded is removed after that; one that was written again is the newest.
    if (attempt->uploading == oldest || oldest == written.path()) continue;
    std::error_code ignored;
    std::filesystem::remove(oldest, ignored);
  }
  if (!attempt->stopping) BeginCheckpointUpload(attempt);  // The last one is handed in with the report.
}

void Agent::OnFinished(const AttemptPtr& attempt, const v1::PackFinished& finished) {
  attempt->step = finished.step();
  attempt->report.set_engine(finished.engine());
  std::vector<FileToHandIn> files;
  if (finished.stopped()) {
    attempt->report.set_outcome(v1::AttemptReport::OUTCOME_GIVEN_BACK);
    if (!attempt->checkpoints.empty()) {
      files.push_back({"checkpoint", attempt->checkpoints.back().step, attempt->checkpoints.back().file});
    }
  } else {
    attempt->report.set_outcome(v1::AttemptReport::OUTCOME_SUCCEEDED);
    *attempt->report.mutable_results() = finished.results();
    if (!finished.weights().empty()) files.push_back({"weights", finished.step(), finished.weights()});
    for (const v1::SeriesFile& series : finished.series()) files.push_back({"series", finished.step(), series.path(), series.job()});
  }
  BeginHandIn(attempt, std::move(files));
  TryStart();
  synchronizer_.News();  // There is room for the next one.
}

void Agent::Fail(const AttemptPtr& attempt, const std::string& detail) {
  attempt->report.Clear();
  attempt->report.set_outcome(v1::AttemptReport::OUTCOME_FAILED);
  attempt->report.set_detail(detail);
  BeginHandIn(attempt, {});
  synchronizer_.News();
}

}  // namespace longreach::agent
