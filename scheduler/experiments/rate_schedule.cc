#include "scheduler/experiments/rate_schedule.h"

#include <string_view>

#include <fmt/format.h>

#include "proto/base/text.h"

namespace longreach::experiments {
namespace {

constexpr std::string_view kConstantRate = "constant";

}  // namespace

void CheckRateSchedule(const v1::Training& given, const v1::Training& whole, Checks& checks) {
  if (whole.schedule() != kConstantRate && whole.schedule() != "cosine" && whole.schedule() != "linear") {
    checks.Refuse(fmt::format("training.schedule: '{}' is none of 'constant', 'cosine' and 'linear'", whole.schedule()));
  }
  if (!(whole.final_rate() >= 0 && whole.final_rate() <= 1)) {
    checks.Refuse(fmt::format("training.final_rate: {} is not in [0, 1]", ShortestNumber(whole.final_rate())));
  }
  // Who sets it means a rate that falls, which nobody has asked for by leaving the schedule out.
  if (given.has_final_rate() && !given.has_schedule() && whole.schedule() == kConstantRate) {
    checks.Refuse(fmt::format("training.final_rate: {} is what the learning rate falls to, and without training.schedule it is constant\n"
                              "  set training.schedule to cosine or linear, or leave this out", ShortestNumber(whole.final_rate())));
  }
  if (whole.warmup_steps() < 0) checks.Refuse(fmt::format("training.warmup_steps: {} is below 0", whole.warmup_steps()));
  if (whole.steps() > 0 && whole.warmup_steps() >= whole.steps()) {
    checks.Refuse(fmt::format("training.warmup_steps: {} do not fit into training.steps, {}\n  set fewer of them, or more of training.steps", whole.warmup_steps(),
                              whole.steps()));
  }
}

void CompleteRateSchedule(v1::Training& training) {
  if (training.steps() == 0) {
    training.clear_warmup_steps();
    training.clear_schedule();
  }
  if (training.steps() == 0 || training.schedule() == kConstantRate) training.clear_final_rate();
}

}  // namespace longreach::experiments
