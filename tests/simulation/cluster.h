// The scheduler's machine behind its network: calls travel there and answers back, as far as both are up; and what was
// acknowledged is noted.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>

#include "tests/simulation/network.h"
#include "tests/simulation/scheduler.h"

namespace longreach::simulation {

class Cluster {
 public:
  Cluster(World& its_world, const Universe& its_universe, std::unique_ptr<Scheduler> scheduler)
      : world(its_world), universe(its_universe), network(its_world), scheduler_(std::move(scheduler)) {
    scheduler_->Start(true);
  }

  World& world;
  const Universe& universe;
  Network network;

  // `handle` runs where the scheduler is, once for each time the request arrives; what it is given carries an answer back.
  // `receive` may run never, once, or several times.
  template <typename Reply>
  using Receive = std::function<void(const absl::StatusOr<Reply>&)>;
  template <typename Reply>
  void Call(int machine, std::function<void(Scheduler&, Receive<Reply>)> handle, Receive<Reply> receive);

  // No call is answered until Start().
  void Crash();
  void Start(bool anew);
  bool up() const { return up_; }
  Scheduler& scheduler() { return *scheduler_; }
  // After anything that may have run a group.
  void NoticeCrash() {
    if (up_ && scheduler_->crashed()) Crash();
  }
  // When the scheduler wants to run next; the end of time when it does not.
  SteadyTime NextAt() {
    const std::optional<SteadyTime> next = up_ ? scheduler_->Next() : std::nullopt;
    return next.value_or(SteadyTime::max());
  }

  // What workers and clients were told.
  std::set<Scheduler::Point> points;
  std::map<uint64_t, int> begins;  // By attempt, of those that began before their leases' steps.
  void NoteAcknowledged();
  void CheckAcknowledged();

 private:
  std::unique_ptr<Scheduler> scheduler_;
  bool up_ = true;
  uint64_t last_call_ = 0;
  std::map<uint64_t, std::function<void()>> open_;  // How each call that is open hears of the end of the process.
  std::map<int, int64_t> results_;                  // Job -> attempt: seen as succeeded by somebody who was answered.
};

template <typename Reply>
void Cluster::Call(int machine, std::function<void(Scheduler&, Receive<Reply>)> handle, Receive<Reply> receive) {
  struct State {
    int machine;
    std::function<void(Scheduler&, Receive<Reply>)> handle;
    Receive<Reply> receive;
  };
  const auto call = std::make_shared<const State>(State{machine, std::move(handle), std::move(receive)});
  network.Send(machine, Network::Way::kToScheduler, [this, call] {
    const Receive<Reply> back = [this, call](const absl::StatusOr<Reply>& reply) {
      network.Send(call->machine, Network::Way::kFromScheduler,
                   [call, reply = std::make_shared<const absl::StatusOr<Reply>>(reply)] { call->receive(*reply); });
    };
    if (!up_) return back(absl::UnavailableError("nobody listens"));
    const uint64_t id = ++last_call_;
    open_[id] = [back] { back(absl::UnavailableError("the connection broke")); };
    call->handle(*scheduler_, [this, id, back](const absl::StatusOr<Reply>& reply) {
      if (open_.erase(id) == 0) return;  // Of a process that is gone.
      NoteAcknowledged();
      back(reply);
    });
    NoticeCrash();
  });
}

}  // namespace longreach::simulation
