#include "tests/simulation/simulation.h"

#include <algorithm>
#include <array>
#include <mutex>

#include <fmt/format.h>

#include "tests/simulation/user.h"
#include "tests/simulation/worker.h"

namespace longreach::simulation {
namespace {

// Far more than any seed needs: jobs that are not done by then never will be.
constexpr Duration kPatience = std::chrono::hours(12);

class Simulation {
 public:
  Simulation(const Options& options, int universe)
      : options_(options),
        world_(options.seed * 2 + (options.kind == Kind::kStore ? 1 : 0), options.verbose),
        universe_(UniverseOf(universe)),
        cluster_(world_, universe_, MakeScheduler()),
        user_(cluster_) {}

  Outcome Run() {
    MakeMachines();
    if (options_.disturbed) BeginFaults();
    else Calm();
    user_.Start();
    const SteadyTime give_up = world_.now() + kPatience;
    while (world_.violation().empty() && !(std::exchange(news_, false) && calm_ && IsDone())) {
      if (world_.now() > give_up) {
        world_.Violation(fmt::format("the faults have stopped, and not all jobs come to an end: {}", Open()));
        break;
      }
      Step();
    }
    if (world_.violation().empty()) Finish();
    return {.violation = world_.violation(),
            .hash = world_.hash(),
            .tally = world_.tally,
            .events = cluster_.scheduler().events,
            .table = table_};
  }

 private:
  std::unique_ptr<Scheduler> MakeScheduler() {
    const Hazards hazards = [this] { return PickHazard(); };
    return options_.kind == Kind::kStore ? MakeStoreScheduler(world_, universe_, hazards, options_.plant) : MakeCoreScheduler(world_, universe_, hazards);
  }

  // ---- What there is.

  void MakeMachines() {
    const int count = options_.workers > 0 ? options_.workers : world_.dice.Between(3, 5);
    machines_.resize(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
      Machine& machine = machines_[static_cast<size_t>(i)];
      machine.number = i + 1;
      machine.id = fmt::format("w{}-0", machine.number);
      machine.slots = world_.dice.Chance(0.3) ? 2 : 1;
      machine.speed = options_.disturbed ? 0.5 + 1.5 * world_.dice.Part() : 1;
      SetAbilities(machine, i == 0);
      world_.After(Seconds(3 * world_.dice.Part()), [this, &machine] { Boot(machine); });
    }
  }

  // The first machine can do everything, so that every job can come to its end.
  void SetAbilities(Machine& machine, bool all) {
    v1::Abilities& abilities = machine.abilities;
    abilities.set_name(fmt::format("machine-{}", machine.number));
    abilities.set_build("simulated");
    abilities.set_device("none");
    abilities.set_threads(1);
    abilities.set_pack_limit(world_.dice.Between(1, 4));
    for (const char* experiment : {"algorithmic", "noop"}) abilities.add_experiments(experiment);
    abilities.set_model_revision(1);
    std::set<std::string> tasks, encodings;
    for (const Job& job : universe_.jobs) {
      tasks.insert(job.task);
      encodings.insert(job.encoding);
    }
    for (const std::string& task : tasks) {
      v1::Ability& ability = *abilities.add_tasks();
      ability.set_name(task);
      ability.set_revision(1);
    }
    for (const std::string& encoding : encodings) {
      if (!all && world_.dice.Chance(0.2)) {
        world_.Count("refusal: encoding that a worker lacks");
        continue;
      }
      v1::Ability& ability = *abilities.add_encodings();
      ability.set_name(encoding);
      const bool other = !all && world_.dice.Chance(0.1);
      if (other) world_.Count("refusal: revision that a worker lacks");
      ability.set_revision(other ? 2 : 1);
    }
  }

  void Boot(Machine& machine) {
    if (machine.process) return;
    const int64_t wall = (world_.clock.Wall() + machine.wall_off).time_since_epoch().count();
    machine.incarnation = std::max(machine.incarnation + 1, static_cast<uint64_t>(std::max<int64_t>(1, wall)));
    machine.process = std::make_shared<WorkerProcess>(cluster_, machine, habits_);
    world_.Log(fmt::format("worker {} starts", machine.id));
    machine.process->Start();
  }

  // ---- What goes on.

  void Step() {
    const SteadyTime scheduler = cluster_.NextAt();
    if (scheduler > world_.NextAt()) return world_.RunNext();
    world_.clock.Set(std::max(world_.now(), scheduler));
    cluster_.scheduler().RunGroup();
    news_ = true;
    cluster_.NoticeCrash();
    if (!calm_ && cluster_.scheduler().events >= options_.min_events && world_.tally.contains("fault: scheduler crashed")) Calm();
  }

  Hazard PickHazard() {
    if (calm_) return Hazard::kNone;
    const double part = world_.dice.Part();
    const std::array<std::pair<Hazard, const char*>, 4> hazards = {{{Hazard::kCrashBeforeCommit, "hazard: crash before commit"},
                                                                    {Hazard::kCrashAfterCommit, "hazard: crash after commit"},
                                                                    {Hazard::kCrashWhileAnswering, "hazard: crash while answering"},
                                                                    {Hazard::kStoreFull, "hazard: store full"}}};
    for (size_t i = 0; i < hazards.size(); ++i) {
      if (part >= hazard_ * static_cast<double>(i + 1)) continue;
      world_.Count(hazards[i].second);
      world_.Log(fmt::format("{}", hazards[i].second));
      return hazards[i].first;
    }
    return Hazard::kNone;
  }

  void BeginFaults() {
    Dice& dice = world_.dice;
    cluster_.network.Set({.loss = 0.1 * dice.Part(), .repeat = 0.05 * dice.Part(), .late = 0.05 * dice.Part()});
    habits_ = {.calm = false,
               .trainer_crash = 0.03 * dice.Part(),
               .impatient = (dice.Chance(0.2) ? 0.8 : 0.1) * dice.Part(),
               .not_ready = (dice.Chance(0.3) ? 0.5 : 0.1) * dice.Part()};
    hazard_ = 0.01 * dice.Part();
    pace_s_ = 3 + 12 * dice.Part();
    world_.After(Seconds(30 * dice.Part()), [this] { KillScheduler(); });
    NextFault();
  }
  void NextFault() {
    world_.After(Seconds(pace_s_ * 2 * world_.dice.Part()), [this] {
      if (calm_) return;
      Fault();
      NextFault();
    });
  }

  void KillScheduler() {
    if (calm_) return;
    cluster_.Crash();
  }

  void Fault() {
    Dice& dice = world_.dice;
    // Whatever is down comes back after a while, by whoever looks after it.
    if (!cluster_.up() && dice.Chance(0.6)) return cluster_.Start(dice.Chance(0.3));
    Machine& machine = machines_[static_cast<size_t>(dice.Below(static_cast<int>(machines_.size())))];
    if (!machine.process) {
      if (dice.Chance(0.1)) LoseDisk(machine);
      return Boot(machine);
    }
    switch (dice.Below(14)) {
      case 0: return KillScheduler();
      case 1: return Kill(machine);
      case 2:
        Kill(machine);
        return Boot(machine);
      case 3: return Note(machine, "worker asked to leave", [&] { machine.process->Leave(); });
      case 4: return Note(machine, "worker frozen", [&] { machine.process->Freeze(Seconds(60 * dice.Part())); });
      case 5: return Cut(machine, dice.Below(3));
      case 6: return Note(machine, "partition healed", [&] { cluster_.network.Heal(machine.number); });
      case 7: return Note(machine, "scheduler's wall clock jumped", [&] { world_.clock.JumpWall(std::chrono::hours(dice.Between(-24, 24))); });
      case 8: return Note(machine, "worker's wall clock jumped", [&] { machine.wall_off += std::chrono::hours(dice.Between(-24, 24)); });
      case 9: return Note(machine, "worker's clock drifts", [&] { machine.speed = 0.5 + 1.5 * dice.Part(); });
      case 10:
        Kill(machine);
        LoseDisk(machine);
        return Boot(machine);
      case 11:
        return Note(machine, "zombie beside its successor", [&] {
          zombies_.push_back(std::move(machine.process));
          zombies_.back()->BecomeZombie();
          machine.process.reset();
          Boot(machine);
        });
      case 12: return Note(machine, "machine breaks every attempt, or no more", [&] { machine.broken = !machine.broken; });
      default: return Note(machine, "pack limit changed", [&] { machine.abilities.set_pack_limit(dice.Between(1, 4)); });
    }
  }
  void Note(const Machine& machine, std::string_view what, const std::function<void()>& happen) {
    world_.Count(fmt::format("fault: {}", what));
    world_.Log(fmt::format("fault: {} ({})", what, machine.id));
    happen();
  }
  void Kill(Machine& machine) {
    Note(machine, "worker killed", [&] {
      machine.process->Kill();
      machine.process.reset();
    });
  }
  void Cut(const Machine& machine, int ways) {
    Note(machine, "partition", [&] {
      if (ways != 0) cluster_.network.Cut(machine.number, Network::Way::kToScheduler);
      if (ways != 1) cluster_.network.Cut(machine.number, Network::Way::kFromScheduler);
    });
  }
  void LoseDisk(Machine& machine) {
    Note(machine, "machine lost with its disk", [&] {
      machine.id = fmt::format("w{}-{}", machine.number, ++machine.lives);
      machine.outbox.clear();
      machine.incarnation = 0;
    });
  }

  // ---- How it ends.

  void Calm() {
    calm_ = true;
    world_.Log("the faults stop");
    cluster_.network.Set({});
    habits_ = {.calm = true};
    for (const Machine& machine : machines_) cluster_.network.Heal(machine.number);
    user_.Calm();
    LookAfter();
  }
  // What systemd, Slurm and people do.
  void LookAfter() {
    world_.After(seconds(5), [this] {
      if (!cluster_.up()) cluster_.Start(true);
      for (Machine& machine : machines_) Boot(machine);
      LookAfter();
    });
  }

  bool IsDone() {
    if (!cluster_.up()) return false;
    const Model& model = cluster_.scheduler().model();
    for (size_t job = 0; job < universe_.jobs.size(); ++job) {
      if (!IsAtItsEnd(model, static_cast<int>(job))) return false;
    }
    return true;
  }
  bool IsAtItsEnd(const Model& model, int job) const {
    const Model::JobState state = model.jobs()[static_cast<size_t>(job)].state;
    return universe_.IsHopeless(job) ? state == Model::JobState::kFailed : state == Model::JobState::kSucceeded;
  }
  std::string Open() {
    std::string open;
    const Model& model = cluster_.scheduler().model();
    for (size_t job = 0; job < universe_.jobs.size(); ++job) {
      if (IsAtItsEnd(model, static_cast<int>(job))) continue;
      const Model::JobLife& life = model.jobs()[job];
      open += fmt::format(" {} (state {}, attempt {})", universe_.jobs[job].id.substr(0, 8), static_cast<int>(life.state), life.attempt);
    }
    return open;
  }

  void Finish() {
    Scheduler& scheduler = cluster_.scheduler();
    scheduler.CheckAll(cluster_.points, cluster_.begins);
    cluster_.CheckAcknowledged();
    const Model& model = scheduler.model();
    const size_t attempts = model.outcomes().size();
    if (options_.disturbed && attempts < 10) world_.Violation(fmt::format("only {} packs: the seed is too small to show anything", attempts));
    for (const std::string_view outcome : model.outcomes()) world_.Count(fmt::format("outcome: {}", outcome.empty() ? "runs" : outcome));
    world_.Count("refusal: report of a stale attempt", model.refusals().stale_reports);
    world_.Count("refusal: result that cannot be accepted", model.refusals().results);
    world_.Count("refusal: job failed for an input", model.refusals().inputs);
    world_.Count("refusal: worker put aside", model.refusals().put_aside);
    world_.Count("refusal: worker put aside for sweeps", model.refusals().aside_for_sweeps);
    for (const Model::JobLife& job : model.jobs()) {
      if (job.losses > 0) world_.Count("job with losses");
    }
    world_.Count("virtual seconds", world_.now().time_since_epoch().count() / 1'000'000);
    world_.Log("the end");
    table_ = scheduler.Table();
  }

  const Options options_;
  World world_;
  const Universe& universe_;
  bool calm_ = false;
  bool news_ = false;  // A group has run.
  double hazard_ = 0;
  double pace_s_ = 5;
  Habits habits_;
  Cluster cluster_;
  User user_;
  std::vector<Machine> machines_;
  std::vector<std::shared_ptr<WorkerProcess>> zombies_;
  std::string table_;
};

// The table of an undisturbed run, made once for each universe.
const std::string& UndisturbedTable(Kind kind, int universe) {
  static std::mutex mutex;
  static std::map<std::pair<Kind, int>, std::string> tables;
  const std::lock_guard lock(mutex);
  std::string& table = tables[{kind, universe}];
  if (!table.empty()) return table;
  const Outcome outcome = Simulation({.kind = kind, .seed = static_cast<uint64_t>(universe), .disturbed = false}, universe).Run();
  table = outcome.violation.empty() ? outcome.table : "the undisturbed run failed: " + outcome.violation;
  return table;
}

}  // namespace

Outcome Simulate(const Options& options) {
  const int universe = UniverseOfSeed(options.seed);
  Outcome outcome = Simulation(options, universe).Run();
  if (!outcome.violation.empty() || !options.disturbed) return outcome;
  const std::string& expected = UndisturbedTable(options.kind, universe);
  if (outcome.table != expected) {
    outcome.violation = fmt::format("the final table differs from that of an undisturbed run:\n{}\ninstead of\n{}", outcome.table, expected);
  }
  return outcome;
}

std::vector<std::string> Listed(Kind kind) {
  std::vector<std::string> listed = {
      "directive: CONTINUE",
      "directive: DROP",
      "directive: STOP",
      "directive: member dropped",
      "fault: call ended for a newer one",
      "fault: call without an answer",
      "fault: machine breaks every attempt, or no more",
      "fault: machine lost with its disk",
      "fault: message delayed",
      "fault: message lost",
      "fault: message lost in a partition",
      "fault: message repeated",
      "fault: newest checkpoint cannot be read",
      "fault: pack limit changed",
      "fault: partition",
      "fault: partition healed",
      "fault: scheduler crashed",
      "fault: scheduler not there",
      "fault: scheduler's wall clock jumped",
      "fault: store opened anew",
      "fault: trainer crashed",
      "fault: worker asked to leave",
      "fault: worker frozen",
      "fault: worker killed",
      "fault: worker's clock drifts",
      "fault: worker's wall clock jumped",
      "fault: zombie beside its successor",
      "hazard: crash after commit",
      "hazard: crash before commit",
      "hazard: crash while answering",
      "hazard: store full",
      "jobs came after their submission broke off",
      "jobs followed after a steering broke off",
      "jobs followed their sweep in slices",
      "lease taken",
      "no-op job taken",
      "outcome: dropped",
      "outcome: failed",
      "outcome: given_back",
      "outcome: lost",
      "outcome: poisoned",
      "outcome: reported FAILED",
      "outcome: reported GIVEN_BACK",
      "outcome: reported SUCCEEDED",
      "outcome: succeeded",
      "refusal: a zombie's call",
      "refusal: encoding that a worker lacks",
      "refusal: job failed for an input",
      "refusal: lease ran out",
      "refusal: lease ended with a broken call",
      "refusal: overtaken call",
      "refusal: report of a stale attempt",
      "refusal: result that cannot be accepted",
      "refusal: revision that a worker lacks",
      "refusal: steering of a cancelled sweep",
      "refusal: steering of an unknown sweep",
      "refusal: steering of jobs that cannot be steered",
      "refusal: steering of an unknown worker",
      "refusal: upload of a stale attempt",
      "refusal: worker gets no work",
      "refusal: worker put aside",
      "refusal: worker put aside for sweeps",
      "some jobs were cancelled",
      "some jobs were retried",
      "told that it began before its lease's step",
      "upload: checkpoint",
      "upload: weights",
      "user: cancel",
      "user: cancel of some jobs",
      "user: drain",
      "user: pause",
      "user: priority",
      "user: resume",
      "user: retry",
      "user: retry of some jobs",
      "user: submit",
      "user: undo drain",
      "went on from a checkpoint",
  };
  // The core alone keeps no files, does not look at connections, and takes a sweep at once.
  if (kind == Kind::kCore) {
    std::erase(listed, "fault: newest checkpoint cannot be read");
    std::erase(listed, "jobs came after their submission broke off");
    std::erase(listed, "jobs followed after a steering broke off");
    std::erase(listed, "jobs followed their sweep in slices");
    std::erase(listed, "refusal: lease ended with a broken call");
    std::erase(listed, "told that it began before its lease's step");
    std::erase(listed, "went on from a checkpoint");
  }
  return listed;
}

}  // namespace longreach::simulation
