// Which engine trains what.
#include <optional>

#include "proto/base/text.h"
#include "proto/catalog/engines.h"
#include "worker/trainer/engine/engine.h"
#include "worker/trainer/engine/names.h"
#include "worker/trainer/kernels/resident_launcher.h"
#include "worker/trainer/lanes/lanes_engine.h"
#include "worker/trainer/lanes/runnable.h"
#include "worker/trainer/resident/resident_engine.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

namespace {

// What is taken on a GPU when nobody asks: our own kernels, many times as fast as LibTorch's operations (docs/benchmarks/gpu.md). float16 has as
// many bits as TF32, by which the papers' own code multiplies there; with so many, scores were those of float32 (docs/benchmarks/operands.md).
constexpr char kDefaultOnGpu[] = "spread-fp16";

resident::Launcher MakeLauncher(const OwnKernels& own) {
  resident::Launcher launcher = own.on_gpu ? CudaResidentLauncher(own.operands) : resident::EmulatedLauncher(own.operands);
  launcher.name = own.name;
  launcher.slices = own.slices;
  return launcher;
}

// LibTorch's engine, with a line that says what it takes the place of.
std::unique_ptr<StepEngine> MakeLibtorchInstead(std::string_view wanted, const std::string& why, const PackSettings& settings,
                                                const EngineOptions& options, const std::function<void(const std::string&)>& log) {
  log(Text(catalog::kLibtorchInstead, wanted, ", ", why));
  return MakeLibtorchEngine(settings, options);
}

// The engine of our own kernels, or LibTorch's where they do not know the settings.
std::unique_ptr<StepEngine> MakeResidentOrLibtorch(const std::string& name, const OwnKernels& own, const PackSettings& settings,
                                                   const EngineOptions& options, const std::function<void(const std::string&)>& log) {
  TORCH_CHECK(own.on_gpu == options.cuda, Text("engine ", name, own.on_gpu ? " needs a GPU: --device cuda" : " is for a CPU"));
  std::string why_not = WhyNotResident(settings);
  if (!why_not.empty()) why_not = "which does not know " + why_not;
  if (why_not.empty() && own.on_gpu) why_not = WhyNoResidentLauncher();
  if (why_not.empty()) return MakeResidentEngine(settings, options, MakeLauncher(own));
  return MakeLibtorchInstead(name, why_not, settings, options, log);
}

}  // namespace

std::string UsualEngine(bool cuda) {
  if (cuda) return WhyNoResidentLauncher().empty() ? kDefaultOnGpu : kLibtorch;
  return DefaultOnCpu() == kLibtorch ? kLibtorch : RunnableKernels(lanes::Operands::kFloat32).front()->name;
}

std::unique_ptr<StepEngine> MakeEngine(const PackSettings& settings, const EngineOptions& options,
                                       const std::function<void(const std::string&)>& log) {
  std::string wanted = options.engine;
  if (wanted.empty()) wanted = options.whole_pack ? kLibtorch : options.cuda ? kDefaultOnGpu : DefaultOnCpu();
  if (wanted == kLibtorch) return MakeLibtorchEngine(settings, options);
  if (wanted == kLibtorchTf32) {
    TORCH_CHECK(options.cuda, Text("engine ", wanted, " needs a GPU: --device cuda"));
    return MakeLibtorchEngine(settings, options, CudaProducts::kTf32);
  }
  if (const std::optional<OwnKernels> own = FindOwnKernels(wanted)) return MakeResidentOrLibtorch(wanted, *own, settings, options, log);
  const lanes::Kernels* kernels = FindKernels(wanted);
  TORCH_CHECK(kernels != nullptr, WhyNoEngine(wanted));
  const std::string why_not = WhyNotLanes(settings, options);
  if (why_not.empty()) return MakeLanesEngine(settings, options, *kernels);
  return MakeLibtorchInstead(kernels->name, "which does not know " + why_not, settings, options, log);
}

}  // namespace longreach::trainer
