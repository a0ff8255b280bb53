// The instruction sets that kernels are compiled for (worker/trainer/lanes/CMakeLists.txt), and which of them may be run here.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace longreach {

enum class InstructionSet {
  kPortable,   // Whatever the processor.
  kAvx2,       // x86-64-v3.
  kAvx512,     // x86-64-v4.
  kAvx512Dot,  // And products of pairs of bfloat16 (AVX512_BF16).
  kAvx512Amx,  // And the matrix unit for them (AMX).
};

std::span<const InstructionSet> InstructionSets();

// As it stands in the name of an engine: "avx512amx" of "lanes-avx512amx-bf16".
std::string_view NameOf(InstructionSet set);
// Of such a name; none of another one.
std::optional<InstructionSet> FindInstructionSet(std::string_view name);

// Whether this processor has it, and the operating system lets this process use it. Linux is asked for the matrix unit at the first call, for all
// threads.
bool RunsHere(InstructionSet set);

}  // namespace longreach
