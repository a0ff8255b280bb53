// Rounded weights, norm and Adam of a resident update, thread by thread on the CPU; and phases one after the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/worker/trainer/resident/phases_fixture.h"
#include "worker/trainer/engine/optimizer.h"
#include "worker/trainer/resident/embed.h"
#include "worker/trainer/resident/head.h"
#include "worker/trainer/resident/update.h"

namespace longreach::trainer::resident {
namespace {

// The nearest number of 16 bits; of two as near, the one whose last bit is 0. For finite numbers, and of float16 for small ones.
Half Nearest(float x) {
  const bool float16 = kOperands == Operands::kFloat16;
  const int fraction_bits = float16 ? 10 : 7, least = float16 ? -14 : -126;
  const double size = std::abs(static_cast<double>(x));
  const int exponent = size == 0 ? least : std::max(least, std::ilogb(size));
  // In units of the last place; below the least exponent those of it. One too many for the exponent is the first of the next.
  const int units = static_cast<int>(std::nearbyint(std::ldexp(size, fraction_bits - exponent)));
  const int bits = units + ((exponent - least) << fraction_bits);
  return static_cast<Half>((std::signbit(x) ? 0x8000 : 0) | bits);
}

class RoundWeightsTest : public PhaseTest {};
class SquaredNormTest : public PhaseTest {};
class ClipAndAdamTest : public PhaseTest {};

TEST_P(RoundWeightsTest, PutsEveryWeightIntoItsPlace) {
  // Not in the order of the layout that is made.
  const LayerPlaces at = {.q = 16, .k = 16 + 4096, .v = 16 + 2 * 4096, .o = 60000, .norm1_scale = 0, .norm1_offset = 0, .norm2_scale = 0,
                          .norm2_offset = 0, .mlp1_w = 36000, .mlp1_b = 0, .mlp2_w = 13000, .mlp2_b = 0, .kerple_a = -1, .kerple_p = -1};
  Floats parameters = Random(1).Normal(65000);
  for (const uint32_t tie : {0x3F808000u, 0x3F818000u, 0xBF80FFFFu, 0x3FFF8000u, 0x00018000u, 0x3F801000u, 0xBF803000u, 0x3FFFF000u, 0x387FF000u, 0x33000000u,
                             0x33C00000u, 0x33FFFFFFu}) {
    parameters[static_cast<size_t>(at.k) + tie % 97] = std::bit_cast<float>(tie);
  }
  std::vector<Half> matrices(kLayerMatrices, 0xFFFF), expected(kLayerMatrices, 0);
  // In squares of 64 x 64, in whose rows eights change places.
  const auto expect = [&](int from, int rows, int columns, int to) {
    for (int row = 0; row < rows; ++row) {
      for (int c = 0; c < columns; ++c) {
        const int eight = c % 64 / 8 ^ row % 8;
        expected[static_cast<size_t>(to + c / 64 * 4096 + row * 64 + eight * 8 + c % 8)] = Nearest(parameters[static_cast<size_t>(from + row * columns + c)]);
      }
    }
  };
  expect(at.q, 64, 64, 0);
  expect(at.k, 64, 64, 4096);
  expect(at.v, 64, 64, 2 * 4096);
  expect(at.o, 64, 64, kAtOut);
  expect(at.mlp1_w, 64, 256, kAtUp);
  expect(at.mlp2_w, 256, 64, kAtDown);

  Run([&] { for (int part = 0; part < kWeightParts; ++part) RoundWeights(at, parameters.data(), part, matrices.data()); }, matrices);

  EXPECT_EQ(matrices, expected);
}

TEST_P(SquaredNormTest, IsASumInFloat64) {
  for (const size_t size : {4u, 64u, 1024u, 1028u, 249040u}) {
    const Floats values = Random(2).Normal(size, 1e-3f);
    double expected = 0;
    for (const float x : values) expected += static_cast<double>(x) * static_cast<double>(x);
    Shared shared(SquaredNormSharedBytes()), again(SquaredNormSharedBytes());
    const double sum = ReturnedByAll([&] { return SquaredNorm(values.data(), static_cast<int>(size), shared.data()); }, shared, GetParam());
    EXPECT_NEAR(sum, expected, 1e-13 * expected) << size;
    EXPECT_EQ(sum, ReturnedByAll([&] { return SquaredNorm(values.data(), static_cast<int>(size), again.data()); }, again, Order::kAscending));
  }
}

TEST_P(SquaredNormTest, ShowsNumbersThatAreNotFinite) {
  for (const float bad : {kInfinity, -kInfinity, kNan}) {
    Floats values = Random(3).Normal(2064);
    values[2063] = bad;
    Shared shared(SquaredNormSharedBytes());
    EXPECT_FALSE(std::isfinite(ReturnedByAll([&] { return SquaredNorm(values.data(), 2064, shared.data()); }, shared, GetParam())));
  }
}

// Members beside each other, of which one is trained.
struct AdamSetting {
  static constexpr size_t kStride = 2064;
  ModelPlaces places;
  Floats gradients, moment1, moment2, parameters, rates = {1e-4f, 3e-3f, 5e-4f};
  StepArguments step = {};

  AdamSetting() {
    places.stride = kStride;
    step.places = places;
    step.members = 3;
    step.slices = 1;
    gradients = Random(4).Normal(3 * kStride);
    moment1.assign(3 * kStride, 0);
    moment2.assign(3 * kStride, 0);
    parameters = Random(5).Normal(3 * kStride);
    step.gradients = gradients.data();
    step.moment1 = moment1.data();
    step.moment2 = moment2.data();
    step.parameters = parameters.data();
    step.learning_rates = rates.data();
    step.clip_norm = 1;
  }
  AdamSetting(const AdamSetting&) = delete;
};

TEST_P(ClipAndAdamTest, DoesWhatTheOtherEnginesDo) {
  AdamSetting s;
  const Floats before = s.parameters;
  Floats moment1(AdamSetting::kStride), moment2(AdamSetting::kStride);
  Floats parameters(before.begin() + AdamSetting::kStride, before.begin() + 2 * AdamSetting::kStride);
  // Below the bound, just above, and far above.
  const double norms[] = {0.5, 1.005, 70, 0.999, 1e6};
  for (int update = 1; update <= 5; ++update) {
    const double norm = norms[update - 1];
    const AdamStep adam = MakeAdamStep(norm, 1, static_cast<double>(s.rates[1]), update);
    s.step.correction1 = adam.correction1;
    s.step.correction2 = adam.correction2;
    s.gradients = Random(static_cast<uint32_t>(update)).Normal(3 * AdamSetting::kStride);
    s.step.gradients = s.gradients.data();
    const Floats moment1_before = moment1;
    ApplyAdam(adam, {s.gradients.data() + AdamSetting::kStride, AdamSetting::kStride}, moment1, moment2, parameters);

    Run([&] { ClipAndAdam(s.step, 1, norm, PieceOf(s.step, 0)); }, s.parameters);

    // Sums of products may be rounded once or twice.
    for (size_t i = 0; i < AdamSetting::kStride; ++i) {
      const size_t at = AdamSetting::kStride + i;
      EXPECT_NEAR(s.moment1[at], moment1[i], 2e-7f * (std::abs(moment1_before[i]) + std::abs(s.gradients[at] * adam.clip))) << update << " " << i;
      EXPECT_NEAR(s.moment2[at], moment2[i], 3e-7f * std::abs(moment2[i])) << update << " " << i;
      EXPECT_NEAR(s.parameters[at], parameters[i], 2e-7f * std::abs(parameters[i]) + 2e-6f * adam.learning_rate) << update << " " << i;
    }
    // The next update begins with the same numbers: differences of this one do not add up.
    std::copy(moment1.begin(), moment1.end(), s.moment1.begin() + AdamSetting::kStride);
    std::copy(moment2.begin(), moment2.end(), s.moment2.begin() + AdamSetting::kStride);
    std::copy(parameters.begin(), parameters.end(), s.parameters.begin() + AdamSetting::kStride);
  }
  for (const size_t i : {size_t{0}, AdamSetting::kStride - 1, 2 * AdamSetting::kStride, 3 * AdamSetting::kStride - 1}) {
    EXPECT_EQ(s.parameters[i], before[i]) << i;  // Other members'.
    EXPECT_EQ(s.moment1[i], 0) << i;
  }
}

// Slices add up and step through pieces of the member's numbers: together all of them, with the same bits.
TEST_P(ClipAndAdamTest, SeveralBlocksDoTheSameByPieces) {
  for (const int slices : {2, 3, 14}) {
    SCOPED_TRACE(slices);
    AdamSetting whole, pieces;
    constexpr size_t kStride = AdamSetting::kStride;
    const Floats parts = Random(6).Normal(3 * static_cast<size_t>(slices) * kStride);
    for (size_t i = 0; i < kStride; ++i) {
      float sum = 0;
      for (int slice = 0; slice < slices; ++slice) sum += parts[(static_cast<size_t>(slices + slice)) * kStride + i];
      whole.gradients[kStride + i] = sum;
    }
    for (AdamSetting* s : {&whole, &pieces}) s->step.correction1 = s->step.correction2 = 2;
    Run([&] { ClipAndAdam(whole.step, 1, 30, PieceOf(whole.step, 0)); }, whole.parameters);

    pieces.step.slices = slices;
    Floats parts_of_step = parts;
    pieces.step.parts = parts_of_step.data();
    std::vector<SliceSums> sums(3 * static_cast<size_t>(slices), {.loss = 0, .squares = 0, .scale = 1});
    pieces.step.sums = sums.data();
    int end = 0;
    for (int slice = 0; slice < slices; ++slice) {
      const Piece piece = PieceOf(pieces.step, slice);
      EXPECT_EQ(piece.begin, end);
      end = piece.end;
      Run(
          [&] {
            AddParts(pieces.step, 1, piece);
            SyncBlock();
            ClipAndAdam(pieces.step, 1, 30, piece);
          },
          pieces.parameters);
    }
    EXPECT_EQ(end, static_cast<int>(kStride));
    EXPECT_EQ(pieces.gradients, [&] {
      Floats expected = whole.gradients;
      const AdamSetting untouched;
      std::copy(untouched.gradients.begin(), untouched.gradients.begin() + kStride, expected.begin());
      return expected;
    }());
    EXPECT_EQ(pieces.parameters, whole.parameters);
    EXPECT_EQ(pieces.moment2, whole.moment2);
  }
}

TEST_P(ClipAndAdamTest, LeavesWhatHasNoGradientAndLetsInfinitiesPass) {
  AdamSetting s;
  const Floats before = s.parameters;
  s.step.correction1 = 10;
  s.step.correction2 = 1000;
  s.gradients[7] = 0;
  s.gradients[8] = kInfinity;

  Run([&] { ClipAndAdam(s.step, 0, static_cast<double>(kInfinity), PieceOf(s.step, 0)); }, s.parameters);

  EXPECT_EQ(s.parameters[7], before[7]);
  EXPECT_TRUE(std::isnan(s.parameters[8]));
  EXPECT_EQ(s.parameters[9], before[9]);  // A finite number times a clip of 0.
}

// A model without layers, embedding and head alone, whose phases follow each other in one block as those of an update do.
struct Bigrams {
  static constexpr int kRows = 7, kClasses = 5, kBatch = 16, kTape = 6;
  static constexpr size_t kStride = 7 * 64 + 64 * 5 + 16, kFeatures = kBatch * kTape * kDim;
  ModelPlaces places;
  std::vector<uint8_t> tokens = Random(6).Below(kBatch * kTape, kRows), targets;
  std::vector<uint64_t> keep = Random(7).Bits(kBatch * kTape);
  Floats addition = Random(8).Normal(kTape * kDim, 0.1f);
  Floats parameters = Random(9).Normal(kStride, 0.02f), moment1 = Floats(kStride), moment2 = Floats(kStride), gradients = Floats(kStride);
  Floats h = Floats(kFeatures), dh = Floats(kFeatures), rates = {0.01f};
  StepArguments step = {};
  Shared shared = Shared(HeadSharedBytes());

  Bigrams() {
    for (const uint8_t token : tokens) targets.push_back(token % kClasses);
    places.tokens = kRows;
    places.stride = kStride;
    step.places = places;
    step.batch = kBatch;
    step.tape = kTape;
    step.tokens = tokens.data();
    step.keep = keep.data();
    step.keep_embedding = true;
    step.keep_scale = 2;
    step.addition = addition.data();
    step.parameters = parameters.data();
    step.moment1 = moment1.data();
    step.moment2 = moment2.data();
    step.gradients = gradients.data();
    step.learning_rates = rates.data();
    step.clip_norm = 1;
    step.slices = 1;
  }
  Bigrams(const Bigrams&) = delete;

  HeadArguments Outputs() {
    const size_t w = kRows * kDim, b = w + kDim * kClasses;
    return {.h = h.data(), .w = parameters.data() + w, .b = parameters.data() + b, .targets = targets.data(), .rows = kBatch * kTape,
            .classes = kClasses, .loss_rows = kBatch * kTape, .dh = dh.data(), .dw = gradients.data() + w, .db = gradients.data() + b};
  }

  // Returns the loss before it. Each phase runs in a block of its own, or all of them in one.
  double Update(int update, bool apart, Order order) {
    const AdamStep adam = MakeAdamStep(0, 1, 0.01, update);
    step.correction1 = adam.correction1;
    step.correction2 = adam.correction2;
    const HeadArguments outputs = Outputs();
    std::vector<double> losses(kThreads), squares(kThreads);  // What each thread is given.
    const auto mine = [](std::vector<double>& values) -> double& { return values[static_cast<size_t>(Thread())]; };
    const auto embed = [&] { Embed(step, parameters.data(), h.data()); };
    const auto head = [&] { mine(losses) = Head(outputs, shared.data()); };
    const auto back = [&] { EmbedBackward(step, dh.data(), gradients.data(), shared.data()); };
    const auto norm = [&] { mine(squares) = SquaredNorm(gradients.data(), kStride, shared.data()); };
    const auto adams = [&] { ClipAndAdam(step, 0, std::sqrt(mine(squares)), PieceOf(step, 0)); };
    if (apart) {
      RunBlock(embed, order);
      RunBlock(head, order);
      RunBlock(back, order);
      RunBlock(norm, order);
      RunBlock(adams, order);
    } else {
      RunBlock([&] {
        embed();
        head();
        back();
        norm();
        adams();
      }, order);
    }
    return losses[0];
  }
};

class PhasesTest : public PhaseTest {};

TEST_P(PhasesTest, FollowEachOtherInOneBlock) {
  Bigrams together, apart;
  for (int update = 1; update <= 3; ++update) EXPECT_EQ(together.Update(update, false, GetParam()), apart.Update(update, true, Order::kAscending));
  EXPECT_TRUE(SameBits(together.parameters, apart.parameters));
  EXPECT_TRUE(SameBits(together.gradients, apart.gradients));
}

TEST_P(PhasesTest, LearnWhatATokenStandsFor) {
  Bigrams model;
  const double first = model.Update(1, false, GetParam());
  double last = first;
  for (int update = 2; update <= 60; ++update) last = model.Update(update, false, GetParam());
  EXPECT_NEAR(first, std::log(Bigrams::kClasses), 0.3);
  EXPECT_LT(last, first / 10);
}

INSTANTIATE_TEST_SUITE_P(Orders, RoundWeightsTest, kBothOrders, NameOfOrder);
INSTANTIATE_TEST_SUITE_P(Orders, SquaredNormTest, kBothOrders, NameOfOrder);
INSTANTIATE_TEST_SUITE_P(Orders, ClipAndAdamTest, kBothOrders, NameOfOrder);
INSTANTIATE_TEST_SUITE_P(Orders, PhasesTest, kBothOrders, NameOfOrder);

}  // namespace
}  // namespace longreach::trainer::resident
