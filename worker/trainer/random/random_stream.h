// Counter-based randomness: a stream is a value, a draw is a pure function of (stream, index). So numbers depend
// neither on pack, threads and device nor on where a run was resumed.
#pragma once

#include <cstdint>
#include <string_view>

#include "worker/trainer/random/host_device.h"
#include "worker/trainer/random/philox.h"
#include "worker/trainer/random/purposes.h"

namespace longreach::trainer {

// (word * n) / 2^32: an integer in [0, n). Off from uniform by less than n / 2^32.
LONGREACH_HD constexpr uint32_t MultiplyHigh(uint32_t word, uint32_t n) {
  return static_cast<uint32_t>((uint64_t{word} * n) >> 32);
}

// The same of 64 bits, from products of 32: (word * n) / 2^64, off from uniform by less than n / 2^64.
LONGREACH_HD constexpr uint64_t MultiplyHigh64(uint64_t word, uint64_t n) {
  const uint64_t low = 0xFFFFFFFF;
  const uint64_t first = (word >> 32) * (n & low) + ((word & low) * (n & low) >> 32);
  const uint64_t second = (word & low) * (n >> 32) + (first & low);
  return (word >> 32) * (n >> 32) + (first >> 32) + (second >> 32);
}

// Counter: index (32 bits), purpose and layer (16 + 16), step (64).
//
// All other draws are cut from Bits(): words, halves and doubles have indices of their own, of which 4, 8 and 2 come
// from one block. Use one kind of draw per stream; Word(0) and Half(0) are the same bits.
struct RandomStream {
  uint64_t key = 0;
  Purpose purpose = Purpose::kInitialisation;
  uint16_t layer = 0;
  uint64_t step = 0;

  LONGREACH_HD constexpr PhiloxBlock Bits(uint32_t index) const {
    return Philox4x32({{index, static_cast<uint32_t>(purpose) | uint32_t{layer} << 16,
                        static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32)}},
                      {{static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)}});
  }

  // 32 bits; i < 2^34.
  LONGREACH_HD constexpr uint32_t Word(uint64_t i) const {
    return Bits(static_cast<uint32_t>(i / 4)).word[i % 4];
  }
  // 16 bits, the low half of a word first; i < 2^35.
  LONGREACH_HD constexpr uint32_t Half(uint64_t i) const { return Word(i / 2) >> (16 * (i % 2)) & 0xFFFF; }

  // An integer in [0, n), from Word(i).
  LONGREACH_HD constexpr uint32_t Below(uint64_t i, uint32_t n) const { return MultiplyHigh(Word(i), n); }

  // An integer in [0, n) for any n: of less than 32 bits it is Below(). Else Word(i) has a lower half, the word of the same number in the layer
  // behind this one.
  LONGREACH_HD constexpr uint64_t BelowAny(uint64_t i, uint64_t n) const {
    if (n <= 0xFFFFFFFF) return Below(i, static_cast<uint32_t>(n));
    const RandomStream lower{.key = key, .purpose = purpose, .layer = static_cast<uint16_t>(layer + 1), .step = step};
    return MultiplyHigh64(uint64_t{Word(i)} << 32 | lower.Word(i), n);
  }

  // In [0, 1): a multiple of 2^-24, from Word(i).
  LONGREACH_HD constexpr float UniformFloat(uint64_t i) const {
    return static_cast<float>(Word(i) >> 8) * 0x1p-24f;
  }
  // In the open interval (0, 1): an odd multiple of 2^-53, from Word(2 i) and Word(2 i + 1); i < 2^33.
  LONGREACH_HD constexpr double Uniform(uint64_t i) const {
    const PhiloxBlock block = Bits(static_cast<uint32_t>(i / 2));
    const uint32_t low = block.word[2 * (i % 2)];
    const uint32_t high = block.word[2 * (i % 2) + 1];
    const uint64_t bits52 = (uint64_t{high} << 32 | low) >> 12;
    return (static_cast<double>(bits52) + 0.5) * 0x1p-52;
  }
};

// The stream that the initial values of a parameter are drawn from, by its name ("layer0.ffn1.w"): so that they depend
// on nothing else in the model.
constexpr RandomStream ParameterStream(uint64_t seed, std::string_view parameter) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a.
  for (const char c : parameter) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return {.key = seed, .purpose = Purpose::kInitialisation, .layer = 0, .step = hash};
}

// A sequence of draws, one after the other: each sequence of a batch has a range of 2^10 blocks of the stream's
// indices for itself. So a sequence does not depend on the others, nor on the order in which they are made.
class Draws {
 public:
  static constexpr uint32_t kBlocksPerSequence = 1024;
  static constexpr uint32_t kMaxSequences = 1u << 22;

  LONGREACH_HD constexpr Draws(const RandomStream& stream, uint32_t sequence)
      : stream_(stream), next_block_(sequence * kBlocksPerSequence) {}

  LONGREACH_HD constexpr uint32_t Word() {
    if (words_used_ == 4) {
      block_ = stream_.Bits(next_block_++);
      words_used_ = 0;
    }
    return block_.word[words_used_++];
  }

  // An integer in [0, n).
  LONGREACH_HD constexpr uint32_t Below(uint32_t n) { return MultiplyHigh(Word(), n); }

  // One of the bits of a word that is set aside for bits.
  LONGREACH_HD constexpr uint8_t Bit() {
    if (bits_left_ == 0) {
      bits_ = Word();
      bits_left_ = 32;
    }
    const uint8_t bit = bits_ & 1;
    bits_ >>= 1;
    --bits_left_;
    return bit;
  }

  // The index of the stream's block that is used next. From (sequence + 1) * kBlocksPerSequence on they are the next sequence's.
  LONGREACH_HD constexpr uint32_t next_block() const { return next_block_; }

 private:
  RandomStream stream_;
  uint32_t next_block_;
  PhiloxBlock block_{};
  int words_used_ = 4;
  uint32_t bits_ = 0;
  int bits_left_ = 0;
};

}  // namespace longreach::trainer
