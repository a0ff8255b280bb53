#include "tests/simulation/user.h"

#include <fmt/format.h>

namespace longreach::simulation {
namespace {

constexpr int kMachine = 0;  // In the network.
constexpr Duration kDeadline = seconds(20);

}  // namespace

void User::Next() {
  World& world = cluster_.world;
  world.After(calm_ ? Duration(seconds(20)) : Seconds(12 * world.dice.Part()), [this] {
    if (calm_) WantAll();
    else Act();
    Next();
  });
}

void User::Ask(std::function<void(Scheduler&, Scheduler::Answer)> ask, int times) {
  auto answered = std::make_shared<bool>(false);
  cluster_.Call<bool>(
      kMachine,
      [ask](Scheduler& scheduler, const Cluster::Receive<bool>& reply) {
        ask(scheduler, [reply](const absl::Status& status) { status.ok() ? reply(true) : reply(status); });
      },
      [this, answered](const absl::StatusOr<bool>& answer) {
        *answered = answer.ok() || answer.status().code() != absl::StatusCode::kUnavailable;
        if (answer.status().code() == absl::StatusCode::kInternal || answer.status().code() == absl::StatusCode::kInvalidArgument) {
          cluster_.world.Violation(fmt::format("a client hears {}", answer.status().ToString()));
        }
      });
  if (times <= 1) return;
  cluster_.world.After(kDeadline, [this, ask = std::move(ask), answered, times] {
    if (!*answered) Ask(ask, times - 1);
  });
}

void User::Submit(int sweep, std::optional<int> priority) {
  cluster_.world.Count("user: submit");
  Ask([sweep, priority](Scheduler& scheduler, Scheduler::Answer answer) { scheduler.Submit(sweep, priority, std::move(answer)); }, 3);
}

void User::Steer(int sweep, v1::SteerSweepRequest::Action action, int priority) {
  constexpr const char* kNames[] = {"user: ?", "user: pause", "user: resume", "user: cancel", "user: retry", "user: priority"};
  World& world = cluster_.world;
  world.Count(kNames[static_cast<size_t>(action)]);
  Ask(
      [&world, sweep, action, priority](Scheduler& scheduler, Scheduler::Answer answer) {
        scheduler.SteerSweep(sweep, action, priority, [&world, answer = std::move(answer)](const absl::Status& status) {
          if (status.code() == absl::StatusCode::kNotFound) world.Count("refusal: steering of an unknown sweep");
          if (status.code() == absl::StatusCode::kFailedPrecondition) world.Count("refusal: steering of a cancelled sweep");
          answer(status);
        });
      },
      world.dice.Between(1, 3));
}

void User::SteerJobs(int sweep, bool cancels) {
  World& world = cluster_.world;
  world.Count(cancels ? "user: cancel of some jobs" : "user: retry of some jobs");
  const Job& like = cluster_.universe.jobs[static_cast<size_t>(world.dice.Pick(cluster_.universe.sweeps[static_cast<size_t>(sweep)].members))];
  const int by = world.dice.Below(6);
  Some some;
  if (by == 0) some.task = like.task;
  if (by == 1 || by >= 4) some.encoding = EncodingOf(like);
  if (by >= 2) some.seed = like.seed;
  Ask(
      [&world, sweep, cancels, some](Scheduler& scheduler, Scheduler::Answer answer) {
        scheduler.SteerJobs(sweep, cancels, some, [&world, cancels, answer = std::move(answer)](const absl::Status& status) {
          if (status.ok()) world.Count(cancels ? "some jobs were cancelled" : "some jobs were retried");
          if (status.code() == absl::StatusCode::kNotFound) world.Count("refusal: steering of an unknown sweep");
          if (status.code() == absl::StatusCode::kFailedPrecondition) world.Count("refusal: steering of jobs that cannot be steered");
          answer(status);
        });
      },
      world.dice.Between(1, 3));
}

void User::SteerWorker(const std::string& worker, bool drain) {
  World& world = cluster_.world;
  world.Count(drain ? "user: drain" : "user: undo drain");
  Ask(
      [&world, worker, drain](Scheduler& scheduler, Scheduler::Answer answer) {
        scheduler.SteerWorker(worker, drain, [&world, answer = std::move(answer)](const absl::Status& status) {
          if (status.code() == absl::StatusCode::kNotFound) world.Count("refusal: steering of an unknown worker");
          answer(status);
        });
      },
      1);
}

void User::Act() {
  Dice& dice = cluster_.world.dice;
  const int sweep = dice.Below(static_cast<int>(cluster_.universe.sweeps.size()));
  const std::string worker = fmt::format("w{}-0", dice.Between(1, 6));
  switch (dice.Below(14)) {
    case 0: return Steer(sweep, v1::SteerSweepRequest::ACTION_PAUSE);
    case 1:
    case 2: return Steer(sweep, v1::SteerSweepRequest::ACTION_RESUME);
    case 3: return Steer(sweep, v1::SteerSweepRequest::ACTION_CANCEL);
    case 4: return Steer(sweep, v1::SteerSweepRequest::ACTION_RETRY);
    case 5: return Steer(sweep, v1::SteerSweepRequest::ACTION_SET_PRIORITY, dice.Between(-3, 3));
    case 6: return SteerWorker(worker, true);
    case 7:
    case 8: return SteerWorker(worker, false);
    case 9: return SteerJobs(sweep, true);
    case 10: return SteerJobs(sweep, false);
    default: return Submit(sweep, dice.Chance(0.3) ? std::optional<int>(dice.Between(-3, 3)) : std::nullopt);
  }
}

void User::WantAll() {
  if (!cluster_.up()) return;
  const Model& model = cluster_.scheduler().model();
  for (size_t i = 0; i < model.sweeps().size(); ++i) {
    const int sweep = static_cast<int>(i);
    if (model.sweeps()[i].state == Model::SweepState::kPaused) {
      Steer(sweep, v1::SteerSweepRequest::ACTION_RESUME);
    } else if (model.sweeps()[i].state != Model::SweepState::kLive) {
      Submit(sweep, {});
    } else if (!model.sweeps()[i].given_up.empty()) {
      if (cluster_.world.dice.Chance(0.5)) SteerJobs(sweep, false);
      else Submit(sweep, {});
    } else {
      for (const int job : cluster_.universe.sweeps[i].order) {
        if (model.jobs()[static_cast<size_t>(job)].state != Model::JobState::kFailed || cluster_.universe.IsHopeless(job)) continue;
        Steer(sweep, v1::SteerSweepRequest::ACTION_RETRY);
        break;
      }
    }
  }
  for (const auto& [id, worker] : model.workers()) {
    if (worker.state != "active") SteerWorker(id, false);
  }
}

}  // namespace longreach::simulation
