#include "worker/agent/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "proto/base/build_info.h"
#include "proto/base/utf8.h"
#include "proto/catalog/encoding_name.h"
#include "proto/types/refusal.h"
#include "proto/types/words.h"
#include "worker/agent/crash_notice.h"
#include "worker/agent/file_cache.h"
#include "worker/agent/pipe.h"
#include "worker/agent/spec_to_settings.h"
#include "worker/agent/usual_times.h"
#include "worker/trainer/train.h"

namespace longreach::agent {
namespace {

using SteadyClock = std::chrono::steady_clock;

// While steps are fast, messages are this far apart.
constexpr std::chrono::milliseconds kPace{200};

// The agent decides when to end: a Ctrl-C or a service manager's SIGTERM goes to both processes, and a checkpoint
// comes before the end. If the agent is killed, so is this process.
void TieToAgent(int trainers) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "longreach-train");
  for (const int ignored : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(ignored, SIG_IGN);
  sigset_t none;  // The agent blocked these signals until now, so that none could come too early.
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  close_range(static_cast<unsigned>(kChildPipe + trainers), UINT_MAX, 0);
  // When memory runs out, the pack should go and not the agent.
  std::ofstream("/proc/self/oom_score_adj") << 500;
}

// An attempt's log. As long as this lives, standard output and error go there too, if no other pack is trained in this process.
class AttemptLog {
 public:
  AttemptLog(const std::string& file, bool alone)
      : fd_(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600)), saved_(alone && fd_ >= 0 ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0) : -1) {
    if (saved_ >= 0) Redirect(fd_);
  }
  ~AttemptLog() {
    if (saved_ >= 0) {
      Redirect(saved_);
      close(saved_);
    }
    if (fd_ >= 0) close(fd_);
  }
  AttemptLog(const AttemptLog&) = delete;
  AttemptLog& operator=(const AttemptLog&) = delete;

  // On a full disk it is lost, and the pack goes on.
  void Line(std::string line) const {
    line += '\n';
    const int to = fd_ >= 0 ? fd_ : STDERR_FILENO;
    for (size_t done = 0; done < line.size();) {
      const ssize_t some = write(to, line.data() + done, line.size() - done);
      if (some < 0 && errno == EINTR) continue;
      if (some <= 0) return;
      done += static_cast<size_t>(some);
    }
  }

 private:
  static void Redirect(int fd) {
    std::fflush(nullptr);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
  }
  const int fd_;
  const int saved_;
};

// Waiting for room is a phase to people alone: how long things take is timed as of files that are written.
AttemptPhase PhaseOf(trainer::Progress::Phase phase, bool waits_for_room) {
  switch (phase) {
    case trainer::Progress::Phase::kStarting: return AttemptPhase::kStarting;
    case trainer::Progress::Phase::kTraining: return AttemptPhase::kTraining;
    case trainer::Progress::Phase::kEvaluating: return AttemptPhase::kEvaluating;
    case trainer::Progress::Phase::kWriting: return waits_for_room ? AttemptPhase::kWaitingForDisk : AttemptPhase::kUploading;
    case trainer::Progress::Phase::kCount: break;
  }
  return AttemptPhase::kStarting;
}

// Sends what the trainer tells, and what the agent says back to the trainer.
class PipeObserver final : public trainer::Observer {
 public:
  PipeObserver(ChildPipe& pipe, const v1::StartPack& start, const AttemptLog& log, double hang_floor_s)
      : pipe_(pipe), start_(start), log_(log), usual_(hang_floor_s) {}

  void OnProgress(const trainer::Progress& progress) override {
    const SteadyClock::time_point now = SteadyClock::now();
    if (progress.phase == phase_ && called_) AddTiming(now);
    const bool due = !called_ || progress.phase != phase_ || progress.waits_for_room != waits_for_room_ || now - sent_at_ >= kPace;
    called_ = true;
    called_at_ = now;
    phase_ = progress.phase;
    waits_for_room_ = progress.waits_for_room;
    step_ = progress.step;
    steps_per_second_ = progress.steps_per_second;
    PrepareProgress();
    for (const trainer::LossPoint& from : progress.points) {
      v1::ProgressPoint& to = *pending_.add_points();
      to.set_job(start_.members(from.member).job());
      to.set_step(from.step);
      to.set_loss(from.loss);
    }
    if (due) Flush();
  }

  void OnCheckpoint(const std::filesystem::path& file, int step) override {
    if (phase_ == trainer::Progress::Phase::kWriting) AddTiming(SteadyClock::now());
    v1::FromTrainer message;
    message.mutable_checkpoint()->set_attempt(start_.attempt());
    message.mutable_checkpoint()->set_path(file.string());
    message.mutable_checkpoint()->set_step(step);
    Send(message);
  }

  bool MakeRoom() override { return FileCache(start_.cache()).MakeRoom(); }

  void OnLine(const std::string& line) override { log_.Line(line); }

  Wish Poll() override {
    while (true) {
      const absl::StatusOr<std::optional<v1::ToTrainer>> message = pipe_.Receive(/*wait=*/false);
      if (!message.ok()) _exit(0);  // Nobody would take the result; the agent's next child trains from a checkpoint.
      if (!message->has_value()) return wish_;
      Take(**message);
    }
  }

  // Progress that is not sent yet.
  void Flush() {
    if (pending_.attempt() == 0) return;
    told_s_ = pending_.usual_s();
    v1::FromTrainer message;
    *message.mutable_progress() = std::move(pending_);
    pending_ = {};
    Send(message);
    sent_at_ = SteadyClock::now();
  }

 private:
  static_assert(UsualTimes::kPhases == static_cast<size_t>(trainer::Progress::Phase::kCount));

  // Not of what is done before the first step, each thing of its own kind, nor of that step, which loads and compiles besides.
  void AddTiming(SteadyClock::time_point now) {
    if (phase_ == trainer::Progress::Phase::kStarting) return;
    if (phase_ == trainer::Progress::Phase::kTraining && !std::exchange(trained_, true)) return;
    usual_.Took(static_cast<size_t>(phase_), threads(), std::chrono::duration<double>(now - called_at_).count(), told_s_);
  }

  int threads() const { return wish_.threads > 0 ? wish_.threads : start_.threads(); }

  void PrepareProgress() {
    pending_.set_attempt(start_.attempt());
    pending_.set_phase(std::string(Word(PhaseOf(phase_, waits_for_room_))));
    pending_.set_step(step_);
    pending_.set_steps_per_second(steps_per_second_);
    pending_.set_usual_s(usual_.Of(static_cast<size_t>(phase_), threads()));
  }

  void Take(const v1::ToTrainer& message) {
    if (message.has_stop() && message.stop().attempt() == start_.attempt()) {
      wish_.stop = true;
      wish_.abandon = wish_.abandon || message.stop().abandon();
    }
    if (message.has_use_threads() && message.use_threads().attempt() == start_.attempt()) {
      wish_.threads = message.use_threads().threads();
      log_.Line(fmt::format("{} thread(s) from here on", wish_.threads));
      TellWhatIsUsual();
    }
    if (!message.has_drop() || message.drop().attempt() != start_.attempt()) return;
    for (const std::string& job : message.drop().jobs()) {
      for (int member = 0; member < start_.members_size(); ++member) {
        const bool known = std::find(wish_.dropped.begin(), wish_.dropped.end(), member) != wish_.dropped.end();
        if (start_.members(member).job() == job && !known) wish_.dropped.push_back(member);
      }
    }
  }

  // Before the next step, which takes longer with fewer threads.
  void TellWhatIsUsual() {
    if (!called_) return;
    PrepareProgress();
    Flush();
  }

  void Send(const v1::FromTrainer& message) {
    if (!pipe_.Send(message).ok()) _exit(0);
  }

  ChildPipe& pipe_;
  const v1::StartPack& start_;
  const AttemptLog& log_;
  Wish wish_;
  v1::PackProgress pending_;
  UsualTimes usual_;
  double told_s_ = 0;     // Of what is usual the agent knows this.
  bool trained_ = false;  // A step.
  // What it was told last.
  trainer::Progress::Phase phase_ = trainer::Progress::Phase::kStarting;
  bool waits_for_room_ = false;
  int step_ = 0;
  double steps_per_second_ = 0;
  bool called_ = false;
  SteadyClock::time_point called_at_;
  SteadyClock::time_point sent_at_;
};

v1::PackFinished FinishedOf(const v1::StartPack& start, const trainer::PackResult& result) {
  v1::PackFinished finished;
  finished.set_attempt(start.attempt());
  finished.set_stopped(result.stopped);
  finished.set_step(result.step);
  finished.set_weights(result.weights.string());
  finished.set_engine(result.engine);
  for (const trainer::SeriesFile& from : result.series) {
    v1::SeriesFile& to = *finished.add_series();
    to.set_job(start.members(from.member).job());
    to.set_path(from.file.string());
  }
  for (size_t member = 0; member < result.results.size(); ++member) {
    const trainer::MemberResult& from = result.results[member];
    if (from.dropped) continue;
    v1::MemberResult& to = *finished.add_results();
    to.set_job(start.members(static_cast<int>(member)).job());
    to.set_diverged(from.diverged);
    to.set_diverged_at(from.diverged_at);
    for (const trainer::Measurement& measured : from.measurements) {
      v1::Measurement& measurement = *to.add_measurements();
      measurement.set_metric(measured.metric);
      measurement.set_length(measured.length);
      measurement.set_slice(measured.slice);
      measurement.set_value(measured.value);
    }
  }
  return finished;
}

std::string DetailOf(const absl::Status& status, bool everywhere = false) {
  const std::string_view refused = everywhere ? kRefusedEverywhere : status.code() == absl::StatusCode::kInvalidArgument ? "refused: " : "";
  std::string detail = std::string(refused) + std::string(status.message());
  std::replace(detail.begin(), detail.end(), '\n', ' ');
  if (detail.size() > 500) detail.resize(500);
  return ValidUtf8(detail);
}

// The lease names the bytes of the data sets, so another worker finds in them what this one has found.
bool IsRefusedEverywhere(const absl::Status& failure, const v1::StartPack& start) {
  if (failure.code() != absl::StatusCode::kInvalidArgument) return false;
  const absl::StatusOr<trainer::PackRequest> request = RequestOf(start);
  return request.ok() && absl::IsInvalidArgument(trainer::CheckDataSets(request->settings, request->data));
}

absl::StatusOr<trainer::PackResult> TrainPack(const v1::StartPack& start, const AttemptLog& log, PipeObserver& observer) {
  ASSIGN_OR_RETURN(const trainer::PackRequest request, RequestOf(start));
  log.Line(fmt::format("attempt {}: {} job(s), {} with {}, {} steps", start.attempt(), request.members.size(), request.settings.task,
                       catalog::ToText({.name = request.settings.encoding, .randomized = request.settings.randomized}), request.settings.training.steps));
  for (const trainer::Member& member : request.members) {
    log.Line(fmt::format("  {} learning rate {} seed {}{}", member.job, member.learning_rate, member.seed,
                         member.checkpoints.empty() ? "" : ", from a checkpoint"));
  }
  return trainer::Train(request, observer);
}

// Whether the process must not go on. A new one has all memory and a GPU without faults; but others would lose theirs, if they can be trained further.
bool EndsTheChild(const absl::Status& failure, const v1::StartPack& start, bool alone) {
  if (failure.code() == absl::StatusCode::kInvalidArgument) return false;
  return alone || (start.cuda() && !trainer::GpuAnswers());
}

// False: the process must not go on.
bool RunPack(const v1::StartPack& start, double hang_floor_s, bool alone, ChildPipe& pipe) {
  const AttemptLog log(start.log(), alone);
  PipeObserver observer(pipe, start, log, hang_floor_s);
  const absl::StatusOr<trainer::PackResult> result = TrainPack(start, log, observer);
  observer.Flush();
  v1::FromTrainer message;
  if (result.ok()) {
    *message.mutable_finished() = FinishedOf(start, *result);
    log.Line(fmt::format("{} at step {}", result->stopped ? "stopped" : "finished", result->step));
  } else {
    message.mutable_failed()->set_attempt(start.attempt());
    message.mutable_failed()->set_detail(DetailOf(result.status(), IsRefusedEverywhere(result.status(), start)));
    log.Line(fmt::format("failed: {}", message.failed().detail()));
    message.mutable_failed()->set_child_ends(EndsTheChild(result.status(), start, alone));
  }
  std::fflush(nullptr);
  if (!pipe.Send(message).ok()) return false;
  return !message.failed().child_ends();
}

v1::PacksMeasured Measure(const v1::MeasurePacks& asked) {
  v1::PacksMeasured measured;
  const absl::StatusOr<trainer::PackLimit> limit =
      trainer::MeasurePackLimit({.threads = asked.threads(), .cuda = asked.cuda(), .engine = asked.engine()});
  if (!limit.ok()) {
    measured.set_error(DetailOf(limit.status()));
    return measured;
  }
  measured.set_limit(limit->jobs);
  for (const trainer::PackTrial& trial : limit->trials) {
    v1::PackTrial& to = *measured.add_trials();
    to.set_jobs(trial.jobs);
    to.set_job_steps_per_second(trial.job_steps_per_second);
  }
  return measured;
}

v1::TrainerReady Prepare(const ChildOptions& options) {
  v1::TrainerReady ready;
  if (!options.build.empty() && options.build != BuildDescription()) {  // What they say to each other is for programs of one build.
    ready.set_error(fmt::format("longreach-trainer is of another build ({}) than longreach-worker ({}); install all programs of one build together", BuildDescription(), options.build));
    return ready;
  }
  const absl::StatusOr<trainer::Capabilities> machine = OpenDevice(options);
  if (!machine.ok()) {
    ready.set_error(ValidUtf8(std::string(machine.status().message())));
    return ready;
  }
  ready.mutable_experiments()->Assign(machine->experiments.begin(), machine->experiments.end());
  ready.set_device(machine->device);
  ready.set_device_id(ValidUtf8(machine->device_id));
  ready.set_threads(machine->threads);
  ready.set_memory_bytes(machine->memory_bytes);
  return ready;
}

// One trainer's life. Returns the exit code of the process, which ends with it.
int RunTrainer(int fd, const v1::FromTrainer& ready, double hang_floor_s, bool alone) {
  ChildPipe pipe(fd);
  if (!pipe.Send(ready).ok()) return 1;
  while (true) {
    const absl::StatusOr<std::optional<v1::ToTrainer>> message = pipe.Receive(/*wait=*/true);
    if (!message.ok()) return message.status().code() == absl::StatusCode::kCancelled ? 0 : 1;
    if ((*message)->has_start() && !RunPack((*message)->start(), hang_floor_s, alone, pipe)) return 1;
    if ((*message)->has_measure()) {
      v1::FromTrainer measured;
      *measured.mutable_measured() = Measure((*message)->measure());
      if (!pipe.Send(measured).ok()) return 1;
    }
  }
}

}  // namespace

absl::StatusOr<trainer::Capabilities> OpenDevice(const ChildOptions& options) {
  if (options.cuda) RETURN_IF_ERROR(trainer::LoadCudaPlugin(options.cuda_plugin, options.trainers));
  return trainer::DescribeMachine(options.cuda);
}

int RunTrainerChild(const ChildOptions& options) {
  TieToAgent(options.trainers);
  v1::FromTrainer ready;
  *ready.mutable_ready() = Prepare(options);
  if (!ready.ready().error().empty()) {
    for (int trainer = 0; trainer < options.trainers; ++trainer) (void)ChildPipe(kChildPipe + trainer).Send(ready);
    return 1;
  }
  if (options.trainers == 1) return RunTrainer(kChildPipe, ready, options.hang_floor_s, /*alone=*/true);
  SayWhoCrashes();
  std::vector<std::jthread> trainers;
  try {
    for (int trainer = 0; trainer < options.trainers; ++trainer) {
      trainers.emplace_back([fd = kChildPipe + trainer, &ready, trainer, hang_floor_s = options.hang_floor_s] {
        pthread_setname_np(pthread_self(), fmt::format("trainer {}", trainer + 1).c_str());
        CrashesAreOf(fd);
        _exit(RunTrainer(fd, ready, hang_floor_s, /*alone=*/false));
      });
    }
  } catch (const std::system_error& error) {
    fmt::print(stderr, "{} trainers cannot be started: {}\n", options.trainers, error.what());
    _exit(1);
  }
  while (true) pause();  // Until one of them ends the process.
}

}  // namespace longreach::agent
