// A scheduler as a simulation sees it: a process that can be killed at any moment, on something that outlives it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "longreach/v1/api.pb.h"
#include "longreach/v1/worker.pb.h"
#include "proto/base/status.h"
#include "tests/simulation/model.h"
#include "tests/simulation/world.h"

namespace longreach::simulation {

// What goes wrong with a group of events.
enum class Hazard {
  kNone,
  kCrashBeforeCommit,   // All of it is undone.
  kCrashAfterCommit,    // All of it is written, and nobody is told.
  kCrashWhileAnswering, // Some are told.
  kStoreFull,           // It cannot be written; the process lives on.
};

inline constexpr Duration kLeaseTerm = seconds(15);

// From an event to its group: as long as the disk takes for the group before.
inline Duration GroupDelay(Dice& dice) { return Seconds((dice.Chance(0.2) ? 0.2 : 0.005) * dice.Part()); }

class Scheduler {
 public:
  using SyncAnswer = std::function<void(const absl::StatusOr<v1::SynchronizeResponse>&)>;
  using Answer = std::function<void(absl::Status)>;

  virtual ~Scheduler() = default;

  // A new process on what is committed. `anew`: the store's file is closed and opened, too.
  virtual void Start(bool anew) = 0;
  // The process ends, as by kill -9: calls that are open get no answer.
  virtual void Crash() = 0;

  // Whoever needs a call later shares it: calls are most of what a simulation makes.
  using SyncCall = std::shared_ptr<const v1::SynchronizeRequest>;
  virtual void Synchronize(const SyncCall& call, SyncAnswer answer) = 0;
  virtual void Forget(const v1::SynchronizeRequest& request) = 0;
  virtual void Submit(int sweep, std::optional<int> priority, Answer answer) = 0;
  virtual void SteerSweep(int sweep, v1::SteerSweepRequest::Action action, int priority, Answer answer) = 0;
  // Cancels some of its jobs alone, or retries them.
  virtual void SteerJobs(int sweep, bool cancels, const Some& some, Answer answer) = 0;
  virtual void SteerWorker(const std::string& worker, bool drain, Answer answer) = 0;
  virtual void Upload(const v1::UploadHeader& header, const std::string& bytes, Answer answer) = 0;
  virtual absl::StatusOr<std::string> Download(const std::string& sha256) = 0;

  // When it has something to do by itself, or with what it was given.
  virtual std::optional<SteadyTime> Next() = 0;
  // Does it, as one group.
  virtual void RunGroup() = 0;
  // A hazard has ended the process: Crash() and Start() must follow before anything else.
  virtual bool crashed() const = 0;

  // What is committed, as the reference model has it now.
  virtual const Model& model() const = 0;
  // Groups of events that were run, and events in them.
  int64_t events = 0;

  // Points of loss curves that workers were told are on disk.
  struct Point {
    int job = 0;
    int step = 0;
    auto operator<=>(const Point&) const = default;
  };
  // Compares everything with the model, runs the ledger check, and looks at what was acknowledged.
  // `begins`: the steps at which attempts began, by what workers were told is on disk.
  virtual void CheckAll(const std::set<Point>& points, const std::map<uint64_t, int>& begins) = 0;
  // State and results of every job, in order of ids.
  virtual std::string Table() = 0;
};

// Says what goes wrong with the next group.
using Hazards = std::function<Hazard()>;

// The real engine on a real store, in a folder that is made and removed.
// `plant`: one of plants.h, or empty.
std::unique_ptr<Scheduler> MakeStoreScheduler(World& world, const Universe& universe, Hazards hazards, const std::string& plant);
// scheduler/core's pure functions on a small store in memory.
std::unique_ptr<Scheduler> MakeCoreScheduler(World& world, const Universe& universe, Hazards hazards);

}  // namespace longreach::simulation
