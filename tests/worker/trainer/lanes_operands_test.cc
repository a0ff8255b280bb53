// What kernels make of the operands of their products, seen on packed weights: those of each kind of operands, for each instruction
// set that the machine has.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "proto/base/instruction_sets.h"
#include "worker/trainer/lanes/kernels.h"

namespace longreach::trainer::lanes {

namespace {

struct Case {
  const Kernels* kernels;
  std::string name;
  int bits;
  bool pairs = false;  // Products read words of two,
  bool tiles = false;  // in tiles of [row][32 operands].
};

std::vector<Case> Runnable() {
  std::vector<Case> cases = {{PortableKernels(), "lanes-portable", 24},
                             {PortableTf32Kernels(), "lanes-portable-tf32", 11},
                             {PortableBf16Kernels(), "lanes-portable-bf16", 8}};
#if defined(__x86_64__)
  if (RunsHere(InstructionSet::kAvx2)) {
    cases.push_back({Avx2Kernels(), "lanes-avx2", 24});
    cases.push_back({Avx2Tf32Kernels(), "lanes-avx2-tf32", 11});
    cases.push_back({Avx2Bf16Kernels(), "lanes-avx2-bf16", 8});
  }
  if (RunsHere(InstructionSet::kAvx512)) {
    cases.push_back({Avx512Kernels(), "lanes-avx512", 24});
    cases.push_back({Avx512Tf32Kernels(), "lanes-avx512-tf32", 11});
    cases.push_back({Avx512Bf16Kernels(), "lanes-avx512-bf16", 8});
  }
  if (RunsHere(InstructionSet::kAvx512Dot)) {
    cases.push_back({Avx512DotBf16Kernels(), "lanes-avx512dot-bf16", 8, true});
    cases.push_back({Avx512AmxBf16Kernels(), "lanes-avx512amx-bf16", 8, true, true});  // Packing needs no matrix unit.
  }
#endif
  return cases;
}

// Numbers of so many significant bits lie `step` apart near x, and below float32's normal numbers as far apart as at their end.
// nearbyint() rounds a tie to the even one.
float Nearest(float x, int bits) {
  if (x == 0 || !std::isfinite(x)) return x;
  int exponent = 0;
  std::frexp(x, &exponent);
  const double step = std::ldexp(1.0, std::max(exponent, -125) - bits);
  const double nearest = std::nearbyint(static_cast<double>(x) / step) * step;
  if (std::abs(nearest) > static_cast<double>(std::numeric_limits<float>::max())) return std::copysign(std::numeric_limits<float>::infinity(), x);
  return static_cast<float>(nearest);
}

// A head of 8 classes: its weights are packed as they lie.
constexpr int kFeatures = 16, kWeights = 8 * kFeatures;

std::vector<float> Packed(const Case& of, const std::vector<float>& weights) {
  const Kernels& kernels = *of.kernels;
  Model model;
  model.dim = kFeatures;
  model.heads = 2;
  model.mlp = 8;
  model.classes = 8;
  std::vector<float> packed(static_cast<size_t>(kernels.packed_size(model)));
  kernels.pack(model, weights.data(), model.layers, true, packed.data());
  if (!of.pairs) return {packed.begin(), packed.begin() + kWeights};
  std::vector<float> unpacked;
  for (size_t i = 0; i < kWeights; ++i) {
    // Rows of 8 weights: two of them make a row of words, or of a tile a column, the first one in the lower halves.
    const uint32_t word = std::bit_cast<uint32_t>(packed[of.tiles ? i % 8 * 16 + i / 16 : i / 16 * 8 + i % 8]);
    unpacked.push_back(std::bit_cast<float>(i / 8 % 2 == 0 ? word << 16 : word & 0xFFFF0000));
  }
  return unpacked;
}

void ExpectNearest(const Case& of, const std::vector<float>& weights) {
  const std::vector<float> packed = Packed(of, weights);
  for (size_t i = 0; i < weights.size(); ++i) {
    if (std::isnan(weights[i])) {
      EXPECT_TRUE(std::isnan(packed[i])) << of.name << " made " << packed[i] << " of a NaN";
    } else {
      EXPECT_EQ(std::bit_cast<uint32_t>(packed[i]), std::bit_cast<uint32_t>(Nearest(weights[i], of.bits))) << of.name << " of " << weights[i];
    }
  }
}

TEST(LanesOperandsTest, AreTheNearestNumbersOfTheirBits) {
  for (const Case& of : Runnable()) {
    ASSERT_EQ(of.kernels->name, of.name);
    ASSERT_EQ(static_cast<int>(of.kernels->operands), of.bits);
    uint32_t bits = 12345;
    for (int round = 0; round < 200; ++round) {
      std::vector<float> weights;
      while (weights.size() < kWeights) {
        bits = bits * 1664525u + 1013904223u;
        weights.push_back(std::bit_cast<float>(bits));  // Of all magnitudes, now and then a NaN.
      }
      ExpectNearest(of, weights);
    }
  }
}

TEST(LanesOperandsTest, KeepWhatIsAtTheEndsOfTheNumbers) {
  for (const Case& of : Runnable()) {
    std::vector<float> weights = {0.0f,
                                  std::numeric_limits<float>::max(),
                                  std::numeric_limits<float>::min(),
                                  std::numeric_limits<float>::denorm_min(),
                                  std::numeric_limits<float>::infinity(),
                                  std::bit_cast<float>(0x7f800001u),   // The NaNs whose bits carry into the exponent or the sign,
                                  std::bit_cast<float>(0x7fffffffu)};  // or vanish.
    // Ties: an even number of the kept bits, an odd one, and one that ends a power of two; and what is next to them.
    for (const float one : {1.0f, 1.0f + std::ldexp(1.0f, 1 - of.bits), 2.0f - std::ldexp(1.0f, 1 - of.bits)}) {
      const float tie = one + (of.bits == 24 ? 0.0f : std::ldexp(1.0f, -of.bits));
      weights.insert(weights.end(), {tie, std::nextafter(tie, 0.0f), std::nextafter(tie, 4.0f)});
    }
    for (size_t i = 0, count = weights.size(); i < count; ++i) weights.push_back(-weights[i]);
    weights.resize(kWeights, 0.0f);
    ExpectNearest(of, weights);
  }
}

}  // namespace

}  // namespace longreach::trainer::lanes
