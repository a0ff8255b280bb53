// Which numbers of 16 bits these kernels' products read. Every kernel lies in a namespace that is named after them, so that a program can
// have both kinds.
#pragma once

#include <cstdint>

#include "worker/trainer/resident/step_arguments.h"

#if defined(LONGREACH_RESIDENT_FLOAT16)
#define LONGREACH_RESIDENT_OPERANDS float16
#else
#define LONGREACH_RESIDENT_OPERANDS bfloat16
#endif

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

#if defined(LONGREACH_RESIDENT_FLOAT16)
inline constexpr Operands kOperands = Operands::kFloat16;
#else
inline constexpr Operands kOperands = Operands::kBfloat16;
#endif

// Storage only.
using Half = uint16_t;

// Below 6e-5 float16 loses digits, and below 6e-8 everything: gradients are multiplied by a power of two on their way back (gradient_scale.h).
inline constexpr bool kScalesGradients = kOperands == Operands::kFloat16;

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
