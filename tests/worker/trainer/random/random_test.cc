// Counter-based randomness: known answers, pinned values, and the distributions that are drawn from.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "worker/trainer/random/blocks.h"
#include "worker/trainer/random/random_stream.h"
#include "worker/trainer/random/sampling.h"

namespace longreach::trainer {
namespace {

std::vector<uint32_t> Words(const PhiloxBlock& block) { return {block.word, block.word + 4}; }

TEST(PhiloxTest, GivesTheKnownAnswersOfRandom123) {
  EXPECT_EQ(Words(Philox4x32({{0, 0, 0, 0}}, {{0, 0}})),
            (std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Words(Philox4x32({{~0u, ~0u, ~0u, ~0u}}, {{~0u, ~0u}})),
            (std::vector<uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Words(Philox4x32({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {{0xa4093822, 0x299f31d0}})),
            (std::vector<uint32_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStreamTest, LaysOutCounterAndKeyAsDocumented) {
  const RandomStream stream{.key = 0x299f31d0a4093822,
                            .purpose = static_cast<Purpose>(0x08d3),
                            .layer = 0x85a3,
                            .step = 0x0370734413198a2e};

  EXPECT_EQ(Words(stream.Bits(0x243f6a88)), (std::vector<uint32_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// The first word of every purpose, at a key, layer and step that are not zero. A change here changes results: then
// raise the revisions in proto/catalog.
TEST(RandomStreamTest, KeepsTheFirstValuesOfEveryPurpose) {
  const std::map<Purpose, uint32_t> pinned = {
      {Purpose::kInitialisation, 0x15f9739d},
      {Purpose::kTrainingLength, 0xc585a862},
      {Purpose::kTrainingBatch, 0x5594bfb3},
      {Purpose::kTrainingPositions, 0x4fd93e96},
      {Purpose::kTrainingShift, 0xba98eaa5},
      {Purpose::kTrainingDropout, 0x7ae61d31},
      {Purpose::kTestBatch, 0xb7bbc435},
      {Purpose::kTestPositions, 0x5951c333},
      {Purpose::kTestShift, 0x186d2d73},
      {Purpose::kTestDropout, 0x84b58ea7},
      {Purpose::kTestPasskey, 0x78a06f69},
      {Purpose::kTrainingSource, 0x331aec4c},
      {Purpose::kTrainingDataShift, 0x1ac99ffa},
  };
  for (const auto& [purpose, word] : pinned) {
    const RandomStream stream{.key = 7, .purpose = purpose, .layer = 3, .step = 1'000'000};
    EXPECT_EQ(stream.Word(0), word) << "purpose " << static_cast<int>(purpose);
  }
  EXPECT_EQ(ParameterStream(0, "layer0.ffn1.w").Word(0), 0xd0c558e1u);
  EXPECT_EQ(RandomStream{.key = kEvaluationKey}.Word(0), 0x756acd7eu);
}

TEST(RandomStreamTest, CutsSmallerDrawsFromTheSameBlocks) {
  const RandomStream stream{.key = 1, .purpose = Purpose::kTrainingDropout, .layer = 2, .step = 3};
  const PhiloxBlock block = stream.Bits(5);

  for (uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(stream.Word(20 + i), block.word[i]);
    EXPECT_EQ(stream.Half(40 + 2 * i), block.word[i] & 0xFFFF);
    EXPECT_EQ(stream.Half(41 + 2 * i), block.word[i] >> 16);
    EXPECT_EQ(stream.Below(20 + i, 1000), block.word[i] * uint64_t{1000} >> 32);
    EXPECT_EQ(stream.UniformFloat(20 + i), static_cast<float>(block.word[i] >> 8) / 16777216.0f);
  }
  EXPECT_NEAR(stream.Uniform(10), block.word[1] / 4294967296.0, 1e-9);
  EXPECT_NEAR(stream.Uniform(11), block.word[3] / 4294967296.0, 1e-9);
}

TEST(RandomStreamTest, DrawsBelowAnyNumber) {
  const RandomStream stream{.key = 5, .purpose = Purpose::kTrainingBatch, .layer = 0, .step = 9};
  RandomStream lower = stream;
  lower.layer = 1;
  const uint64_t word = uint64_t{1} << 32, large = 7 * word + 12345;
  double sum = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    // What fits into a word stays what it was.
    EXPECT_EQ(stream.BelowAny(i, 1000), stream.Below(i, 1000));
    EXPECT_EQ(stream.BelowAny(i, word - 1), stream.Below(i, 0xFFFFFFFF));
    // A power of two takes the upper bits as they are.
    EXPECT_EQ(stream.BelowAny(i, word), stream.Word(i));
    EXPECT_EQ(stream.BelowAny(i, 16 * word), uint64_t{stream.Word(i)} << 4 | lower.Word(i) >> 28);
    const uint64_t drawn = stream.BelowAny(i, large);
    ASSERT_LT(drawn, large);
    sum += static_cast<double>(drawn);
  }
  EXPECT_NEAR(sum / 1000 / static_cast<double>(large), 0.5, 0.05);
  EXPECT_EQ(MultiplyHigh64(~uint64_t{0}, ~uint64_t{0}), ~uint64_t{0} - 1);
  EXPECT_EQ(MultiplyHigh64(uint64_t{1} << 63, 3), 1u);
}

TEST(RandomStreamTest, IsTheSameAtCompileTime) {
  constexpr uint32_t kAtCompileTime = RandomStream{.key = 9, .purpose = Purpose::kTestBatch}.Word(6);
  EXPECT_EQ(kAtCompileTime, (RandomStream{.key = 9, .purpose = Purpose::kTestBatch}.Word(6)));
}

TEST(DrawsTest, GivesEverySequenceARangeOfItsOwn) {
  const RandomStream stream{.key = 4, .purpose = Purpose::kTrainingBatch, .step = 11};
  Draws third(stream, 3);
  const uint64_t first_word = uint64_t{3} * Draws::kBlocksPerSequence * 4;

  EXPECT_EQ(third.Word(), stream.Word(first_word));
  EXPECT_EQ(third.Below(5), stream.Below(first_word + 1, 5));
  const uint32_t bits = stream.Word(first_word + 2);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(third.Bit(), bits >> i & 1) << i;
  EXPECT_EQ(third.Bit(), stream.Word(first_word + 3) & 1);
}

TEST(BlocksTest, AreThoseOfTheStreamWithAnyVectors) {
  const RandomStream stream{.key = 0x123456789abcdef0, .purpose = Purpose::kTestDropout, .layer = 0xFFFF, .step = 0xFEDCBA9876543210};
  constexpr size_t kBatches = 5;
  for (const BlockFiller fill : BlockFillers()) {
    for (const uint32_t first : {0u, 77u, 0xFFFFFFF0u}) {
      std::vector<uint32_t> words(kBatches * kBlockBatch * 4 + 1, 42);
      fill(stream, first, kBatches, words.data());
      for (uint32_t i = 0; i < kBatches * kBlockBatch; ++i) {
        ASSERT_EQ(std::vector(words.begin() + 4 * i, words.begin() + 4 * i + 4), Words(stream.Bits(first + i))) << first << " " << i;
      }
      EXPECT_EQ(words.back(), 42u);
    }
  }
}

TEST(SamplingTest, FillsWordsLikeTheyAreDrawnOneByOne) {
  const RandomStream stream{.key = 21, .purpose = Purpose::kTrainingDropout, .layer = 1, .step = uint64_t{1} << 40};
  for (const size_t count : {0u, 1u, 3u, 64u, 65u, 200u, 1024u}) {
    for (const uint64_t first : {uint64_t{0}, uint64_t{4}, uint64_t{1} << 33}) {
      std::vector<uint32_t> words(count);
      FillWords(stream, first, words);
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(words[i], stream.Word(first + i)) << count << " " << first << " " << i;
    }
  }
}

TEST(KeepMaskTest, FillsAsItAnswersOneByOneAndKeepsTheMean) {
  const KeepMask mask({.key = 21, .purpose = Purpose::kTrainingDropout}, 0.1);
  std::vector<uint8_t> kept(100'003);
  std::vector<float> factors(kept.size());
  mask.Fill(8, std::span<uint8_t>(kept));
  mask.Fill(8, std::span<float>(factors));

  double sum = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    ASSERT_EQ(kept[i], mask.Keeps(8 + i)) << i;
    ASSERT_EQ(factors[i], kept[i] ? mask.Scale() : 0.0f) << i;
    sum += factors[i];
  }
  EXPECT_NEAR(mask.DropRate(), 0.1, 1.0 / 65536);
  const double n = static_cast<double>(kept.size());
  EXPECT_NEAR(sum / n, 1.0, 5 * std::sqrt(0.1 / 0.9 / n));
}

TEST(KeepMaskTest, KeepsEverythingAtRateZero) {
  const KeepMask mask({.key = 3}, 0);
  std::vector<float> factors(1000);
  mask.Fill(0, std::span<float>(factors));

  EXPECT_EQ(factors, std::vector<float>(1000, 1.0f));
}

TEST(SamplingTest, InvertsTheNormalDistributionFunction) {
  for (const double p : {1e-300, 1e-20, 1e-9, 0.001, 0.02275, 0.0749, 0.0751, 0.3, 0.5, 0.7, 0.9249, 0.9251, 0.999}) {
    const double x = NormalQuantile(p);
    EXPECT_NEAR(0.5 * std::erfc(-x / std::sqrt(2.0)) / p, 1, 1e-12) << p;
  }
}

// Kolmogorov's distance between a sample and a distribution function; above 2.4 / sqrt(n) once in 50,000 samples.
template <typename Draw, typename Distribution>
double Distance(int n, const Draw& draw, const Distribution& distribution) {
  std::vector<double> sample(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) sample[static_cast<size_t>(i)] = draw(static_cast<uint64_t>(i));
  std::sort(sample.begin(), sample.end());
  double distance = 0;
  for (int i = 0; i < n; ++i) {
    const double expected = distribution(sample[static_cast<size_t>(i)]);
    distance = std::max({distance, expected - double(i) / n, double(i + 1) / n - expected});
  }
  return distance;
}

TEST(SamplingTest, DrawsTheDistributionsItNames) {
  constexpr int kDraws = 100'000;
  const double limit = 2.4 / std::sqrt(kDraws);
  const RandomStream stream{.key = 5, .purpose = Purpose::kInitialisation, .step = 99};
  const auto normal = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  const auto truncated = [&](double x) { return (normal(x) - normal(-2)) / (normal(2) - normal(-2)); };
  const auto uniform = [](double x) { return x; };

  EXPECT_LT(Distance(kDraws, [&](uint64_t i) { return StandardNormal(stream, i); }, normal), limit);
  EXPECT_LT(Distance(kDraws, [&](uint64_t i) { return TruncatedNormal(stream, i); }, truncated), limit);
  EXPECT_LT(Distance(kDraws, [&](uint64_t i) { return stream.Uniform(i); }, uniform), limit);
  EXPECT_LT(Distance(kDraws, [&](uint64_t i) { return stream.UniformFloat(i); }, uniform), limit);
  for (uint64_t i = 0; i < kDraws; ++i) ASSERT_LE(std::abs(TruncatedNormal(stream, i)), 2.0);
}

TEST(SamplingTest, FillsTruncatedNormalsAsOneByOne) {
  const RandomStream stream{.key = 7, .purpose = Purpose::kInitialisation, .step = 0x1234567890};
  for (const size_t count : {size_t{1}, size_t{2}, size_t{7}, size_t{1024}, size_t{1025}, size_t{50'001}}) {
    std::vector<float> filled(count);
    FillTruncatedNormal(stream, 0.125, filled);

    for (size_t i = 0; i < count; ++i) ASSERT_EQ(filled[i], static_cast<float>(0.125 * TruncatedNormal(stream, i))) << i << " of " << count;
  }
}

TEST(SampleSortedTest, GivesDistinctAscendingNumbersInRange) {
  std::vector<int64_t> positions(1500);
  SampleSorted({.key = 0, .purpose = Purpose::kTrainingPositions}, 1, 2047, positions);

  EXPECT_GE(positions.front(), 1);
  EXPECT_LE(positions.back(), 2047);
  for (size_t i = 1; i < positions.size(); ++i) ASSERT_LT(positions[i - 1], positions[i]);
}

TEST(SampleSortedTest, TakesEverythingWhenAllIsAskedFor) {
  std::vector<int64_t> all(5);
  SampleSorted({.key = 3, .purpose = Purpose::kTrainingPositions}, 10, 5, all);

  EXPECT_EQ(all, (std::vector<int64_t>{10, 11, 12, 13, 14}));
}

TEST(SampleSortedTest, MakesEverySubsetEquallyLikely) {
  constexpr int kRuns = 60'000;
  std::map<std::vector<int64_t>, int> seen;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<int64_t> subset(3);
    SampleSorted({.key = 1, .purpose = Purpose::kTrainingPositions, .step = static_cast<uint64_t>(run)}, 0, 6, subset);
    ++seen[subset];
  }

  ASSERT_EQ(seen.size(), 20u);  // 6 over 3.
  const double p = 1.0 / 20;
  for (const auto& [subset, count] : seen) {
    EXPECT_NEAR(count / double(kRuns), p, 5 * std::sqrt(p * (1 - p) / kRuns));
  }
}

}  // namespace
}  // namespace longreach::trainer
