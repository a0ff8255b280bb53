#include "client/sweep_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/commands/other_tests.h"
#include "client/commands/plan_json.h"
#include "client/commands/suggestions.h"
#include "client/commands/sweep_calls.h"
#include "client/data_fit.h"
#include "client/output/text.h"
#include "client/watcher.h"
#include "proto/base/duration.h"
#include "proto/base/resources.h"
#include "proto/base/text.h"
#include "proto/catalog/devices.h"
#include "proto/catalog/engines.h"
#include "proto/catalog/packs.h"
#include "proto/types/time.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

using std::chrono::milliseconds;

// How often a run without running jobs asks its workers why.
constexpr std::chrono::seconds kAskWorkersEvery{2};
// A worker that is ready says so; one whose predecessor has just been killed waits for its folder.
constexpr std::chrono::seconds kReadyPatience{60};
// Behind this it is said that a run waits for its worker: nothing else is until then.
constexpr std::chrono::seconds kSilentPatience{5};
// What a worker of our own still cannot do at the fourth question, seconds apart, it never will; but it sees data that have just been made within 10 s.
constexpr int kStuckAtLast = 4, kStuckForDataAtLast = 7;

// Of workers that have ended with something that they could not hand in, or were not given the time to.
std::string WhatIsNotHandedIn(const std::string& store_trouble) {
  const std::string why = store_trouble.empty() ? "" : fmt::format(" ({})", Printable(store_trouble));
  return fmt::format("that is kept. The last of what was being trained is not in the store{}: what the worker could keep of it lies beside the store and is handed in at "
                     "its next start, and what it could not is trained again", why);
}

// What the user said of the worker, for a command that goes on with the same.
std::string FlagsOf(const WorkerOptions& options) {
  std::string flags;
  for (const std::string& word : options.Arguments()) flags += " " + ShellWord(word);
  return flags;
}

}  // namespace

void AddWorkerOptions(CLI::App& app, WorkerOptions& options) {
  app.add_option("--device", options.device, "Device of the worker: cpu, or cuda: the first GPU; cuda:0..3: a worker for each of these GPUs [cpu]")
      ->type_name("DEVICE")
      ->check(catalog::CheckDevices);
  app.add_option("--engine", options.engine, "What computes in the worker, as 'longreach-worker run --help' says [the worker's choice]")
      ->type_name("NAME");
  app.add_option("--data-folder", options.data_folder,
                 "Where the worker's data sets lie [LONGREACH_DATA, else ~/.local/share/longreach/data]")
      ->type_name("DIR");
  app.add_option("--threads", options.threads, "Threads of each worker [all cores, divided among workers]")->type_name("N")->check(CLI::Range(1, 4096));
  app.add_option("--packs", options.packs,
                 fmt::format("Packs that are trained at a time [of small models {} on a CPU and {} on a GPU, at most one for each "
                             "thread, or {} on a GPU by --engine resident; else 1]",
                             catalog::kUsualPacksOnCpu, catalog::kUsualPacksOnGpu, catalog::kUsualPacksOfResident))
      ->type_name("N")
      ->check(CLI::Range(1, catalog::kMaxPacksAtATime));
  app.add_option("--pack-limit", options.pack_limit,
                 "The most jobs that are trained together, or 'measured': what is fast enough [16, on a GPU measured]")
      ->type_name("N")
      ->check(catalog::CheckPackLimit);
  app.add_option("--checkpoint-every-s", options.checkpoint_every_s, "Time between checkpoints: seconds, or 90s, 5min, 1h [60]")
      ->type_name("TIME")
      ->transform(CLI::Validator(SecondsOfDuration, ""))
      ->check([](const std::string& word) {
        const std::optional<double> seconds = ParseDouble(word);
        return seconds.has_value() && *seconds > 0 && *seconds <= 1e9 ? "" : fmt::format("'{}' is not a number of seconds above 0", Printable(word));
      });
}

absl::Status CheckWorkerOptions(Session& session, const WorkerOptions& options) {
  const std::vector<std::string> words = options.Arguments();
  if (session.embedded() != nullptr || words.empty()) return absl::OkStatus();
  return UsageError(fmt::format("{}: the sweep goes to the scheduler at {}, whose workers have options of their own", words.front(),
                                Printable(session.settings().scheduler)),
                    "leave the worker's options out, or name a --store FILE to run the sweep on this machine");
}

absl::StatusOr<std::optional<int>> EnsureData(Session& session, const std::map<std::string, std::string>& sets, const WorkerOptions& options,
                                              const InterruptScope& interrupt) {
  if (sets.empty()) return std::optional<int>();
  std::vector<std::string> arguments = {"data", "ensure"}, kinds;
  for (const auto& [name, kind] : sets) {
    arguments.push_back(name);
    if (!kind.empty()) kinds.push_back(fmt::format("{}={}", name, kind));
  }
  if (!kinds.empty()) arguments.insert(arguments.end(), {"--kinds", Join(kinds, ",")});
  if (!options.data_folder.empty()) arguments.insert(arguments.end(), {"--data-folder", options.data_folder});
  if (session.settings().quiet) arguments.emplace_back("--quiet");
  if (session.json()) arguments.insert(arguments.end(), {"-o", "json"});  // In which it refuses; what it answers else is no part of the run's answer.
  session.out().flush();
  ASSIGN_OR_RETURN(const int code, RunAttached(session.environment().binaries / "longreach-worker", arguments, AttachedOutput::kNobody));
  if (interrupt.count() > 0) return interrupt.exit_code();
  if (code != 0) return std::optional<int>(code == kNotFound ? kNotFound : kFailed);
  return std::optional<int>();
}

absl::StatusOr<std::optional<int>> SweepRun::ToItsEnd() {
  if (session_.embedded() != nullptr) {
    ASSIGN_OR_RETURN(const std::optional<int> ended, Prepare());
    if (ended.has_value()) return ended;
  }
  RETURN_IF_ERROR(Submit());
  if (session_.embedded() != nullptr && retried_) {
    ASSIGN_OR_RETURN(const std::optional<int> missing, EnsureDataOfRetried());
    if (missing.has_value()) return missing;
  }
  ASSIGN_OR_RETURN(const std::optional<int> ended, Follow());
  // Nothing is left to compute: workers end while the caller goes on.
  if (!ended.has_value()) {
    for (OwnWorker& worker : workers_) worker.process.CloseInput();
  }
  return ended;
}

absl::StatusOr<std::optional<int>> SweepRun::Prepare() {
  v1::SubmitSweepRequest plan = submission_;
  plan.set_dry_run(true);
  ASSIGN_OR_RETURN(const v1::SubmitSweepResponse planned, connection_.Call(&Connection::Stub::SubmitSweep, plan, std::chrono::minutes(10)));
  const bool retries = options_.retry_failed && planned.plan().failed() > 0;
  if (NothingIsToRun(planned.plan()) && !retries) return std::optional<int>();
  ASSIGN_OR_RETURN(std::optional<int> ended, EnsureData(session_, DataSetsOf(submission_.spec(), planned.plan()), options_.worker, interrupt_));
  if (ended.has_value()) return ended;
  ASSIGN_OR_RETURN(ended, CheckDataFits(session_, submission_.spec(), planned.plan(), options_.worker, interrupt_));
  if (ended.has_value()) return ended;
  seen_to_.insert(planned.plan().data_sets().begin(), planned.plan().data_sets().end());
  RETURN_IF_ERROR(StartWorkers());
  return AwaitWorkers();
}

absl::StatusOr<std::optional<int>> SweepRun::EnsureDataOfRetried() {
  v1::SubmitSweepRequest plan = submission_;
  plan.set_dry_run(true);
  ASSIGN_OR_RETURN(const v1::SubmitSweepResponse planned, connection_.Call(&Connection::Stub::SubmitSweep, plan, std::chrono::minutes(10)));
  std::map<std::string, std::string> unseen = DataSetsOf(submission_.spec(), planned.plan());
  std::erase_if(unseen, [this](const auto& set) { return seen_to_.contains(set.first); });
  return EnsureData(session_, unseen, options_.worker, interrupt_);
}

absl::StatusOr<std::optional<int>> SweepRun::AwaitWorkers() {
  const Clock::time_point start = Clock::now(), end = start + kReadyPatience;
  bool is_told = false;
  for (OwnWorker& worker : workers_) {
    while (!worker.process.ReadLine(milliseconds(100)).has_value() && !worker.process.WaitFor(milliseconds(10))) {
      if (interrupt_.count() > 0) {
        session_.Say(kBeforeAnyJob);
        return interrupt_.exit_code();
      }
      if (!is_told && Clock::now() > start + kSilentPatience) {
        is_told = true;
        session_.Say("waiting for the worker: it opens its device; where a run of this store was killed a moment ago, its worker may have to end first");
      }
      if (Clock::now() > end) break;  // Whatever it waits for, it says why it gets no work.
    }
  }
  RETURN_IF_ERROR(CheckOwnWorkers([this](const std::string& line) { session_.Say(line); }));
  return std::optional<int>();
}

absl::Status SweepRun::StartWorkers() {
  WorkerOptions options = options_.worker;
  const std::vector<catalog::Device> devices = catalog::ParseDevices(options.device);  // None: its own choice.
  if (devices.size() > 1 && options.threads == 0) options.threads = std::max(1, AvailableThreads() / static_cast<int>(devices.size()));
  if (options.packs == 0) {
    const bool cuda = !devices.empty() && devices.front().cuda;
    ASSIGN_OR_RETURN(options.packs, UsualPacks(cuda, options.engine, options.threads > 0 ? options.threads : AvailableThreads()));
  }
  for (const WorkerOptions& one : options.OfEach()) {
    ASSIGN_OR_RETURN(Process process, StartWorker(session_.environment().binaries, session_.embedded()->address(), session_.store(), one));
    workers_.push_back({.device = one.device, .process = std::move(process)});
  }
  return absl::OkStatus();
}

absl::StatusOr<int> SweepRun::UsualPacks(bool cuda, const std::string& engine, int threads) const {
  int packs = catalog::UsualPacks(submission_.spec().experiment(), cuda, engine, threads);
  if (packs == 1) return packs;
  // The worker trains what else is open in the store, too.
  ASSIGN_OR_RETURN(const v1::ListSweepsResponse all, connection_.Call(&Connection::Stub::ListSweeps, v1::ListSweepsRequest()));
  for (const v1::Sweep& sweep : all.sweeps()) {
    if (sweep.id() == sweep_.id() || sweep.state() != "live" || OpenJobs(sweep) == 0) continue;
    ASSIGN_OR_RETURN(const v1::Sweep other, FindSweep(connection_, sweep.id()));
    packs = std::min(packs, catalog::UsualPacks(other.spec().experiment(), cuda, engine, threads));
  }
  return packs;
}

absl::Status SweepRun::Submit() {
  ASSIGN_OR_RETURN(const v1::SubmitSweepResponse response,
                   connection_.Call(&Connection::Stub::SubmitSweep, submission_, std::chrono::minutes(10)));
  sweep_ = response.sweep();
  const v1::Plan& plan = response.plan();
  session_.Say(fmt::format(
      "sweep {} {}: {}, {} done{}{}", ShortId(sweep_.id()), Printable(sweep_.name()), Count(plan.jobs(), "job"), Thousands(plan.done()),
      plan.failed() == 0 ? "" : fmt::format(", {} failed", Thousands(plan.failed())),
      session_.embedded() != nullptr ? fmt::format("; store {}", Printable(session_.store())) : ""));
  SayIfNameIsTaken(session_, connection_, response);
  if (!submission_.aside()) {
    SayOfUnusedSettings(session_, plan);
    SayOfTestLengths(session_, submission_.spec());
  }
  if (response.created() && !submission_.aside()) SayWhereTestsAloneDiffer(session_, connection_, submission_.spec(), response.plan(), sweep_.id());
  if (sweep_.state() == "paused") {
    // Whoever types this wants it to run.
    session_.Say("it was paused and goes on now");
    RETURN_IF_ERROR(Steer(v1::SteerSweepRequest::ACTION_RESUME));
  }
  if (const int64_t failed = sweep_.counts().failed(); options_.retry_failed && failed > 0) {
    session_.Say(fmt::format("{} that had failed {} again", Count(failed, "job"), failed == 1 ? "runs" : "run"));
    RETURN_IF_ERROR(Steer(v1::SteerSweepRequest::ACTION_RETRY));
    retried_ = true;
  }
  return session_.embedded() != nullptr && !AllSucceeded(sweep_) ? SayWhatComesFirst() : absl::OkStatus();
}

absl::Status SweepRun::SayWhatComesFirst() const {
  ASSIGN_OR_RETURN(const v1::ListSweepsResponse all, connection_.Call(&Connection::Stub::ListSweeps, v1::ListSweepsRequest()));
  for (const v1::Sweep& sweep : all.sweeps()) {
    const int64_t open = OpenJobs(sweep);
    if (sweep.id() == sweep_.id() || sweep.state() != "live" || open == 0 || sweep.priority() < sweep_.priority()) continue;
    const bool later = FromTimestamp(sweep.submitted_at()) > FromTimestamp(sweep_.submitted_at());
    if (later && sweep.priority() == sweep_.priority()) continue;
    session_.Say(fmt::format("{} of sweep {} {}, which is in this store too, {} first; 'longreach pause {}{}' holds them", Count(open, "open job"), ShortId(sweep.id()),
                             Printable(sweep.name()), open == 1 ? "comes" : "come", ShortId(sweep.id()), WhereFlags(session_)));
  }
  return absl::OkStatus();
}

absl::Status SweepRun::Steer(v1::SteerSweepRequest::Action action) {
  v1::SteerSweepRequest request;
  request.set_sweep(sweep_.id());
  request.set_action(action);
  ASSIGN_OR_RETURN(sweep_, connection_.Call(&Connection::Stub::SteerSweep, request, std::chrono::minutes(10)));
  return absl::OkStatus();
}

absl::StatusOr<std::optional<int>> SweepRun::Follow() {
  const Environment& environment = session_.environment();
  std::ostream silent(nullptr);
  ProgressView view(session_.settings().quiet ? silent : *environment.err,
                    {.terminal = environment.err_is_terminal && !session_.settings().dumb_terminal && !session_.settings().quiet,
                     .color = session_.settings().color_err,
                     .width = environment.width});
  SweepWatcher watcher(connection_, sweep_.id(), session_.Patience());
  v1::SweepUpdate last;
  while (true) {
    const SweepWatcher::Event event = watcher.Next(interrupt_, milliseconds(500));
    switch (event.kind) {
      case SweepWatcher::Event::Kind::kTick: view.Tick(); break;
      case SweepWatcher::Event::Kind::kInterrupt:
        view.Finish();
        return Interrupted(watcher, last.store_trouble());
      case SweepWatcher::Event::Kind::kLost:
        view.Say(fmt::format("lost the scheduler at {}; trying again", connection_.address()));
        break;
      case SweepWatcher::Event::Kind::kUpdate:
        if (event.back) view.Say("the scheduler answers again");
        last = event.update;
        sweep_ = last.sweep();
        view.Show(last);
        if (!workers_.empty() && sweep_.counts().succeeded() > 0 && !std::exchange(asked_engine_, true)) SayEngine(view);
        if (const std::string news = pauses_.Of(last); !news.empty()) view.Say(news);
        break;
      case SweepWatcher::Event::Kind::kEnded:
        view.Finish();
        // The stream breaks a moment before the process is gone; its own words say more.
        if (!event.status.ok() && session_.embedded() != nullptr) {
          session_.embedded()->process().WaitFor(std::chrono::seconds(2));
        }
        RETURN_IF_ERROR(CheckChildren(view));
        RETURN_IF_ERROR(event.status);
        return std::optional<int>();
    }
    if (last.finished()) continue;
    if (absl::Status status = CheckChildren(view); !status.ok()) {
      view.Finish();
      return status;
    }
    if (!workers_.empty() && last.running().empty() && Clock::now() - workers_asked_ > kAskWorkersEvery) {
      workers_asked_ = Clock::now();
      if (absl::Status status = CheckWorkers(view); !status.ok()) {
        view.Finish();
        return status;
      }
    }
    if (!workers_.empty()) {
      if (const std::string news = writing_.Of(last, WhereFlags(session_), Clock::now()); !news.empty()) view.Say(news);
    }
    if (absl::Status status = CheckStuck(last, view); !status.ok()) {
      view.Finish();
      return status;
    }
  }
}

void SweepRun::SayEngine(ProgressView& view) {
  v1::ListJobsRequest list;
  list.set_sweep(sweep_.id());
  list.set_state("succeeded");
  list.set_limit(1);
  const absl::StatusOr<v1::ListJobsResponse> done = connection_.Call(&Connection::Stub::ListJobs, list, std::chrono::seconds(10));
  if (!done.ok() || done->jobs().empty()) return;
  v1::GetLogRequest request;
  request.set_job(done->jobs(0).id());
  const absl::StatusOr<v1::GetLogResponse> log = connection_.Call(&Connection::Stub::GetLog, request, std::chrono::seconds(10));
  if (!log.ok()) return;  // It has left none.
  const std::string& text = log->text();
  if (const size_t begin = text.find(catalog::kLibtorchInstead); begin != std::string::npos) {
    view.Say(fmt::format("job {}: {}", ShortId(request.job()), Printable(text.substr(begin, text.find('\n', begin) - begin))));
  }
}

std::string SweepRun::AllIsKept() const {
  if (sweep_.id().empty()) return "nothing was submitted; 'longreach-worker run --help' says what a worker can be told";
  return options_.again.empty() ? "" : "what was finished is kept in the store; the same command goes on";
}

absl::Status SweepRun::CheckChildren(ProgressView& view) {
  if (session_.embedded() != nullptr && !session_.embedded()->process().Running()) {
    return Error(absl::StatusCode::kAborted,
                 fmt::format("the scheduler ended: {}",
                             LastWords(session_.embedded()->process(), "longreach-scheduler")),
                 AllIsKept());
  }
  return CheckOwnWorkers([&view](const std::string& line) { view.Say(line); });
}

absl::Status SweepRun::CheckOwnWorkers(const std::function<void(const std::string&)>& say) {
  int running = 0;
  std::vector<OwnWorker*> ended;
  for (OwnWorker& worker : workers_) {
    if (worker.process.Running()) ++running;
    else if (!worker.told) ended.push_back(&worker);
  }
  for (OwnWorker* worker : ended) {
    worker->told = true;
    const std::string words = LastWords(worker->process, "longreach-worker");
    if (running == 0) {
      // Before there is anything to do, by what it was told: an option that it does not take is the user's.
      const bool is_usage = sweep_.id().empty() && worker->process.exit_code() == kUsage;
      return Error(is_usage ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kAborted, fmt::format("the worker ended: {}", words), AllIsKept());
    }
    say(fmt::format("the worker of {} ended, and {} on without it: {}", worker->device, running == 1 ? "another goes" : "others go", words));
  }
  return absl::OkStatus();
}

absl::Status SweepRun::CheckWorkers(ProgressView& view) {
  const absl::StatusOr<v1::ListWorkersResponse> response =
      connection_.Call(&Connection::Stub::ListWorkers, v1::ListWorkersRequest(), std::chrono::seconds(10));
  if (!response.ok()) return absl::OkStatus();  // The stream tells about the scheduler's health.
  bool any_useful = false;
  bool any_put_aside = false;
  std::string reason;
  for (const v1::WorkerInfo& worker : response->workers()) {
    if (worker.state() == Word(WorkerState::kGone)) continue;
    // One that is put aside for another sweep's jobs may well be at work on this one's.
    const bool put_aside = worker.state() == Word(WorkerState::kPutAside);
    const bool idle = put_aside && worker.running().empty();
    any_put_aside |= idle;
    any_useful |= !idle;
    if (!worker.reason().empty() && (idle || !put_aside)) reason = WithFlags(Printable(worker.reason()), session_);
  }
  const bool aside = any_put_aside && !any_useful;
  // Between its report and its next call it has nothing: only the second look counts.
  if (aside && std::exchange(seen_aside_, true)) {
    return Error(
        absl::StatusCode::kAborted, fmt::format("the worker gets no more work: {}", reason),
        options_.again.empty() ? "" : fmt::format("'longreach jobs {}{}' shows the jobs and their failures; the same command tries again", ShortId(sweep_.id()), WhereFlags(session_)));
  }
  seen_aside_ = aside;
  if (!reason.empty() && reason != told_reason_) {
    view.Say(fmt::format("the worker gets no work: {}", reason));
    told_reason_ = reason;
  }
  return absl::OkStatus();
}

absl::Status SweepRun::CheckStuck(const v1::SweepUpdate& last, ProgressView& view) {
  const bool news = stuck_.Ask(last);
  const bool for_own_data = !workers_.empty() && stuck_.lacks_data();
  if (news && !for_own_data) view.Say(stuck_.reason());  // Else it may pass within seconds: where it does not, that ends the run.
  if (workers_.empty() || stuck_.times() < (for_own_data ? kStuckForDataAtLast : kStuckAtLast)) return absl::OkStatus();
  // What a worker says of itself, as that it is drained, is no matter of builds.
  const std::string builds = stuck_.lacks_data() || !told_reason_.empty() ? "" : "'longreach version' and 'longreach-worker --version' say which builds these are";
  const std::string kept = options_.again.empty() ? "" : "everything is kept, and the same command goes on";
  return Error(absl::StatusCode::kAborted, fmt::format("nothing can go on: {}", stuck_.reason()), builds.empty() || kept.empty() ? builds + kept : builds + "; " + kept);
}

void SweepRun::StopWorkers(const std::function<void()>& meanwhile) {
  const int before = interrupt_.count();
  for (OwnWorker& worker : workers_) worker.process.CloseInput();
  // They end by themselves once their checkpoints are handed in; the user may cut that short.
  const Clock::time_point end = Clock::now() + std::chrono::minutes(5);
  for (OwnWorker& worker : workers_) {
    while (!worker.process.WaitFor(milliseconds(100)) && interrupt_.count() == before && Clock::now() < end) meanwhile();
  }
  for (OwnWorker& worker : workers_) {
    if (worker.process.Running()) worker.process.Kill();
  }
  for (OwnWorker& worker : workers_) worker.process.WaitFor(std::chrono::seconds(5));
}

int SweepRun::Interrupted(SweepWatcher& watcher, std::string store_trouble) {
  if (session_.embedded() == nullptr) {
    session_.Say(fmt::format("the sweep goes on at {}; 'longreach watch {}{}' follows it",
                            session_.settings().scheduler, ShortId(sweep_.id()), WhereFlags(session_)));
    return interrupt_.exit_code();
  }
  if (options_.again.empty()) {  // For whom should they keep anything?
    for (OwnWorker& worker : workers_) worker.process.Kill();
    return interrupt_.exit_code();
  }
  session_.Say("stopping after a checkpoint; Ctrl-C again stops at once");
  bool is_told = false;
  const auto look_at_store = [&] {
    const SweepWatcher::Event event = watcher.Next(interrupt_, milliseconds(0));
    if (event.kind == SweepWatcher::Event::Kind::kUpdate) store_trouble = event.update.store_trouble();
    if (store_trouble.empty() || std::exchange(is_told, true)) return;
    session_.Say(fmt::format("{}: what is not handed in yet waits for that, for a minute or two", Printable(store_trouble)));
  };
  look_at_store();
  StopWorkers(look_at_store);
  // What they had still to hand in counts.
  if (absl::StatusOr<v1::Sweep> now = FindSweep(connection_, sweep_.id()); now.ok()) sweep_ = *std::move(now);
  const std::string done = fmt::format("{} of {} done", Thousands(sweep_.counts().succeeded()), Count(sweep_.jobs(), "job"));
  session_.Say(fmt::format("{}, and {}. To go on:\n  {}{}", done, IsAllHandedIn() ? "everything is kept" : WhatIsNotHandedIn(store_trouble), options_.again,
                           FlagsOf(options_.worker)));
  return interrupt_.exit_code();
}

bool SweepRun::IsAllHandedIn() {
  const auto has_attempts = [](const v1::Sweep& sweep) { return sweep.counts().leased() > 0; };
  if (has_attempts(sweep_)) return false;
  // The workers trained the jobs of other open sweeps, too.
  const absl::StatusOr<v1::ListSweepsResponse> all = connection_.Call(&Connection::Stub::ListSweeps, v1::ListSweepsRequest());
  return all.ok() && std::ranges::none_of(all->sweeps(), has_attempts);
}

}  // namespace longreach::client
