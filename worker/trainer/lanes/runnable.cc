#include "worker/trainer/lanes/runnable.h"

#include "proto/base/instruction_sets.h"

namespace longreach::trainer {

std::vector<const lanes::Kernels*> RunnableKernels(lanes::Operands operands) {
  const auto pick = [operands](auto float32, auto tf32, auto bf16) {
    return operands == lanes::Operands::kFloat32 ? float32() : operands == lanes::Operands::kTf32 ? tf32() : bf16();
  };
  std::vector<const lanes::Kernels*> kernels;
#if defined(__x86_64__)
  if (operands == lanes::Operands::kBf16) {
    if (RunsHere(InstructionSet::kAvx512Amx)) kernels.push_back(lanes::Avx512AmxBf16Kernels());
    if (RunsHere(InstructionSet::kAvx512Dot)) kernels.push_back(lanes::Avx512DotBf16Kernels());
  }
  if (RunsHere(InstructionSet::kAvx512)) kernels.push_back(pick(lanes::Avx512Kernels, lanes::Avx512Tf32Kernels, lanes::Avx512Bf16Kernels));
  if (RunsHere(InstructionSet::kAvx2)) kernels.push_back(pick(lanes::Avx2Kernels, lanes::Avx2Tf32Kernels, lanes::Avx2Bf16Kernels));
#endif
  kernels.push_back(pick(lanes::PortableKernels, lanes::PortableTf32Kernels, lanes::PortableBf16Kernels));
  return kernels;
}

}  // namespace longreach::trainer
