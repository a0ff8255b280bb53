// Which engine trains what.
#include "proto/base/text.h"
#include "worker/trainer/engine/engine.h"
#include "worker/trainer/lanes/lanes_engine.h"

namespace longreach::trainer {

namespace {

constexpr char kLibtorch[] = "libtorch";
constexpr char kLanes[] = "lanes";

// What is taken when nobody asks: lanes where there are registers for them. Four at a time are slower than
// LibTorch.
std::string Default() { return RunnableKernels().front() == lanes::PortableKernels() ? kLibtorch : kLanes; }

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
