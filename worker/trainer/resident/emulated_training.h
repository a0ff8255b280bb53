// Updates lane by lane on the CPU, each in a file of its own: its kernels are compiled for these operands.
#pragma once

#include <functional>

#include "worker/trainer/resident/step_arguments.h"

namespace longreach::trainer::resident {

std::function<void(const StepArguments&)> EmulatedTrainingBfloat16();
std::function<void(const StepArguments&)> EmulatedTrainingFloat16();

}  // namespace longreach::trainer::resident
