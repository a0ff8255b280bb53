// What liblongreach_cuda.so offers to the rest of the trainer: plain C, so that nothing else needs CUDA's headers, and one
// table, so that one symbol is looked up.
#pragma once

#include <cstddef>
#include <cstdint>

#include "worker/trainer/random/drop_factors.h"
#include "worker/trainer/resident/step_arguments.h"

// Raised at every change of the table. The loader refuses a plugin of another version: it comes from another build.
#define LONGREACH_CUDA_PLUGIN_VERSION 9
#define LONGREACH_CUDA_PLUGIN_SYMBOL "longreach_cuda_plugin"

extern "C" {

// Functions return 0, or else write a line into `error`, which has room for `error_size` characters.
struct LongreachCudaPlugin {
  int version;
  // How many devices answer; 0 with the driver's words in `error` when there is no driver.
  int (*count_devices)(char* error, size_t error_size);
  // From now on, threads that wait for the current device sleep meanwhile.
  int (*have_waiting_sleep)(char* error, size_t error_size);
  // Name and memory of a device, and which one of that name it is, for all processes the same: "GPU-" and its UUID, as nvidia-smi has it.
  int (*describe_device)(int device, char* name, size_t name_size, char* id, size_t id_size, double* memory_bytes, char* error, size_t error_size);
  // What follows goes to LibTorch's current stream of the calling thread and returns before it is done. What pointers in the arguments lead to is on the device.
  // Dropout's factors, for LibTorch's operations; the bits are those of the CPU.
  int (*fill_drop_factors)(const longreach::trainer::DropFactors* factors, char* error, size_t error_size);
  // The resident kernels (worker/trainer/resident). Whether the current device can run them.
  int (*check_resident)(char* error, size_t error_size);
  // Samples and solves; the bits are those of the CPU.
  int (*sample)(const longreach::trainer::resident::SampleArguments* sample, char* error, size_t error_size);
  int (*fill_keep)(const longreach::trainer::resident::KeepArguments* keep, char* error, size_t error_size);
  int (*train_step)(const longreach::trainer::resident::StepArguments* arguments, char* error, size_t error_size);
};

// The one symbol of the library.
const LongreachCudaPlugin* longreach_cuda_plugin();

}  // extern "C"
