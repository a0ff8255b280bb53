#include "worker/trainer/kernels/resident_launcher.h"

#include <stdexcept>

#include "worker/trainer/kernels/cuda_plugin.h"

namespace longreach::trainer {

namespace {

constexpr size_t kErrorSize = 256;

template <typename Arguments>
std::function<void(const Arguments&)> Calling(int (*function)(const Arguments*, char*, size_t)) {
  return [function](const Arguments& arguments) {
    char error[kErrorSize] = "";
    if (function(&arguments, error, sizeof(error)) != 0) throw std::runtime_error(error);
  };
}

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
          .sample = Calling(plugin->sample),
          .fill_keep = Calling(plugin->fill_keep),
          .train = Calling(plugin->train_step)};
}

}  // namespace longreach::trainer
