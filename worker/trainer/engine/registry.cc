// Which engine trains what.
#include "proto/base/text.h"
#include "worker/trainer/engine/engine.h"
#include "worker/trainer/kernels/resident_launcher.h"
#include "worker/trainer/lanes/lanes_engine.h"
#include "worker/trainer/resident/resident_engine.h"

namespace longreach::trainer {

namespace {

constexpr char kLibtorch[] = "libtorch";
constexpr char kLanes[] = "lanes";
// By blocks of a GPU's threads, and the same kernels lane by lane on the CPU: the latter only for tests, which is why no list has it.
constexpr char kResident[] = "resident";
constexpr char kEmulated[] = "emulated";

// What is taken when nobody asks: lanes where there are registers for them. Four at a time are slower than
// LibTorch.
std::string Default() { return RunnableKernels().front() == lanes::PortableKernels() ? kLibtorch : kLanes; }

// The resident engine, or LibTorch's where that does not know the settings.
std::unique_ptr<StepEngine> MakeResidentOrLibtorch(const std::string& name, const PackSettings& settings, const EngineOptions& options,
                                                   const std::function<void(const std::string&)>& log) {
  const bool on_gpu = name == kResident;
  TORCH_CHECK(on_gpu == options.cuda, Text("engine ", name, on_gpu ? " needs a GPU: --device cuda" : " is for a CPU"));
  std::string why_not = WhyNotResident(settings);
  if (!why_not.empty()) why_not = "which does not know " + why_not;
  if (why_not.empty() && on_gpu) why_not = WhyNoResidentLauncher();
  if (why_not.empty()) return MakeResidentEngine(settings, options, on_gpu ? CudaResidentLauncher() : resident::EmulatedLauncher());
  log(Text("engine libtorch instead of ", name, ", ", why_not));
  return MakeLibtorchEngine(settings, options);
}

}  // namespace

std::vector<std::string> EngineNames() {
  std::vector<std::string> names = {kLibtorch};
  for (const lanes::Kernels* kernels : RunnableKernels()) names.emplace_back(kernels->name);
  return names;
}

std::unique_ptr<StepEngine> MakeEngine(const PackSettings& settings, const EngineOptions& options,
                                       const std::function<void(const std::string&)>& log) {
  std::string wanted = options.engine;
  if (wanted.empty()) wanted = options.cuda || options.whole_pack ? kLibtorch : Default();
  if (wanted == kLibtorch) return MakeLibtorchEngine(settings, options);
  if (wanted == kResident || wanted == kEmulated) return MakeResidentOrLibtorch(wanted, settings, options, log);
  for (const lanes::Kernels* kernels : RunnableKernels()) {
    if (wanted != kLanes && wanted != kernels->name) continue;
    const std::string why_not = WhyNotLanes(settings, options);
    if (why_not.empty()) return MakeLanesEngine(settings, options, *kernels);
    log(Text("engine libtorch instead of ", kernels->name, ", which does not know ", why_not));
    return MakeLibtorchEngine(settings, options);
  }
  TORCH_CHECK(false, Text("engine: unknown name '", wanted, "'; this machine has ", Join(EngineNames(), ", "),
                          " and ", kLanes));
}

}  // namespace longreach::trainer
