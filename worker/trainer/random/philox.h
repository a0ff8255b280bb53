// Philox4x32-10: a bijection from (counter, key) to 128 random bits. No state, so any draw can be made anywhere.
// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011); checked against the known answers
// of the authors' Random123.
#pragma once

#include <cstdint>

#include "worker/trainer/random/host_device.h"

namespace longreach::trainer {

struct PhiloxBlock {
  uint32_t word[4];
};

struct PhiloxKey {
  uint32_t word[2];
};

inline constexpr uint32_t kPhiloxMultiplier0 = 0xD2511F53;
inline constexpr uint32_t kPhiloxMultiplier1 = 0xCD9E8D57;
inline constexpr uint32_t kPhiloxWeyl0 = 0x9E3779B9;
inline constexpr uint32_t kPhiloxWeyl1 = 0xBB67AE85;
inline constexpr int kPhiloxRounds = 10;

LONGREACH_HD constexpr PhiloxBlock Philox4x32(PhiloxBlock counter, PhiloxKey key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t product0 = uint64_t{kPhiloxMultiplier0} * counter.word[0];
    const uint64_t product1 = uint64_t{kPhiloxMultiplier1} * counter.word[2];
    counter = {{static_cast<uint32_t>(product1 >> 32) ^ counter.word[1] ^ key.word[0],
                static_cast<uint32_t>(product1),
                static_cast<uint32_t>(product0 >> 32) ^ counter.word[3] ^ key.word[1],
                static_cast<uint32_t>(product0)}};
    key.word[0] += kPhiloxWeyl0;
    key.word[1] += kPhiloxWeyl1;
  }
  return counter;
}

}  // namespace longreach::trainer
