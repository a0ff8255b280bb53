// The worker's agent: takes leases, has trainer children train them, hands in files and reports. One object, one
// io_context, one thread; what may block does so on threads of its own: file transfers, all that is written to or removed from this
// machine's disk, in order, and the reading of data sets. A disk that stands still costs no lease.
//
// It has a slot for each pack that it trains at a time, with a child of its own. Those beyond the first are cold, and cost
// nothing, until a lease finds no idle trainer. An attempt belongs to no slot before it is trained: it gets the first idle one.
// On a GPU the slots' trainers share a child, as only work of one process is done there at the same time. Where nobody knows whose fault its end
// was, its attempts stay and are trained with fewer others at a time (agent_suspects.cc).
//
// A job begins only when all bytes of the data sets that it reads were compared with their import (agent_data.cc).
//
// What it promises: a report is on disk before anything of its attempt is removed, and stays there until acknowledged.
// Training goes on while the scheduler is away; whether the lease still holds is the scheduler's to say (DROP, ABORTED).
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/access/credentials.h"
#include "proto/base/status.h"
#include "worker/agent/attempt.h"
#include "worker/agent/channels.h"
#include "worker/agent/file_cache.h"
#include "worker/agent/hang_watch.h"
#include "worker/agent/outbox.h"
#include "worker/agent/state_folder.h"
#include "worker/agent/synchronizer.h"
#include "worker/agent/trainer_slot.h"
#include "worker/agent/transfers.h"

namespace longreach::agent {

struct AgentOptions {
  std::string scheduler;          // host:port or unix:PATH.
  access::CredentialFiles credentials{};
  std::filesystem::path state;    // The worker's own folder.
  std::string name;               // Empty: the machine's.
  int threads = 0;                // Of all packs together; 0: all cores.
  int packs = 1;                  // Trained at a time, each with its share of threads and memory; 1 to catalog::kMaxPacksAtATime.
  bool one_process = false;       // Trains all of them in one child, instead of each in a child of its own.
  bool cuda = false;
  std::string engine{};           // By a name that trainer::CheckEngine() takes; empty: the trainer's choice.
  int pack_limit = 16;            // 0: measured by the first trainer that starts.
  double checkpoint_every_s = 60;
  std::filesystem::path data_folder;
  // Says which data sets are in it, and which of them are damaged; asked at every call, so that an import is known without a restart. May be left out.
  std::function<void(v1::Abilities& abilities)> add_data_sets{};
  // Sees that one of them has the bytes of its import, before a job that reads it begins, and returns its stamp, which the trainer is told; `read` counts the bytes that are read for that. Called on
  // a thread of its own, one call at a time. UNAVAILABLE: it was found damaged by an earlier call; CANCELLED: `stop` asked; others: it cannot be used. May be left out.
  std::function<absl::StatusOr<std::string>(const std::string& data_set, const std::stop_token& stop, std::atomic<int64_t>& read)> verify_data{};
  // What was found of one holds no longer: a trainer that reads it was ended by a file that gives no bytes. May be left out.
  std::function<void(const std::string& data_set)> doubt_data{};
  std::filesystem::path binary;   // longreach-trainer, for the trainer child (trainer_program.h).
  std::string build{};            // That it has to be of, as BuildDescription() says it; empty: any.
  std::filesystem::path cuda_plugin;
  double hang_floor_s = 60;       // A silent trainer is killed after this, or 20 times its usual step.
  // Called once, when the first trainer has its device. May be left out.
  std::function<void()> on_usable = [] {};
  double patience_s = 20;         // When leaving, or with nothing but results for another store: how long to wait for the right scheduler.
  std::chrono::milliseconds state_patience{0};  // How long another worker may take to leave the state folder.
  // Leaves by itself after so long without anything to do, in touch with the scheduler. Infinite: never.
  double leave_when_idle_s = std::numeric_limits<double>::infinity();
  double lease_patience_s = 10;   // How long a lease that cannot be begun, or finds no trainer, is waited with before it is given back.
};

class Agent {
 public:
  // OK: left as asked, or for want of work. Else why it cannot go on; what to do is in the text.
  using Ended = std::function<void(absl::Status)>;

  // Takes the state folder. Errors as in StateFolder::Open.
  // The agent must outlive io.run(), which returns some time after `ended` was called.
  static absl::StatusOr<std::unique_ptr<Agent>> Open(boost::asio::io_context& io, AgentOptions options, Ended ended);
  ~Agent();

  // Starts the first trainer, and calls the scheduler once it is ready.
  void Start();
  // Checkpoint, hand in, give back, say goodbye. Asking again changes nothing.
  void Leave();

  // Nothing is sent or written, or is about to be. Once the agent has ended, what may still be read is nothing to anybody, and on a disk that stands still that never comes to an end.
  bool at_most_reads() const { return pool_work_ == 0 && disk_work_ == 0; }

  // Of a slot's child; 0: none. For tests.
  int trainer_pid(size_t slot = 0) const { return slots_[slot]->pid(); }

 private:
  using AttemptPtr = TrainerSlot::AttemptPtr;

  Agent(boost::asio::io_context& io, AgentOptions options, std::unique_ptr<Channels> channels, StateFolder state, Outbox outbox,
        Ended ended);

  // agent.cc: what the scheduler is told and says.
  v1::SynchronizeRequest MakeRequest() const;
  Synchronizer::Next OnResponse(const v1::SynchronizeRequest& sent, const v1::SynchronizeResponse& response);
  // Again at each answer, until it is done; what is in the way is told once.
  void WriteDownStore(const std::string& store);
  bool IsOfOurStore(const v1::SynchronizeRequest& sent, const std::string& store);
  bool Follow(const v1::Directive& directive);
  void AddReports(v1::SynchronizeRequest& request) const;
  bool Take(const v1::Lease& lease);
  bool TurnDown(const v1::Lease& lease, const std::string& why);
  int FreeSlots() const;
  bool Holds(const AttemptPtr& attempt) const;
  void Stop(const AttemptPtr& attempt);
  void Drop(AttemptPtr attempt, const std::string& why);
  void GiveBack(const AttemptPtr& attempt, const std::string& why);
  void LeaveIfIdle(const v1::SynchronizeRequest& sent, const v1::SynchronizeResponse& response);
  // Gives back what it holds, hands in what is done, and ends with `ends_with_`.
  void BeginLeaving();
  void WatchLeaving();
  void TellWhatIsAwaited();
  // Attempts that the next start of this worker hands in or reports, if this one cannot.
  size_t KeptOnDisk() const;
  // `how`: what there was of the scheduler.
  void LeaveWithoutScheduler(std::string_view how);
  void End(absl::Status status);

  // agent_trainer.cc: the children.
  void MakeSlots();
  void OnTrainerReady(const v1::TrainerReady& ready);
  void Ready();
  void OnPacksMeasured(const v1::PacksMeasured& measured);
  void OnTrainerUnusable(const std::string& why);
  void StartAnotherIfNeeded();
  void WatchWaiting();
  void GiveBackNewest(int waiting);
  void TryStart();
  void ShareThreads();
  TrainerSlot* SlotOf(const AttemptPtr& attempt) const;
  TrainerSlot* FirstIn(TrainerSlot::State state) const;
  int SlotsIn(TrainerSlot::State state) const;
  int AttemptsWaiting() const;
  void OnCheckpointWritten(const AttemptPtr& attempt, const v1::CheckpointWritten& written);
  void OnFinished(const AttemptPtr& attempt, const v1::PackFinished& finished);
  // With the report, before which no upload of a checkpoint goes on by itself.
  static void HandInNewestCheckpoint(Attempt& attempt);
  void Fail(const AttemptPtr& attempt, const std::string& detail);
  // The attempt is over without a result.
  void GiveUp(const AttemptPtr& attempt, v1::AttemptReport::Outcome outcome, const std::string& detail);

  // agent_suspects.cc: whose fault the end of a process was that several packs shared.
  // Those that may be, and have not been found innocent.
  int SuspectsLeft() const;
  void OnSharedEnd();
  void Suspect(const AttemptPtr& attempt, const std::string& detail);
  void OnCheckpointOfSuspect(const AttemptPtr& attempt, int step);
  void OnSuspectFailed(Attempt& attempt);
  // All that wait, of those that a trainer has had before or of the others.
  void GiveBackWaiting(bool begun, const std::string& why);

  // agent_reports.cc: what is on this machine's disk until the scheduler has it.
  // The attempt has ended, with its report and files: first on disk for the worker's next start, then handed in.
  void KeepAndHandIn(const AttemptPtr& attempt);
  // Report and names of the files; `then` is for an attempt that is held still.
  void Keep(const AttemptPtr& attempt, std::function<void()> then);
  // What found no room when it ended: there may be some by now, and this process will not have it for much longer.
  void KeepWhatFoundNoRoom();
  void TakeUpFinished();
  void HandInLeft(const AttemptPtr& attempt);
  void EndLost(const AttemptPtr& attempt, const absl::Status& why);
  // True: nothing else was held, and now nothing is.
  bool ForgetLost();
  void Report(const AttemptPtr& attempt);
  void WriteReport(const v1::AttemptReport& report);
  void OnReportWritten(uint64_t attempt, const absl::Status& written, bool left_behind);
  void OnAcknowledged(uint64_t attempt);
  bool ReportNoops(std::vector<v1::AttemptReport> reports);
  // It is held no longer; its folder stays.
  void LetGo(const AttemptPtr& attempt);
  // And its folder goes.
  void Forget(const AttemptPtr& attempt);
  void RemoveFolderOf(uint64_t attempt);
  // `write`, and once more when the disk is full and what is kept for later has made room.
  absl::Status WithRoom(const std::function<absl::Status()>& write) const;

  // agent_logs.cc: what is printed.
  void FollowLog(Attempt& attempt, const v1::Directive& directive);
  void ReadLogs();
  void BeginReading(const AttemptPtr& attempt);
  // One that is asked for is being read for the first time.
  bool AwaitsLogs() const;

  // agent_files.cc: what goes to and comes from the scheduler's disk.
  void BeginFetch(const AttemptPtr& attempt);
  void BeginCheckpointUpload(const AttemptPtr& attempt);
  void BeginHandIn(const AttemptPtr& attempt);
  void OnHandedIn(const AttemptPtr& attempt, const absl::Status& status);
  void ReportWithFewPoints(const AttemptPtr& attempt);
  v1::UploadHeader HeaderOf(const Attempt& attempt, ArtifactKind kind, int step) const;

  // agent_data.cc: what lies in the data folder. The attempt's files are there.
  void BeginVerifying(const AttemptPtr& attempt);
  // `stamps`: of all data sets of the lease.
  void OnVerified(const AttemptPtr& attempt, const absl::StatusOr<std::vector<std::string>>& stamps);
  void WatchVerifying();
  // The data sets that a trainer read when it got no bytes of a file are read anew before the next job of them begins.
  void DoubtDataOf(const AttemptPtr& attempt);
  void OnVerifyingHung();

  // Runs `work` on a thread of the pool, then `then` with its result on the io_context's thread.
  template <typename Work, typename Then>
  void InBackground(Work work, Then then) {
    RunCounted(pool_, pool_work_, std::move(work), std::move(then));
  }
  // The same on the thread that writes and removes files, after all that it was given before.
  template <typename Work, typename Then>
  void OnDisk(Work work, Then then) {
    RunCounted(disk_, disk_work_, std::move(work), std::move(then));
  }
  template <typename Work, typename Then>
  void RunCounted(boost::asio::thread_pool& threads, int& undone, Work work, Then then) {
    ++undone;
    RunOn(threads, std::move(work), [&undone, then = std::move(then)](auto result) mutable {
      --undone;
      then(std::move(result));
    });
  }
  template <typename Work, typename Then>
  void RunOn(boost::asio::thread_pool& threads, Work work, Then then) {
    boost::asio::post(threads, [this, work = std::move(work), then = std::move(then),
                                guard = boost::asio::make_work_guard(io_)]() mutable {
      boost::asio::post(io_, [then = std::move(then), result = work()]() mutable { then(std::move(result)); });
    });
  }

  boost::asio::io_context& io_;
  const AgentOptions options_;
  StateFolder state_;
  Outbox outbox_;
  Ended ended_;
  FileCache cache_;
  const std::unique_ptr<Channels> channels_;
  Transfers transfers_;
  Synchronizer synchronizer_;

  std::set<uint64_t> left_behind_;  // Attempts whose kept results stay until their reports are acknowledged.
  std::set<uint64_t> in_memory_;    // Reports that are nowhere on the disk, nor are their results.
  std::map<uint64_t, AttemptPtr> attempts_;  // All that are held; at most one for each slot is before kHandingIn.
  // Leases that cannot be begun just now, and since when.
  std::map<uint64_t, std::chrono::steady_clock::time_point> turned_down_;
  static constexpr std::chrono::seconds kPauseWithoutFiles{60};  // After a lease whose files did not come, or found no room.
  std::chrono::steady_clock::time_point asks_from_;  // Before it, no lease is asked for.
  std::string refused_;                      // Why the scheduler gives no work.
  bool store_is_not_written_ = false;        // That has been told.
  std::string other_store_;                  // That of the scheduler that answers, while it is not ours,
  std::chrono::steady_clock::time_point other_since_;  // and since when nothing was trained meanwhile.
  std::optional<std::chrono::steady_clock::time_point> nothing_to_do_since_;  // By the scheduler's answers.
  bool leaving_ = false;
  bool awaited_is_told_ = false;  // When leaving: what is still to be handed in.
  absl::Status ends_with_;  // Why it leaves, where that is an error.
  bool ended_already_ = false;
  std::chrono::steady_clock::time_point idle_since_;  // When leaving: since when nothing trains, and no file goes further.
  int64_t uploaded_before_ = 0;                       // When leaving: Transfers::uploaded() at the last look.
  boost::asio::steady_timer leave_timer_;
  std::chrono::steady_clock::time_point trainers_for_all_at_;  // When each attempt that waits last had a trainer to expect.
  boost::asio::steady_timer waiting_timer_;
  boost::asio::steady_timer log_timer_;

  TrainerProcesses trainers_;
  std::vector<std::unique_ptr<TrainerSlot>> slots_;  // As many as options_.packs. The first is never cold once started.
  v1::Abilities abilities_;  // Once a trainer has been ready.
  int pack_limit_ = 0;       // 0: not measured yet.
  bool ever_ready_ = false;  // With all abilities known.
  int packs_at_end_ = 0;     // Of the process that several share: how many it trained when its end began, until it is started anew.
  int suspects_at_a_time_ = 1;

  std::deque<AttemptPtr> verifying_;   // Whose data sets are read, or will be after those of the ones before.
  std::atomic<int64_t> data_read_{0};  // Bytes of data sets, by the thread of `reader_`,
  int64_t data_read_before_ = 0;       // and as of the last look.
  HangWatch data_watch_;
  std::chrono::steady_clock::time_point data_watched_at_;
  boost::asio::steady_timer data_timer_;

  // Given to `pool_`, and to `disk_` to be written or removed there, and not done.
  int pool_work_ = 0;
  int disk_work_ = 0;
  boost::asio::thread_pool disk_{1};
  boost::asio::thread_pool reader_{1};  // Of data sets: one is read after the other.
  // A transfer for each attempt that may be held, and two of checkpoints that are called off and not over yet. All three are last, so
  // that their threads end first.
  boost::asio::thread_pool pool_;
};

}  // namespace longreach::agent
