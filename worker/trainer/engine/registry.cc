// Which engine trains what.
#include <optional>

#include "proto/base/text.h"
#include "proto/catalog/engines.h"
#include "worker/trainer/engine/engine.h"
#include "worker/trainer/kernels/resident_launcher.h"
#include "worker/trainer/lanes/lanes_engine.h"
#include "worker/trainer/resident/resident_engine.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

namespace {

using lanes::Operands;

constexpr char kLibtorch[] = "libtorch";
constexpr char kLibtorchTf32[] = "libtorch-tf32";  // On a GPU.
// By blocks of a GPU's threads, and the same kernels lane by lane on the CPU: the latter only for tests, which is why no list has them. A
// resident member has one multiprocessor to itself: the most updates where there are as many members as those. A member that is spread has 14:
// nine members, which is what the papers' packs have, then fill the 132 of an H100 or H200. The number is part of what the engine's name means,
// since gradients are added up by it.
struct Family {
  const char *on_gpu, *emulated;
  int slices;
};
constexpr Family kFamilies[] = {{"resident", "emulated", 1}, {"spread", "emulated-spread", 14}};
struct Kind {
  const char* name;  // Behind a family's.
  resident::Operands operands;
};
constexpr Kind kKinds[] = {{"", resident::Operands::kBfloat16}, {"-bf16", resident::Operands::kBfloat16}, {"-fp16", resident::Operands::kFloat16}};

// The names that stand for the machine's best instruction set.
struct Best {
  const char* name;
  Operands operands;
};
constexpr Best kLanes = {"lanes", Operands::kFloat32};
constexpr Best kBests[] = {kLanes, {"lanes-tf32", Operands::kTf32}, {"lanes-bf16", Operands::kBf16}};

// What is taken on a CPU when nobody asks: lanes where there are registers for them. Four at a time are slower than
// LibTorch.
std::string DefaultOnCpu() { return RunnableKernels(Operands::kFloat32).front() == lanes::PortableKernels() ? kLibtorch : kLanes.name; }

// And on a GPU: our own kernels, many times as fast as LibTorch's operations (docs/benchmarks/gpu.md). float16 has as many bits as TF32, by which the
// papers' own code multiplies there; with so many, scores were those of float32 (docs/benchmarks/operands.md).
constexpr char kDefaultOnGpu[] = "spread-fp16";

// What an engine's name says of the resident kernels.
struct OwnKernels {
  const Family* family;
  bool on_gpu;
  resident::Operands operands;

  resident::Launcher MakeLauncher() const {
    resident::Launcher launcher = on_gpu ? CudaResidentLauncher(operands) : resident::EmulatedLauncher(operands);
    launcher.name = Text(on_gpu ? family->on_gpu : family->emulated, operands == resident::Operands::kFloat16 ? "-fp16" : "-bf16");
    launcher.slices = family->slices;
    return launcher;
  }
};
std::optional<OwnKernels> FindOwnKernels(const std::string& name) {
  for (const Family& family : kFamilies) {
    for (const Kind& kind : kKinds) {
      for (const bool on_gpu : {true, false}) {
        if (name == Text(on_gpu ? family.on_gpu : family.emulated, kind.name)) return OwnKernels{&family, on_gpu, kind.operands};
      }
    }
  }
  return std::nullopt;
}

// By a full name or one that stands for the best; null: there is none of that name.
const lanes::Kernels* FindKernels(const std::string& name) {
  for (const Best& best : kBests) {
    for (const lanes::Kernels* kernels : RunnableKernels(best.operands)) {
      if (name == best.name || name == kernels->name) return kernels;
    }
  }
  return nullptr;
}

std::string Unknown(const std::string& name) {
  std::vector<std::string> names = EngineNames();
  names.emplace_back(kLibtorchTf32);
  for (const Family& family : kFamilies) {
    for (const Kind& kind : kKinds) names.push_back(Text(family.on_gpu, kind.name));
  }
  for (const Best& best : kBests) names.emplace_back(best.name);
  const std::vector<std::string> rounded = RoundedEngineNames();
  names.insert(names.end(), rounded.begin(), rounded.end());
  return Text("engine: unknown name '", name, "'; there are ", Join(names, ", "));
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
  if (why_not.empty()) return MakeResidentEngine(settings, options, own.MakeLauncher());
  return MakeLibtorchInstead(name, why_not, settings, options, log);
}

}  // namespace

std::vector<std::string> EngineNames() {
  std::vector<std::string> names = {kLibtorch};
  for (const lanes::Kernels* kernels : RunnableKernels(Operands::kFloat32)) names.emplace_back(kernels->name);
  return names;
}

std::vector<std::string> RoundedEngineNames() {
  std::vector<std::string> names;
  for (const Operands operands : {Operands::kTf32, Operands::kBf16}) {
    for (const lanes::Kernels* kernels : RunnableKernels(operands)) names.emplace_back(kernels->name);
  }
  return names;
}

std::string UsualEngine(bool cuda) {
  if (cuda) return WhyNoResidentLauncher().empty() ? kDefaultOnGpu : kLibtorch;
  return DefaultOnCpu() == kLibtorch ? kLibtorch : RunnableKernels(kLanes.operands).front()->name;
}

absl::Status CheckEngine(const std::string& name, bool cuda) {
  const std::optional<OwnKernels> own = FindOwnKernels(name);
  const bool for_gpu = (own && own->on_gpu) || name == kLibtorchTf32;
  if (for_gpu && !cuda) return absl::InvalidArgumentError(Text("engine: ", name, " needs a GPU; add --device cuda"));
  if (name.empty() || name == kLibtorch || for_gpu || FindKernels(name) != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(Unknown(name));
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
  TORCH_CHECK(kernels != nullptr, Unknown(wanted));
  const std::string why_not = WhyNotLanes(settings, options);
  if (why_not.empty()) return MakeLanesEngine(settings, options, *kernels);
  return MakeLibtorchInstead(kernels->name, "which does not know " + why_not, settings, options, log);
}

}  // namespace longreach::trainer
