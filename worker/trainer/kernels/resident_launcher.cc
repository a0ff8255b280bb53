#include "worker/trainer/kernels/resident_launcher.h"

#include "worker/trainer/kernels/calling.h"
#include "worker/trainer/kernels/cuda_plugin.h"

namespace longreach::trainer {

std::string WhyNoResidentLauncher() {
  const LongreachCudaPlugin* plugin = LoadedCudaPlugin();
  if (plugin == nullptr) return "the CUDA plugin is not loaded";
  char error[256] = "";
  return plugin->check_resident(error, sizeof(error)) == 0 ? "" : error;
}

resident::Launcher CudaResidentLauncher(resident::Operands operands) {
  const LongreachCudaPlugin* plugin = LoadedCudaPlugin();
  return {.cuda = true,
          .operands = operands,
          .sample = Calling(plugin->sample),
          .fill_keep = Calling(plugin->fill_keep),
          .train = Calling(plugin->train_step)};
}

}  // namespace longreach::trainer
