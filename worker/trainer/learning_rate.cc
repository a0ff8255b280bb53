#include "worker/trainer/learning_rate.h"

#include <cmath>
#include <numbers>

#include "proto/base/text.h"
#include "proto/catalog/sequence_kinds.h"

namespace longreach::trainer {

namespace {

using Shape = RateSchedule::Shape;

// What TinyLlama was trained with; a cosine follows.
constexpr int kWarmupOfLlama = 2000;

}  // namespace

bool HasSchedules(std::string_view experiment) { return experiment == "llama" || catalog::IsOfSequences(experiment); }

RateSchedule ScheduleOf(const PackSettings& settings) {
  const bool llama = settings.experiment == "llama";
  const PackSettings::Training& training = settings.training;
  return {.steps = training.steps,
          .warmup_steps = training.warmup_steps.value_or(llama ? kWarmupOfLlama : 0),
          .shape = training.schedule.value_or(llama ? Shape::kCosine : Shape::kConstant),
          .final_share = training.final_rate};
}

absl::Status ValidateSchedule(const PackSettings& settings) {
  const RateSchedule schedule = ScheduleOf(settings);
  if (schedule.steps <= 0) return absl::OkStatus();
  const auto refuse = [](const auto&... parts) { return absl::InvalidArgumentError(Text(parts...)); };
  if (schedule.warmup_steps < 0 || schedule.warmup_steps >= schedule.steps) {
    return refuse("training.warmup_steps: ", schedule.warmup_steps, " do not fit into training.steps ", schedule.steps);
  }
  if (!(schedule.final_share >= 0 && schedule.final_share <= 1)) {
    return refuse("training.final_rate: ", ShortestNumber(schedule.final_share), " is not in [0, 1]");
  }
  if (!schedule.constant() && !HasSchedules(settings.experiment)) {
    return refuse("training.schedule: '", Word(schedule.shape), "' with a warm-up of ", schedule.warmup_steps, " does not go with experiment '", settings.experiment,
                  "', whose learning rates stay as they are");
  }
  return absl::OkStatus();
}

std::string_view Word(Shape shape) {
  switch (shape) {
    case Shape::kConstant: return "constant";
    case Shape::kCosine: return "cosine";
    case Shape::kLinear: return "linear";
  }
  return "";
}

double RateAt(const RateSchedule& schedule, double learning_rate, int update) {
  if (update < schedule.warmup_steps) return learning_rate * update / schedule.warmup_steps;
  if (schedule.shape == Shape::kConstant) return learning_rate;
  const double done = static_cast<double>(update - schedule.warmup_steps) / (schedule.steps - schedule.warmup_steps);
  const double left = schedule.shape == Shape::kCosine ? (1 + std::cos(std::numbers::pi * done)) / 2 : 1 - done;
  return learning_rate * (schedule.final_share + (1 - schedule.final_share) * left);
}

}  // namespace longreach::trainer
