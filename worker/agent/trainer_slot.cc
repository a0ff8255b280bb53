#include "worker/agent/trainer_slot.h"

#include <fmt/format.h>

#include <utility>

#include "worker/agent/files.h"
#include "worker/agent/log.h"

namespace longreach::agent {
namespace {

// What others of a process are told where one has found that the GPU does nothing more for it.
constexpr char kGpuFailed[] = "was ended, as the GPU had failed";

std::string NoSignOfLife(const Attempt& attempt) { return fmt::format("was ended, as attempt {} gave no sign of life", attempt.number()); }

std::string Interrupted(const std::string& how) { return fmt::format("interrupted with the other packs of its process: {}", how); }

std::chrono::steady_clock::duration Seconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

TrainerSlot::TrainerSlot(boost::asio::io_context& io, Options options, Handlers handlers)
    : options_(std::move(options)),
      handlers_(std::move(handlers)),
      restart_timer_(io),
      hang_(options_.hang_floor_s),
      hang_timer_(io) {}

void TrainerSlot::Start() {
  state_ = State::kStarting;
  StartChild();
}

void TrainerSlot::StartChild() {
  absl::StatusOr<std::unique_ptr<Trainer>> child =
      options_.trainers->Open(options_.number, options_.log,
                              {.on_message = [this](const v1::FromTrainer& message) { OnMessage(message); },
                               .on_ending =
                                   [this] {
                                     if (options_.trainers->share()) handlers_.on_shared_end();
                                     ending_ = true;
                                     if (state_ == State::kIdle) state_ = State::kEnding;
                                   },
                               .on_exit = [this](const Trainer::Exit& exit) { OnExit(exit); }});
  if (!child.ok()) return OnUnusable(std::string(child.status().message()));
  child_ = *std::move(child);
  ending_ = false;
  BeginWatch();
}

void TrainerSlot::Restart(const std::string& why, Trainer::Blame blame) {
  TakeOut();
  EndWatch();
  abandoned_ = nullptr;
  state_ = State::kEnding;
  child_->Kill(why, blame, [this] {
    child_.reset();
    Start();
  });
}

void TrainerSlot::Abandon() {
  if (!options_.trainers->share()) return Restart("abandoned");
  v1::ToTrainer message;
  message.mutable_stop()->set_attempt(attempt_->number());
  message.mutable_stop()->set_abandon(true);
  Tell(message);
  abandoned_ = TakeOut();
  state_ = State::kAbandoning;
  BeginWatch();
}

void TrainerSlot::OnAbandoned(bool child_ends) {
  EndWatch();
  const AttemptPtr attempt = std::exchange(abandoned_, nullptr);
  if (child_ends) return Restart(kGpuFailed, Trainer::Blame::kNobody);
  state_ = ending_ ? State::kEnding : State::kIdle;
  handlers_.on_free(attempt);
}

void TrainerSlot::Close() {
  TakeOut();
  abandoned_ = nullptr;
  awaited_ = false;
  restart_timer_.cancel();
  child_.reset();
  state_ = State::kClosed;
}

void TrainerSlot::Measure(const v1::MeasurePacks& what) {
  v1::ToTrainer message;
  *message.mutable_measure() = what;
  state_ = State::kMeasuring;
  child_->Send(message);
  BeginWatch();
}

void TrainerSlot::Train(AttemptPtr attempt, const v1::StartPack& start) {
  v1::ToTrainer message;
  *message.mutable_start() = start;
  attempt_ = std::move(attempt);
  attempt_->stage = Attempt::Stage::kTraining;
  state_ = State::kTraining;
  child_->Send(message);
  threads_ = 0;
  BeginWatch();
}

void TrainerSlot::UseThreads(int threads) {
  if (std::exchange(threads_, threads) == threads) return;
  v1::ToTrainer message;
  message.mutable_use_threads()->set_attempt(attempt_->number());
  message.mutable_use_threads()->set_threads(threads);
  Tell(message);
}

void TrainerSlot::Tell(const v1::ToTrainer& message) { child_->Send(message); }

// Whatever was being trained is not in the child any more.
TrainerSlot::AttemptPtr TrainerSlot::TakeOut() {
  hang_timer_.cancel();
  if (state_ == State::kTraining) state_ = ending_ ? State::kEnding : State::kIdle;
  return std::exchange(attempt_, nullptr);
}

void TrainerSlot::OnMessage(const v1::FromTrainer& message) {
  if (message.has_ready()) {
    if (!message.ready().error().empty()) return OnUnusable(message.ready().error());
    EndWatch();
    backoff_.Reset();
    if (ending_) {  // OnExit() follows.
      state_ = State::kEnding;
      return;
    }
    state_ = State::kIdle;
    return handlers_.on_ready(message.ready());
  }
  if (message.has_measured()) {
    if (!message.measured().error().empty()) return OnUnusable(message.measured().error());
    EndWatch();
    state_ = ending_ ? State::kEnding : State::kIdle;
    return handlers_.on_measured(message.measured());
  }
  if (state_ == State::kAbandoning) {
    if (message.has_progress()) hang_.Alive(message.progress().usual_s());
    if (message.has_finished() || message.has_failed()) OnAbandoned(message.failed().child_ends());
    return;
  }
  if (attempt_ == nullptr) return;
  switch (message.message_case()) {
    case v1::FromTrainer::kProgress:
      OnProgress(message.progress());
      break;
    case v1::FromTrainer::kCheckpoint: {
      const AttemptPtr attempt = attempt_;  // The handler may have it taken out.
      hang_.Alive();
      handlers_.on_checkpoint(attempt, message.checkpoint());
      break;
    }
    case v1::FromTrainer::kFinished:
      handlers_.on_finished(TakeOut(), message.finished());
      break;
    case v1::FromTrainer::kFailed: {
      // The first to find that the GPU has failed need not be the one that it failed for.
      const bool of_anyone = message.failed().child_ends() && options_.trainers->share();
      if (of_anyone) handlers_.on_shared_end();
      const AttemptPtr attempt = TakeOut();
      // Before it can be given, and lose, another attempt.
      if (message.failed().child_ends()) Restart(of_anyone ? kGpuFailed : "", Trainer::Blame::kNobody);
      (of_anyone ? handlers_.on_suspected : handlers_.on_failed)(attempt, message.failed().detail());
      break;
    }
    default:
      break;
  }
}

void TrainerSlot::OnProgress(const v1::PackProgress& progress) {
  hang_.Alive(progress.usual_s());
  TakeProgress(progress, *attempt_);
}

void TrainerSlot::OnExit(const Trainer::Exit& exit) {
  const std::string& how = exit.how;
  if (state_ == State::kStarting && exit.of_another) return Restart(how);
  if (state_ == State::kStarting || state_ == State::kBroken || state_ == State::kMeasuring) {
    return OnUnusable(fmt::format("{}{}{}", how, exit.last_line.empty() ? "" : ": ", exit.last_line));
  }
  const AttemptPtr attempt = TakeOut();
  Restart(how);
  if (attempt == nullptr) return;
  if (exit.of_another) return handlers_.on_interrupted(attempt, Interrupted(how));
  if (exit.bus_error) handlers_.on_bus_error(attempt);
  const std::string last = LastLineOf(attempt->folder / "log");
  // Where several share a process, what it has printed is in its own log.
  const std::string printed = options_.trainers->share() ? exit.last_line : "";
  (exit.of_anyone ? handlers_.on_suspected : handlers_.on_failed)(
      attempt, fmt::format("crashed: trainer {}{}{}{}{}", how, last.empty() ? "" : "; the log ends with: ", last,
                           printed.empty() ? "" : "; the process has printed: ", printed));
}

void TrainerSlot::OnUnusable(const std::string& why) {
  EndWatch();
  state_ = State::kBroken;
  handlers_.on_unusable(why);
  if (state_ != State::kBroken) return;
  LogWarning(fmt::format("{} does not start: {}; trying again", options_.name, why));
  if (child_ == nullptr) return TryAgain();
  // As in Restart(): another one is not begun beside it.
  child_->Kill(why, Trainer::Blame::kThisOne, [this] {
    child_.reset();
    if (state_ == State::kBroken) TryAgain();
  });
}

void TrainerSlot::TryAgain() {
  restart_timer_.expires_after(Seconds(backoff_.Next().count()));
  restart_timer_.async_wait([this](boost::system::error_code error) {
    if (!error && state_ == State::kBroken) StartChild();
  });
}

// Of the child while it starts and while it measures, then of each attempt in it.
void TrainerSlot::BeginWatch() {
  awaited_ = attempt_ == nullptr;
  hang_.Start();
  watched_at_ = std::chrono::steady_clock::now();
  WatchForHangs();
}

// Of the child without an attempt.
void TrainerSlot::EndWatch() {
  hang_timer_.cancel();
  awaited_ = false;
}

void TrainerSlot::WatchForHangs() {
  hang_timer_.expires_after(Seconds(hang_.period_s()));
  hang_timer_.async_wait([this, watched = attempt_](boost::system::error_code error) {
    if (error || attempt_ != watched || (watched == nullptr && !awaited_)) return;
    const auto now = std::chrono::steady_clock::now();
    hang_.Watched(std::chrono::duration<double>(now - std::exchange(watched_at_, now)).count());
    if (!hang_.hung()) return WatchForHangs();
    OnHung(watched);
  });
}

void TrainerSlot::OnHung(const AttemptPtr& attempt) {
  const std::string how = fmt::format("hung: no sign of life for {:.0f} s (limit {:.0f} s) while ", hang_.silent_s(), hang_.limit_s());
  if (state_ == State::kAbandoning) return Restart(NoSignOfLife(*abandoned_));
  if (attempt == nullptr) return OnUnusable(how + (state_ == State::kMeasuring ? "measuring" : "starting"));
  if (child_->OfAnother()) {  // The process is dying, and is long about it.
    Restart("");
    return handlers_.on_interrupted(attempt, Interrupted("does not end"));
  }
  // Where all are silent, what makes them wait is on the GPU, and may be any one's.
  const bool of_anyone = options_.trainers->share() && handlers_.others_are_silent();
  if (of_anyone) handlers_.on_shared_end();
  Restart(NoSignOfLife(*attempt), of_anyone ? Trainer::Blame::kNobody : Trainer::Blame::kThisOne);
  (of_anyone ? handlers_.on_suspected : handlers_.on_failed)(attempt, fmt::format("{}{} at step {}", how, Word(attempt->phase), attempt->step));
}

}  // namespace longreach::agent
