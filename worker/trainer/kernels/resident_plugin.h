// The resident kernels' part of the CUDA plugin: functions of its table (plugin_interface.h).
#pragma once

#include <cstddef>

#include "worker/trainer/resident/step_arguments.h"

namespace longreach::trainer::resident {

int CheckResident(char* error, size_t error_size);
int SampleOnDevice(const SampleArguments* sample, char* error, size_t error_size);
int FillKeepOnDevice(const KeepArguments* keep, char* error, size_t error_size);
int TrainStepOnDevice(const StepArguments* arguments, char* error, size_t error_size);

}  // namespace longreach::trainer::resident
