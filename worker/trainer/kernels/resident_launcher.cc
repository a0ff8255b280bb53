#include "worker/trainer/kernels/resident_launcher.h"

#include <stdexcept>

#include "worker/trainer/kernels/cuda_plugin.h"

namespace longreach::trainer {

namespace {

constexpr size_t kErrorSize = 256;

}  // namespace

std::string WhyNoResidentLauncher() {
  const LongreachCudaPlugin* plugin = LoadedCudaPlugin();
  if (plugin == nullptr) return "the CUDA plugin is not loaded";
  char error[kErrorSize] = "";
  return plugin->check_resident(error, sizeof(error)) == 0 ? "" : error;
}

resident::Launcher CudaResidentLauncher() {
  const LongreachCudaPlugin* plugin = LoadedCudaPlugin();
  return {.name = "resident-bf16",
          .cuda = true,
          .fill_keep =
              [plugin](const resident::KeepArguments& keep) {
                char error[kErrorSize] = "";
                if (plugin->fill_keep(&keep, error, sizeof(error)) != 0) throw std::runtime_error(error);
              },
          .train =
              [plugin](const resident::StepArguments& arguments) {
                char error[kErrorSize] = "";
                if (plugin->train_step(&arguments, error, sizeof(error)) != 0) throw std::runtime_error(error);
              }};
}

}  // namespace longreach::trainer
