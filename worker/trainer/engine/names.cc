#include "worker/trainer/engine/names.h"

#include "proto/base/text.h"
#include "worker/trainer/lanes/runnable.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

namespace {

using lanes::Operands;

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
constexpr char kLanes[] = "lanes";
constexpr Best kBests[] = {{kLanes, Operands::kFloat32}, {"lanes-tf32", Operands::kTf32}, {"lanes-bf16", Operands::kBf16}};

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

// Lanes where there are registers for them. Four at a time are slower than LibTorch.
std::string DefaultOnCpu() { return RunnableKernels(Operands::kFloat32).front() == lanes::PortableKernels() ? kLibtorch : kLanes; }

std::optional<OwnKernels> FindOwnKernels(const std::string& name) {
  for (const Family& family : kFamilies) {
    for (const Kind& kind : kKinds) {
      for (const bool on_gpu : {true, false}) {
        const char* const of_family = on_gpu ? family.on_gpu : family.emulated;
        if (name != Text(of_family, kind.name)) continue;
        return OwnKernels{.name = Text(of_family, kind.operands == resident::Operands::kFloat16 ? "-fp16" : "-bf16"),
                          .on_gpu = on_gpu,
                          .operands = kind.operands,
                          .slices = family.slices};
      }
    }
  }
  return std::nullopt;
}

const lanes::Kernels* FindKernels(const std::string& name) {
  for (const Best& best : kBests) {
    for (const lanes::Kernels* kernels : RunnableKernels(best.operands)) {
      if (name == best.name || name == kernels->name) return kernels;
    }
  }
  return nullptr;
}

std::string WhyNoEngine(const std::string& name) {
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

absl::Status CheckEngine(const std::string& name, bool cuda) {
  const std::optional<OwnKernels> own = FindOwnKernels(name);
  const bool for_gpu = (own && own->on_gpu) || name == kLibtorchTf32;
  if (for_gpu && !cuda) return absl::InvalidArgumentError(Text("engine: ", name, " needs a GPU; add --device cuda"));
  if (name.empty() || name == kLibtorch || for_gpu || FindKernels(name) != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(WhyNoEngine(name));
}

}  // namespace longreach::trainer
