// Many blocks of a stream, one after the other, with the vectors that the processor has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "worker/trainer/random/random_stream.h"

namespace longreach::trainer {

inline constexpr size_t kBlockBatch = 8;  // Blocks that are made at once.

// `batches` times kBlockBatch blocks, stream.Bits(first), stream.Bits(first + 1), ..., four words each. Indices go on with 0 behind 2^32 - 1.
using BlockFiller = void (*)(const RandomStream& stream, uint32_t first, size_t batches, uint32_t* out);

// Those that can be called here, the fastest first. All fill in the same words.
std::vector<BlockFiller> BlockFillers();

}  // namespace longreach::trainer
