// Dropout's decisions as bits: drawn once for all members of a pack, and read by each of them forward and backward.
#pragma once

#include <cstdint>

#include "worker/trainer/random/random_stream.h"
#include "worker/trainer/resident/step_arguments.h"
#include "worker/trainer/resident/warp.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

// Bit f says whether feature f of a token is kept: KeepMask::Keeps(token * kDim + f) of random/sampling.h, with its stream
// and threshold. token < 2^29.
LONGREACH_DEVICE uint64_t KeepBits(const RandomStream& stream, uint32_t threshold, uint64_t token) {
  constexpr int kHalvesOfBlock = 8, kBlocks = kDim / kHalvesOfBlock;
  uint64_t bits = 0;
  for (int b = 0; b < kBlocks; ++b) {
    const PhiloxBlock block = stream.Bits(static_cast<uint32_t>(token * kBlocks + static_cast<uint64_t>(b)));
    uint32_t kept = 0;
    LONGREACH_DEVICE_UNROLL
    for (int i = 0; i < 4; ++i) {  // The low half of a word comes first.
      kept |= ((block.word[i] & 0xFFFFu) >= threshold ? 1u : 0u) << (2 * i);
      kept |= (block.word[i] >> 16 >= threshold ? 1u : 0u) << (2 * i + 1);
    }
    bits |= uint64_t{kept} << (kHalvesOfBlock * b);
  }
  return bits;
}

// Fills one word of `keep`, word = place N + token: the kernel has a thread for each.
LONGREACH_DEVICE void FillKeepWord(const KeepArguments& a, int word) {
  RandomStream stream = a.stream;
  stream.layer = static_cast<uint16_t>(word / a.tokens);
  a.keep[word] = KeepBits(stream, a.threshold, static_cast<uint64_t>(word % a.tokens));
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
