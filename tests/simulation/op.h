// The counterpart of an event that the engine hands to its writer: what the model makes of it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "longreach/v1/worker.pb.h"
#include "proto/base/status.h"
#include "tests/simulation/model.h"
#include "tests/simulation/world.h"

namespace longreach::simulation {

// So that most sweeps come, and follow what users say, in several slices.
inline constexpr int kJobsInSlice = 5;
inline constexpr int kSettledInSlice = 4;

struct Op {
  std::string what = {};
  std::function<absl::StatusOr<v1::SynchronizeResponse>(Model&)> apply = {};
  absl::StatusOr<v1::SynchronizeResponse> expected = v1::SynchronizeResponse();
  std::function<std::shared_ptr<Op>()> next_slice = {};  // Makes that of the event that goes on where this one ended.
  bool blocks = false;                                   // Someone waits for the event's answer, even if the process crashes.
};
using OpPtr = std::shared_ptr<Op>;

template <typename Apply>
OpPtr MakeOp(std::string what, Apply apply) {
  auto op = std::make_shared<Op>();
  op->what = std::move(what);
  op->apply = [apply](Model& model) -> absl::StatusOr<v1::SynchronizeResponse> {
    RETURN_IF_ERROR(apply(model));
    return v1::SynchronizeResponse();
  };
  return op;
}

// The next jobs of a sweep follow what was said of it.
inline OpPtr FollowNext(World& world, int sweep) {
  world.Count("jobs followed their sweep in slices");
  OpPtr op = MakeOp("jobs follow " + std::to_string(sweep), [sweep](Model& model) {
    model.FollowNext(sweep, kSettledInSlice);
    return absl::OkStatus();
  });
  op->next_slice = [&world, sweep] { return FollowNext(world, sweep); };
  return op;
}

// The next ones are retried if they have failed.
inline OpPtr RetryNext(int sweep, std::shared_ptr<int> at) {
  OpPtr op = MakeOp("failed jobs are retried in " + std::to_string(sweep), [sweep, at](Model& model) {
    const absl::Status status = model.RetrySlice(sweep, *at, kSettledInSlice);
    *at += kSettledInSlice;
    return status;
  });
  op->next_slice = [sweep, at] { return RetryNext(sweep, at); };
  return op;
}

// The next ones of those that were named are cancelled or retried.
inline OpPtr SteerNextJobs(const std::shared_ptr<Model::Steering>& steering) {
  OpPtr op = MakeOp("jobs are steered alone in " + std::to_string(steering->sweep),
                    [steering](Model& model) { return model.SteerNextJobs(*steering, kSettledInSlice); });
  op->next_slice = [steering] { return SteerNextJobs(steering); };
  return op;
}

}  // namespace longreach::simulation
