// The scheduler itself: takes what clients and workers ask, decides within events of the writer, and answers.
//
// It knows neither gRPC nor threads nor a clock of its own: calls come with a function that takes the answer, events go to whoever
// runs them (store::Writer, or a simulator, one group after the other), time is a Clock. SQLite holds the only copy of every fact;
// what lies in memory here are times of this process's steady clock, calls that are held open, and numbers on their way to the store.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "longreach/v1/api.pb.h"
#include "longreach/v1/worker.pb.h"
#include "proto/base/clock.h"
#include "proto/base/status.h"
#include "proto/base/synchronized.h"
#include "proto/types/wire_limits.h"
#include "scheduler/core/deadlines.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/service/effects.h"
#include "scheduler/service/leasing.h"
#include "scheduler/service/limits.h"
#include "scheduler/service/live_board.h"
#include "scheduler/service/log_board.h"
#include "store/sweeps.h"
#include "store/store.h"
#include "store/writer.h"

namespace longreach::service {

struct EngineOptions {
  // A lease ends when its worker has not called for this long.
  std::chrono::microseconds lease_term = std::chrono::seconds(15);
  // What workers are asked to keep to; well below the lease term.
  std::chrono::microseconds renew_every = std::chrono::seconds(5);
  // A worker whose newest call broke off has this long to come back before others may have its attempts.
  std::chrono::microseconds come_back_within = std::chrono::seconds(1);
  // A call without news is held open for this long.
  std::chrono::microseconds hold = std::chrono::seconds(5);
  // Seen-times, steps and loss curves are written this often.
  std::chrono::microseconds write_every = std::chrono::seconds(3);
  // The same for when a worker was last heard of; of one that has become silent it is written at once.
  std::chrono::microseconds write_seen_every = std::chrono::minutes(1);
  // Of a sweep without inputs, so many jobs are written with one event: a few milliseconds.
  int64_t jobs_in_slice = 250;
  // Of a sweep that is steered, so many follow with one event.
  int64_t jobs_settled_in_slice = 500;
  // So many such events wait for the writer at a time.
  size_t slices_in_flight = 32;
  // More workers than this are refused.
  size_t max_workers = 10'000;
  // Names of data sets are kept as workers announce them until there are so many, which go with one answer; further ones only when a job asks for them.
  int64_t max_data_sets = 30'000;
  // Workers that were there when the store was last written may call; false: none does, as somebody only looks at the store, or a parent keeps this scheduler for
  // itself.
  bool awaits_workers = true;
  // Logs of running attempts that are followed.
  LogLimits logs = {};
  // What jobs that are submitted now are computed by.
  experiments::Revisions revisions = experiments::CatalogRevisions();
  // Leases that do not fit into an answer of this size go with a later one.
  size_t answer_bytes = kMaxContentBytes;
  // The store's files: a job whose input's file is lost fails by itself, and no worker is blamed for it. Null: nobody looks.
  const store::ArtifactFiles* files = nullptr;
  // What whoever runs the scheduler is to know. Null: nobody is told.
  std::function<void(const std::string& line)> log = nullptr;
  // What has happened, once it is on disk; called without the engine's lock. Null: nobody is told.
  std::function<void(const News& news)> news = nullptr;
};

// What workers can do, as the store keeps it: a text that is made when it changes, and not with every call.
class AbilitiesJson {
 public:
  absl::StatusOr<std::string> Of(const std::string& worker, const v1::Abilities& abilities);

 private:
  static constexpr size_t kMost = 20'000;  // Then it begins anew.
  struct Text {
    std::string bytes;  // The message that it was made of.
    std::string json;
  };
  std::map<std::string, Text> texts_;
};

class Engine {
 public:
  template <typename Reply>
  using Answer = std::function<void(absl::StatusOr<Reply>)>;

  // Events go to `submit`; `wake` is called when NextDeadline() may have become earlier. Both are called without the engine's lock.
  Engine(const Clock& clock, const EngineOptions& options, std::function<void(store::Event)> submit, std::function<void()> wake);

  // Before anything else: every lease in the store gets a full term, and workers are told which store it is.
  absl::Status Restore(sql::Connection& db);

  // The worker's call. The answer comes exactly once, on any thread, perhaps before this returns.
  void Synchronize(v1::SynchronizeRequest request, Answer<v1::SynchronizeResponse> answer);
  // A call broke off before its answer arrived: the worker's process or its connection has ended. If it was held open, it is answered
  // with CANCELLED. Of a worker's newest call, that means that its attempts are free for others as soon as somebody asks for work,
  // unless it comes back at once: fencing makes that safe. While nobody asks, it has its whole lease to come back in, so that a proxy
  // or a network that fails under all workers costs nobody its work.
  void Forget(const std::string& worker, uint64_t incarnation, uint64_t sequence);

  // Makes sure that all jobs of a sweep are in the store and wanted. Blocks its thread until they are on disk; a large sweep goes in
  // several events, so that workers do not wait for it, and its first jobs can be trained while the others come. When that breaks off, the
  // sweep is there, the engine goes on by itself, and so does whoever submits it again. A dry run ends when `given_up` says so. `by`, here and below: who asks, for the log.
  absl::StatusOr<v1::SubmitSweepResponse> SubmitSweep(const v1::SubmitSweepRequest& request, store::Store& store,
                                                      const std::function<bool()>& given_up = [] { return false; }, const std::string& by = {});
  // The jobs of a large sweep follow in several events; the answer comes after the last.
  void SteerSweep(v1::SteerSweepRequest request, Answer<v1::Sweep> answer, const std::string& by = {});
  void SteerWorker(v1::SteerWorkerRequest request, Answer<v1::WorkerInfo> answer, const std::string& by = {});
  // Names an uploaded file, which lies in the artifacts folder, if the attempt holds its lease; the time that the rows have. When it is
  // refused and the file came with it, the file goes. As MembersOfUpload (uploads.h).
  void RecordUpload(v1::UploadHeader header, store::Pin pin, Answer<WallTime> answer);

  // Somebody has begun to follow the log of an attempt: if a call of its worker is held open, it is answered, and asks for it.
  void AskForLog(int64_t attempt);

  // Within an event that someone else runs (a merge): jobs that are no longer their attempts'. Carry() must follow in its `done`.
  absl::Status DropMembers(sql::Transaction& tx, std::span<const store::DroppedJob> dropped, Effects& effects) const;
  // Carries out in memory what a committed event has done, and lets workers know.
  void Carry(const Effects& effects);
  // Lets the log know.
  void Tell(const std::vector<News>& news) const;

  // For the writer: when AtDeadline() has something to do.
  std::optional<SteadyTime> NextDeadline();
  // Ends leases that ran out, writes what was gathered, answers calls that were held long enough.
  store::Event AtDeadline(SteadyTime now);

  // All calls that are held open are answered with UNAVAILABLE, and so is every further one. What goes in slices breaks off in the same way.
  void Shutdown();
  // After that, the last event: writes when each worker last called, which the store has once a minute only. Nothing: it has them all.
  std::optional<store::Event> AtEnd();

  LiveBoard& board() { return board_; }
  LogBoard& logs() { return logs_; }

 private:
  struct Call {
    v1::SynchronizeRequest request;
    Answer<v1::SynchronizeResponse> answer;
  };
  using CallPtr = std::shared_ptr<Call>;
  // Within an event: does a part of something large. Whether there is more.
  using NextSlice = std::function<absl::StatusOr<bool>(sql::Transaction&, Effects&)>;

  // Attempts that a worker could take beside those that it has.
  static Room RoomOf(const v1::SynchronizeRequest& request);
  static bool HasPoints(const v1::SynchronizeRequest& request);

  // What is remembered of a worker between two calls.
  struct WorkerMemory {
    std::string name;        // As its last call has it, for the log.
    bool came = false;       // It was gone, or is new, and the log does not say yet that it is here.
    uint64_t incarnation = 0;
    uint64_t sequence = 0;
    WallTime seen_at{};
    SteadyTime called_at{};  // Or when its attempts got a second term.
    bool unwritten = false;  // seen_at is not in the store yet,
    std::optional<SteadyTime> written_at = {};  // but one of this time.
    bool broken = false;     // The newest call broke off.
    Room room = {};          // What the newest call could take and has not got.
    bool refused = false;    // It would not be given any.
    // The last call that found nothing to do, as it looked; the same again needs no event while nothing has changed.
    struct Quiet {
      std::string shape;
      v1::SynchronizeResponse response;
    };
    std::optional<Quiet> quiet;
    uint64_t quiet_epoch = 0;
    std::set<int64_t> attempts;  // Running ones, as far as the store knows.
    // What this incarnation was last told beside leases: telling it again is no news.
    std::string told;
    CallPtr held;                           // Held open.
    v1::SynchronizeResponse held_response;  // Its answer if nothing happens.
    uint64_t changes = 0;                   // Grows with each effect on this worker.
  };
  struct AttemptMemory {
    LiveAttempt live;
    int start_step = 0;  // As the store has it.
    std::vector<v1::ProgressPoint> points;  // Not written yet.
    bool unwritten = false;
    bool spared = false;  // Has got a second term since its worker's last call, or gets none.
  };
  struct Memory {
    std::map<std::string, WorkerMemory> workers;
    std::map<int64_t, AttemptMemory> attempts;
    core::Deadlines<int64_t> leases;
    core::Deadlines<std::string> silences;  // When a worker counts as gone.
    std::set<std::string> gone;             // Workers that do, and are remembered as long as something of theirs is open.
    core::Deadlines<std::string> holds;     // When a held call is answered.
    std::map<std::string, SteadyTime> broken;  // Workers with attempts whose newest call broke off: when these are free for others.
    core::Deadlines<int64_t> unfinished;    // Sweeps of which jobs are to come, or to follow, and nobody sees to it: when the next slice is.
    std::optional<SteadyTime> write_at;
    uint64_t epoch = 0;                     // Grows when there may be new work.
    bool stopping = false;
  };
  // What a worker's event has come to.
  struct Decision {
    v1::SynchronizeResponse response;
    Effects effects;
    std::string told;
    uint64_t epoch = 0;    // Of the memory when it was decided: a later one may have news.
    uint64_t changes = 0;
    std::string name;      // Of the worker.
    bool gave_up = false;  // Not all that may be ready was looked at: the same call may be answered otherwise later.
  };

  // running_logs.cc: logs that somebody follows come with calls, and are asked for with answers. They are never part of an event.
  void TakeLogs(const v1::SynchronizeRequest& request, const Memory& memory);
  // Whether a call should be answered at once for their sake: its worker does not know from where on they are wanted now, or that they are not any more.
  bool AsksAnew(const v1::SynchronizeRequest& request, const Memory& memory) const;
  // Answers a call with what was decided on it, and asks for logs.
  void Give(const CallPtr& call, v1::SynchronizeResponse response);

  // calls.cc: workers' calls on their way in and out.
  absl::Status Arrive(const CallPtr& call, Memory& memory, CallPtr& overtaken);
  // It says of an attempt that it began before the step that the store has (began.h).
  static bool TellsOfABegin(const v1::SynchronizeRequest& request, const Memory& memory);
  void NoteProgress(const v1::SynchronizeRequest& request, Memory& memory);
  // The points of a call that is held open until they are written.
  static void GatherPoints(const v1::SynchronizeRequest& request, Memory& memory);
  void Run(CallPtr call);
  // The worker of a call that was decided. If the call waited for a slow disk for so long that its worker counted as gone and was forgotten,
  // the worker is there again: had there been a newer call, it would be known.
  WorkerMemory& CallerOf(const v1::SynchronizeRequest& request, Memory& memory);
  void Finish(const CallPtr& call, const Decision& decision);
  void Hold(const CallPtr& call, const v1::SynchronizeResponse& response, WorkerMemory& worker, Memory& memory);
  static CallPtr Release(const std::string& id, WorkerMemory& worker, Memory& memory);
  // For a worker whose newest call broke off.
  void Shorten(const std::string& id, WorkerMemory& worker, Memory& memory) const;
  std::vector<CallPtr> CarryLocked(const Effects& effects, Memory& memory);

  // steering.cc: what clients change.
  // Within an event: what a client asks of a sweep; with many jobs, what is left to do in slices.
  // `jobs`: how many it has cancelled or queued again, where it says so.
  absl::StatusOr<NextSlice> Steer(sql::Transaction& tx, const store::SweepRow& sweep, const v1::SteerSweepRequest& request,
                                  const std::shared_ptr<std::optional<int>>& jobs, Effects& effects);
  // What is done with a part of a sweep's jobs, which is the last or not.
  using Part = std::function<absl::Status(sql::Transaction& tx, const store::SweepRow& now, store::Positions part, bool last, Effects& effects)>;
  // Its parts for failed jobs, and for jobs that are named.
  Part Retry(const std::shared_ptr<std::optional<int>>& jobs) const;
  absl::StatusOr<Part> SteerJobs(const store::SweepRow& sweep, const v1::SteerSweepRequest& request, const std::shared_ptr<std::optional<int>>& jobs) const;
  // All jobs of a sweep at once, or in slices. Nothing is remembered of this: when it breaks off, whoever asked is told so, and asks again.
  absl::StatusOr<NextSlice> InParts(sql::Transaction& tx, const store::SweepRow& sweep, const Part& part, Effects& effects) const;
  void SubmitSteering(std::function<absl::Status(sql::Transaction&, Effects&)> apply, std::function<void(const absl::Status&)> done,
                      bool bulk = false);
  // The same for what changes nothing of which jobs may be leased, and in which order.
  void SubmitBeside(std::function<absl::Status(sql::Transaction&, Effects&)> apply, std::function<void(const absl::Status&)> done, bool bulk = false);

  // settling.cc: what is done in slices.
  struct Slices;
  // Runs events, several at a time, until one says that there are no more, or fails, or the scheduler ends: UNAVAILABLE (BrokenOffByEnd(), settling.h).
  void InSlices(NextSlice next, bool remembered, std::function<void(const absl::Status&)> done);
  void StartSlice(const std::shared_ptr<Slices>& slices);
  // Within an event: the next slice of a sweep that nobody sees to. Whether there are more.
  absl::StatusOr<bool> GoOn(sql::Transaction& tx, int64_t sweep, Effects& effects);

  // submission.cc: how jobs come.
  class Submission;
  std::future<absl::Status> StartEvent(std::function<absl::Status(sql::Transaction&, Effects&)> apply, bool bulk);
  // Nobody else adds the rest of this sweep's jobs, or makes them follow.
  void GoOnWith(int64_t sweep);
  // Keeps with a new sweep how long it is expected to take, and says so in `told`. One that cannot be written is let go of.
  void KeepExpectation(int64_t sweep, double seconds, v1::Sweep& told);
  // Within an event: adds some of them. Whether there are more.
  absl::StatusOr<bool> AddNextSlice(sql::Transaction& tx, int64_t sweep, Effects& effects);
  // This program cannot make the jobs of it that are to come.
  void NoteStalled(const store::SweepRow& sweep, const absl::Status& why);

  // deadlines.cc: what memory holds on its way to the store.
  struct Gathered {
    std::map<std::string, WallTime> seen;
    std::map<int64_t, std::pair<int, std::vector<v1::ProgressPoint>>> attempts;
  };
  Gathered TakeGathered(SteadyTime now, Memory& memory) const;
  // Adds when those were last heard of that become silent now: the board is about to forget it, and the store has a time of up to a minute
  // before, by which people would be told it, and a lost attempt's cost counted.
  void TakeSilent(SteadyTime now, Memory& memory, Gathered& gathered) const;
  // The same of attempts that a call reports as finished: after that nobody would write it. A copy, as the event may fail.
  Gathered OfFinished(const v1::SynchronizeRequest& request, const Memory& memory) const;
  void PutBack(Gathered gathered, Memory& memory) const;
  static absl::Status WriteGathered(sql::Transaction& tx, const Gathered& gathered, WallTime now);
  struct Lost {
    // Attempts whose leases are over; with a time: because their worker's call broke off, and it would have had until then.
    std::map<int64_t, std::optional<SteadyTime>> attempts;
    std::map<std::string, Room> asking;  // Workers that ask for work: whether they can do these jobs is still to be seen.
  };
  // If nobody asks for work, a worker whose call broke off gets the rest of its term. If this comes late, then the scheduler has stood
  // still (a suspended machine, SIGSTOP) and calls that would have renewed leases wait to be read: as after a start, each gets another
  // term, once.
  Lost TakeLost(SteadyTime now, Memory& memory) const;
  // Both halves of AtDeadline(): within the event, and after it.
  struct DueWork;
  absl::Status EndAllLost(sql::Transaction& tx, Lost lost, WallTime wall, DueWork& work);
  absl::Status WriteDue(sql::Transaction& tx, SteadyTime now, DueWork& work);
  void FollowDue(const absl::Status& status, SteadyTime now, DueWork& work);
  std::vector<News> ForgetSilent(SteadyTime now, Memory& memory);

  void AskToWrite(Memory& memory) const;

  // synchronize.cc: the worker's event.
  absl::Status Decide(sql::Transaction& tx, const v1::SynchronizeRequest& request, Decision& decision);

  const Clock& clock_;
  const EngineOptions options_;
  std::string store_;  // Its identity, from Restore() on.
  const std::function<void(store::Event)> submit_;
  const std::function<void()> wake_;
  LiveBoard board_;
  LogBoard logs_{options_.logs};
  Synchronized<Memory> memory_;
  Leasing leasing_{options_.answer_bytes, options_.files};  // Used within events only, as is
  AbilitiesJson abilities_json_;
  // The sweep that it goes on with by itself.
  std::optional<std::pair<int64_t, experiments::Expansion>> going_on_;
  std::atomic<bool> forget_leasing_ = false;  // What it saw may have been taken back, or there is more now.
};

}  // namespace longreach::service
