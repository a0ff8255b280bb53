// A worker that keeps strictly to worker.proto: what it holds lies in memory, reports of finished attempts on its disk.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/simulation/cluster.h"

namespace longreach::simulation {

class WorkerProcess;

// What outlives the process.
struct Machine {
  int number = 0;  // In the network.
  std::string id;
  uint64_t incarnation = 0;
  std::map<uint64_t, v1::AttemptReport> outbox;
  v1::Abilities abilities;
  int slots = 1;
  double speed = 1;        // Of its clock: what it takes for a second.
  bool broken = false;     // Every attempt fails on it.
  Duration wall_off{};     // Its wall clock beside the scheduler's.
  int64_t lives = 0;       // Ids that it has had.
  std::shared_ptr<WorkerProcess> process;  // Null: it is down.
};

// Shared by what runs on all machines.
struct Habits {
  bool calm = false;            // No faults of their own any more.
  double trainer_crash = 0;     // In each step forward.
  double impatient = 0;         // A call is ended for another at once.
  double not_ready = 0;         // A call says that no attempt can be taken.
};

class WorkerProcess : public std::enable_shared_from_this<WorkerProcess> {
 public:
  WorkerProcess(Cluster& cluster, Machine& machine, const Habits& habits);
  void Start() { CallAfter(0); }

  // kill -9; its connection may be seen to break.
  void Kill();
  // SIGTERM: gives back what it holds, then ends.
  void Leave();
  // SIGSTOP and SIGCONT.
  void Freeze(Duration time) { frozen_until_ = std::max(frozen_until_, cluster_.world.now() + time); }
  // It goes on beside its successor, with a copy of the disk.
  void BecomeZombie() { zombie_ = true; }
  bool alive() const { return alive_; }
  uint64_t incarnation() const { return incarnation_; }

 private:
  struct Held {
    v1::Lease lease;
    std::vector<int> jobs;
    std::set<int> dropped;
    enum class Stage { kFetching, kTraining, kHandingIn } stage = Stage::kFetching;
    int step = 0;
    int start = 0;
    std::optional<int> began_at = {};  // That is before the step of its lease, and the scheduler has not said that it knows.
    int steps = 0;
    int checkpoint = 0;  // Step of the newest.
    bool stopping = false;
    std::vector<v1::ProgressPoint> points;
  };

  // Runs on this process's time; never once it has ended, later while it is frozen.
  void Later(double local_s, std::function<void()> action);
  void Wake(const std::function<void()>& action);
  void CallAfter(double local_s);
  void Call();
  void News();
  void OnAnswer(const v1::SynchronizeRequest& sent, const absl::StatusOr<v1::SynchronizeResponse>& answer);
  bool Follow(const v1::SynchronizeRequest& sent, const v1::SynchronizeResponse& response);
  bool Take(const v1::Lease& lease);
  bool IsNoop(const v1::Lease& lease) const;
  bool Echo(const v1::Lease& lease);
  void Fetch(uint64_t attempt, bool newest);
  void CheckFile(const v1::ArtifactRef& ref, std::string_view kind, const std::string& job, const absl::StatusOr<std::string>& bytes);
  void Train(uint64_t attempt);
  void Checkpoint(uint64_t attempt, bool last);
  void HandIn(uint64_t attempt);
  void Stop(uint64_t attempt);
  void Report(uint64_t attempt, v1::AttemptReport::Outcome outcome, const std::string& detail);
  void Upload(uint64_t attempt, const std::string& kind, int step, const std::vector<int>& jobs, const Cluster::Receive<bool>& then);
  Held* Find(uint64_t attempt);
  void End();
  void BreakCall();
  World& world() { return cluster_.world; }

  Cluster& cluster_;
  Machine& machine_;
  const Habits& habits_;
  const std::string id_;
  const uint64_t incarnation_;
  bool alive_ = true;
  bool zombie_ = false;
  bool leaving_ = false;
  SteadyTime frozen_until_{};
  std::map<uint64_t, v1::AttemptReport> outbox_;  // Of the machine's; a zombie's goes its own way.
  std::map<uint64_t, Held> held_;
  uint64_t sequence_ = 0;
  uint64_t in_flight_ = 0;      // Its sequence number; 0: none.
  std::shared_ptr<const v1::SynchronizeRequest> sent_;
  bool news_ = false;
  bool call_due_ = false;
};

}  // namespace longreach::simulation
