// People with the client: they submit, steer and change their minds; once there are no more faults they want everything.
#pragma once

#include <string>

#include "tests/simulation/cluster.h"

namespace longreach::simulation {

class User {
 public:
  explicit User(Cluster& cluster) : cluster_(cluster) {}
  void Start() {
    Submit(0, {});
    Submit(1, 3);
    Next();
  }
  void Calm() { calm_ = true; }

 private:
  void Next();
  void Act();
  void WantAll();
  void Submit(int sweep, std::optional<int> priority);
  void Steer(int sweep, v1::SteerSweepRequest::Action action, int priority = 0);
  // Of a random choice of its jobs.
  void SteerJobs(int sweep, bool cancels);
  void SteerWorker(const std::string& worker, bool drain);
  // A call without an answer is made again, now and then.
  void Ask(std::function<void(Scheduler&, Scheduler::Answer)> ask, int times);

  Cluster& cluster_;
  bool calm_ = false;
};

}  // namespace longreach::simulation
