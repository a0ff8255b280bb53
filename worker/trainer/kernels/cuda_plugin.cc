#include "worker/trainer/kernels/cuda_plugin.h"

#include <dlfcn.h>

#include <cstdlib>

#include "proto/base/text.h"
#include "worker/trainer/kernels/calling.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

namespace {

const LongreachCudaPlugin* loaded_plugin = nullptr;

}  // namespace

std::filesystem::path OwnCudaPlugin() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return (program.parent_path() / ".." / "lib" / "liblongreach_cuda.so").lexically_normal();
}

absl::Status LoadCudaPlugin(const std::filesystem::path& plugin, int packs) {
  if (loaded_plugin != nullptr) return absl::OkStatus();
  std::error_code unreadable;
  if (!std::filesystem::exists(plugin, unreadable)) {
    return absl::NotFoundError(Text("no CUDA plugin at ", plugin.string(),
                                    "; build with LONGREACH_CUDA=ON, or run the worker with --device cpu"));
  }
  // Only where they are needed: of 14 processes with 32 each under NVIDIA's MPS some were refused the device. A value of the user's stays.
  if (packs > 1) setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", /*overwrite=*/0);
  // Global, because LibTorch's own CUDA library comes with it and registers itself for the whole process. Never closed.
  void* library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    return absl::NotFoundError(Text("the CUDA plugin ", plugin.string(), " cannot be loaded: ", dlerror(),
                                    "; LibTorch of the CUDA kind and its nvidia libraries must be installed"));
  }
  void* symbol = dlsym(library, LONGREACH_CUDA_PLUGIN_SYMBOL);
  if (symbol == nullptr) {
    return absl::NotFoundError(Text(plugin.string(), " is not a CUDA plugin of Longreach: it has no symbol ",
                                    LONGREACH_CUDA_PLUGIN_SYMBOL));
  }
  const LongreachCudaPlugin* table = reinterpret_cast<decltype(&longreach_cuda_plugin)>(symbol)();
  if (table->version != LONGREACH_CUDA_PLUGIN_VERSION) {
    return absl::NotFoundError(Text("the CUDA plugin ", plugin.string(), " has version ", table->version, " where ",
                                    LONGREACH_CUDA_PLUGIN_VERSION, " is needed; take the one of the same build"));
  }
  char error[256] = "";
  if (table->count_devices(error, sizeof(error)) == 0) {
    return absl::FailedPreconditionError(Text("no GPU answers: ", error[0] != 0 ? error : "the driver sees no device",
                                              "; see that nvidia-smi lists it, or run the worker with --device cpu"));
  }
  if (packs > 1 && table->have_waiting_sleep(error, sizeof(error)) != 0) return absl::FailedPreconditionError(Text("the GPU cannot be used: ", error));
  loaded_plugin = table;
  return absl::OkStatus();
}

const LongreachCudaPlugin* LoadedCudaPlugin() { return loaded_plugin; }

int CountCudaDevices() {
  char error[256] = "";
  return loaded_plugin == nullptr ? 0 : loaded_plugin->count_devices(error, sizeof(error));
}

std::function<void(const DropFactors&)> CudaDropFactors() { return Calling(loaded_plugin->fill_drop_factors); }

absl::StatusOr<CudaDevice> DescribeCudaDevice(int device) {
  if (loaded_plugin == nullptr) return absl::FailedPreconditionError("the CUDA plugin is not loaded");
  char name[256] = "";
  char id[64] = "";
  char error[256] = "";
  CudaDevice description;
  if (loaded_plugin->describe_device(device, name, sizeof(name), id, sizeof(id), &description.memory_bytes, error, sizeof(error)) != 0) {
    return absl::InternalError(Text("CUDA device ", device, ": ", error));
  }
  description.name = name;
  description.id = id;
  return description;
}

}  // namespace longreach::trainer
