// A sweep's way from its submission to its end, for commands that wait for it: with workers of this machine where the scheduler
// is the command's own, watched where it is another.
#pragma once

#include <CLI/CLI.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "client/embedded.h"
#include "client/interrupt.h"
#include "client/output/progress.h"
#include "client/pause_news.h"
#include "client/session.h"
#include "client/slow_writing.h"
#include "client/stuck.h"
#include "client/watcher.h"
#include "longreach/v1/api.pb.h"

namespace longreach::client {

// Of an interrupt that comes before there is something to keep.
inline constexpr std::string_view kBeforeAnyJob = "stopped before any job began";

// What workers of our own are told.
void AddWorkerOptions(CLI::App& app, WorkerOptions& options);
// Refuses them where the sweep goes to a scheduler, whose workers were told their own.
absl::Status CheckWorkerOptions(Session& session, const WorkerOptions& options);

// Has the worker's program look for these data sets (DataSetsOf()), and make those that it can. An exit code: some are missing, all of which it has named, or the user
// has ended it.
absl::StatusOr<std::optional<int>> EnsureData(Session& session, const std::map<std::string, std::string>& sets, const WorkerOptions& options,
                                              const InterruptScope& interrupt);

struct SweepRunOptions {
  bool retry_failed = false;  // Jobs that have failed get another chance first.
  WorkerOptions worker = {};
  // The command that goes on after an interruption, but for options of workers: empty where the store goes away with the caller.
  std::string again = {};
};

class SweepRun {
 public:
  // `interrupt` outlives it.
  SweepRun(Session& session, Connection& connection, InterruptScope& interrupt, v1::SubmitSweepRequest submission, SweepRunOptions options)
      : session_(session),
        connection_(connection),
        interrupt_(interrupt),
        submission_(std::move(submission)),
        options_(std::move(options)),
        pauses_(session),
        stuck_(session, connection) {}
  // Workers before the scheduler: they still have something to hand in.
  ~SweepRun() { StopWorkers(); }
  SweepRun(const SweepRun&) = delete;

  // Until no job of the sweep is open, the user ends it, or it cannot go on. An exit code: it is not there yet.
  absl::StatusOr<std::optional<int>> ToItsEnd();

  // As last seen.
  const v1::Sweep& sweep() const { return sweep_; }

 private:
  using Clock = std::chrono::steady_clock;

  // Before the sweep is in the store: sees to its data, and starts workers and has them look at what they were told, so that a slip leaves
  // no sweep behind whose jobs would be trained before those of the next. An exit code: it ends here.
  absl::StatusOr<std::optional<int>> Prepare();
  absl::StatusOr<std::optional<int>> AwaitWorkers();
  absl::Status Submit();
  // Those of jobs that had failed until now, which the plan of before left out.
  absl::StatusOr<std::optional<int>> EnsureDataOfRetried();
  absl::Status Steer(v1::SteerSweepRequest::Action action);
  // Other sweeps of the store whose jobs the worker is given before: whoever began one with a wrong setting, and starts anew, would wait for it.
  absl::Status SayWhatComesFirst() const;
  // That each of our workers trains at a time when nobody says how many: as the largest models among the open sweeps want it.
  absl::StatusOr<int> UsualPacks(bool cuda, const std::string& engine, int threads) const;
  absl::StatusOr<std::optional<int>> Follow();
  // Why nothing can go on, if so: a child has died, or the scheduler gives our workers nothing any more.
  std::string AllIsKept() const;
  absl::Status CheckChildren(ProgressView& view);
  absl::Status CheckOwnWorkers(const std::function<void(const std::string&)>& say);
  absl::Status CheckWorkers(ProgressView& view);
  absl::Status CheckStuck(const v1::SweepUpdate& last, ProgressView& view);
  // That a slower engine trains, if one does, and why: as the log of the first job that is done has it.
  void SayEngine(ProgressView& view);
  // The user ends it. `store_trouble`: as last heard.
  int Interrupted(SweepWatcher& watcher, std::string store_trouble);
  // Once workers have ended: nothing of theirs is left that the store does not have.
  bool IsAllHandedIn();
  absl::Status StartWorkers();
  // `meanwhile` is called every moment until they have ended.
  void StopWorkers(const std::function<void()>& meanwhile = [] {});

  Session& session_;
  Connection& connection_;
  InterruptScope& interrupt_;
  const v1::SubmitSweepRequest submission_;
  const SweepRunOptions options_;

  v1::Sweep sweep_;
  bool retried_ = false;
  std::set<std::string> seen_to_;  // Data sets, before it was submitted.
  // Of our own: one, or one for each GPU. Empty: the scheduler has others.
  struct OwnWorker {
    std::string device;  // As it was told; empty: its own choice.
    Process process;
    bool told = false;   // That it ended.
  };
  std::vector<OwnWorker> workers_;
  Clock::time_point workers_asked_;
  std::string told_reason_;
  bool asked_engine_ = false;
  bool seen_aside_ = false;  // At the last look all workers were put aside and had nothing to do.
  PauseNews pauses_;
  StuckWatch stuck_;
  SlowWriting writing_;
};

}  // namespace longreach::client
