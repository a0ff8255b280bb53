// Dropout's bits, embedding and head of a resident update, thread by thread on the CPU, against plain loops in float64 and
// against what the other engines use.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/worker/trainer/resident/phases_fixture.h"
#include "worker/trainer/random/sampling.h"
#include "worker/trainer/resident/embed.h"
#include "worker/trainer/resident/head.h"
#include "worker/trainer/resident/keep_bits.h"

namespace longreach::trainer::resident {
namespace {

TEST(KeepBitsTest, AreThoseOfTheOtherEngines) {
  const RandomStream stream{.key = 5, .purpose = Purpose::kTrainingDropout, .layer = 3, .step = 1'000'000'007};
  for (const uint64_t token : {0ull, 1ull, 4185ull, 15359ull, (1ull << 29) - 1}) {
    std::vector<double> rates = {0, 0.1, 0.5, 0.99999};
    // Those at which one of the numbers that are drawn lies on the threshold itself.
    for (uint64_t f = 0; f < 4; ++f) rates.push_back(stream.Half(token * kDim + f) * 0x1p-16);
    for (const double rate : rates) {
      const KeepMask mask(stream, rate);
      const uint64_t bits = KeepBits(stream, mask.threshold(), token);
      for (uint64_t f = 0; f < kDim; ++f) {
        EXPECT_EQ((bits >> f & 1) != 0, mask.Keeps(token * kDim + f)) << "rate " << rate << " token " << token << " feature " << f;
      }
    }
  }
}

TEST(KeepBitsTest, EveryPlaceHasItsOwnStream) {
  constexpr int kPlaces = 11, kTokens = 67;
  RandomStream stream{.key = 1, .purpose = Purpose::kTrainingDropout, .layer = 0, .step = 9};
  std::vector<uint64_t> keep(kPlaces * kTokens, 0);
  const KeepArguments arguments = {.stream = stream, .threshold = 6554, .places = kPlaces, .tokens = kTokens, .keep = keep.data()};

  for (int word = 0; word < kPlaces * kTokens; ++word) FillKeepWord(arguments, word);

  for (int place = 0; place < kPlaces; ++place) {
    stream.layer = static_cast<uint16_t>(place);
    for (uint64_t token = 0; token < kTokens; ++token) {
      EXPECT_EQ(keep[static_cast<size_t>(place) * kTokens + token], KeepBits(stream, 6554, token)) << "place " << place << " token " << token;
    }
  }
}

// A batch with all that the embedding can have added and dropped.
struct EmbedCase {
  int batch, tape, rows;
  enum class Addition { kNone, kShared, kBySequence } addition = Addition::kNone;
  bool drops = false;
};

struct EmbedSetting {
  EmbedCase shape;
  ModelPlaces places;
  std::vector<uint8_t> tokens;
  std::vector<uint64_t> keep;
  Floats embed, addition;
  StepArguments step = {};

  EmbedSetting(const EmbedCase& c, Random random) : shape(c) {
    const size_t count = static_cast<size_t>(c.batch * c.tape), rows = static_cast<size_t>(c.rows);
    tokens = random.Below(count, c.rows);
    keep = random.Bits(count);
    embed = random.Normal(rows * kDim);
    addition = random.Normal(count * kDim, 3);
    places.tokens = c.rows;
    step.places = places;
    step.batch = c.batch;
    step.tape = c.tape;
    step.tokens = tokens.data();
    step.keep = keep.data();
    step.keep_embedding = c.drops;
    step.keep_scale = 1.25f;
    if (c.addition != EmbedCase::Addition::kNone) step.addition = addition.data();
    if (c.addition == EmbedCase::Addition::kBySequence) step.addition_stride = c.tape * kDim;
  }
  EmbedSetting(const EmbedSetting&) = delete;

  size_t Count() const { return tokens.size(); }
  bool Keeps(size_t token, size_t f) const { return !shape.drops || (keep[token] >> f & 1) != 0; }
  double Scale() const { return shape.drops ? 1.25 : 1.0; }
};

const EmbedCase kEmbedCases[] = {
    {.batch = 1, .tape = 1, .rows = 1},
    {.batch = 1, .tape = 1, .rows = 32, .addition = EmbedCase::Addition::kShared, .drops = true},
    {.batch = 3, .tape = 7, .rows = 6, .addition = EmbedCase::Addition::kBySequence, .drops = true},
    {.batch = 2, .tape = 128, .rows = 12, .addition = EmbedCase::Addition::kBySequence},
    {.batch = 128, .tape = 33, .rows = 3, .addition = EmbedCase::Addition::kShared, .drops = true},
};

class EmbedTest : public PhaseTest {};
class EmbedBackwardTest : public PhaseTest {};

TEST_P(EmbedTest, ScalesAddsAndDrops) {
  for (const EmbedCase& c : kEmbedCases) {
    const EmbedSetting s(c, Random(1));
    Floats h(s.Count() * kDim, kNan);

    Run([&] { Embed(s.step, s.embed.data(), h.data()); }, h);

    std::vector<double> expected(h.size());
    for (size_t token = 0; token < s.Count(); ++token) {
      for (size_t f = 0; f < kDim; ++f) {
        double x = 8.0 * static_cast<double>(s.embed[s.tokens[token] * size_t{kDim} + f]);
        const size_t row = c.addition == EmbedCase::Addition::kShared ? token % static_cast<size_t>(c.tape) : token;
        if (c.addition != EmbedCase::Addition::kNone) x += static_cast<double>(s.addition[row * kDim + f]);
        expected[token * kDim + f] = s.Keeps(token, f) ? x * s.Scale() : 0;
        if (!s.Keeps(token, f)) {
          EXPECT_EQ(h[token * kDim + f], 0);
        }
      }
    }
    EXPECT_LT(RelativeError(h, expected), 1e-7) << "batch " << c.batch << " tape " << c.tape;
  }
}

TEST_P(EmbedBackwardTest, AddsUpTheTokensOfEachRow) {
  for (const EmbedCase& c : kEmbedCases) {
    const EmbedSetting s(c, Random(2));
    const Floats dh = Random(3).Normal(s.Count() * kDim);
    Floats gradient(static_cast<size_t>(c.rows * kDim), kNan), again = gradient;
    Shared shared(EmbedBackwardSharedBytes()), shared_again(EmbedBackwardSharedBytes());

    Run([&] { EmbedBackward(s.step, dh.data(), gradient.data(), shared.data()); }, gradient);
    RunBlock([&] { EmbedBackward(s.step, dh.data(), again.data(), shared_again.data()); });

    std::vector<double> expected(gradient.size());
    for (size_t token = 0; token < s.Count(); ++token) {
      for (size_t f = 0; f < kDim; ++f) {
        if (s.Keeps(token, f)) expected[s.tokens[token] * size_t{kDim} + f] += 8 * s.Scale() * static_cast<double>(dh[token * kDim + f]);
      }
    }
    EXPECT_LT(RelativeError(gradient, expected), 1e-6) << "batch " << c.batch << " tape " << c.tape;
    for (size_t i = 0; i < expected.size(); ++i) {
      if (expected[i] == 0) {
        EXPECT_EQ(gradient[i], 0);  // Rows without a token.
      }
    }
    EXPECT_TRUE(SameBits(gradient, again));
  }
}

TEST_P(EmbedBackwardTest, LeavesAnInfinityWhereItBelongs) {
  const EmbedSetting s({.batch = 2, .tape = 9, .rows = 4}, Random(4));
  Floats dh = Random(5).Normal(s.Count() * kDim), gradient(4 * kDim, kNan);
  dh[11 * kDim + 37] = kInfinity;
  Shared shared(EmbedBackwardSharedBytes());

  Run([&] { EmbedBackward(s.step, dh.data(), gradient.data(), shared.data()); }, gradient);

  for (size_t i = 0; i < gradient.size(); ++i) {
    EXPECT_EQ(std::isfinite(gradient[i]), i != s.tokens[11] * size_t{kDim} + 37) << i;
  }
}

struct HeadCase {
  int rows, classes;
};

// A head, what it gives, and what it should.
struct HeadSetting {
  HeadCase shape;
  size_t classes, rows;
  Floats h, w, b, dh, dw, db;
  std::vector<uint8_t> targets;
  double loss = 0;
  double expected_loss = 0;
  std::vector<double> expected_dh, expected_dw, expected_db;

  HeadSetting(const HeadCase& c, Random random)
      : shape(c), classes(static_cast<size_t>(c.classes)), rows(static_cast<size_t>(c.rows)) {
    h = random.Normal(rows * kDim);
    w = random.Normal(kDim * classes, 0.3f);
    b = random.Normal(classes);
    targets = random.Below(rows, c.classes);
  }

  void Run(Order order) {
    dh.assign(h.size(), kNan);
    dw.assign(w.size(), kNan);
    db.assign(b.size(), kNan);
    Shared shared(HeadSharedBytes());
    const HeadArguments arguments = {.h = h.data(), .w = w.data(), .b = b.data(), .targets = targets.data(),
                                     .rows = shape.rows, .classes = shape.classes, .loss_rows = shape.rows, .dh = dh.data(), .dw = dw.data(), .db = db.data()};
    loss = ReturnedByAll([&] { return Head(arguments, shared.data()); }, shared, order);
  }

  void Expect() {
    expected_loss = 0;
    expected_dh.assign(h.size(), 0);
    expected_dw.assign(w.size(), 0);
    expected_db.assign(b.size(), 0);
    for (size_t row = 0; row < rows; ++row) {
      const float* const x = h.data() + row * kDim;
      std::vector<double> logit(b.begin(), b.end());
      for (size_t f = 0; f < kDim; ++f) {
        for (size_t c = 0; c < classes; ++c) logit[c] += static_cast<double>(x[f]) * static_cast<double>(w[f * classes + c]);
      }
      const double at_target = logit[targets[row]];
      double others = 0;  // Over the target's own, so that nothing is lost where the model is sure.
      for (size_t c = 0; c < classes; ++c) others += c == targets[row] ? 0 : std::exp(logit[c] - at_target);
      expected_loss += std::log1p(others) / static_cast<double>(rows);
      for (size_t c = 0; c < classes; ++c) {
        const double part = c == targets[row] ? -others : std::exp(logit[c] - at_target);
        const double g = part / (1 + others) / static_cast<double>(rows);
        expected_db[c] += g;
        for (size_t f = 0; f < kDim; ++f) {
          expected_dw[f * classes + c] += g * static_cast<double>(x[f]);
          expected_dh[row * kDim + f] += g * static_cast<double>(w[f * classes + c]);
        }
      }
    }
  }

  void Compare(double tolerance) const {
    SCOPED_TRACE(::testing::Message() << "rows " << shape.rows << " classes " << shape.classes);
    EXPECT_NEAR(loss, expected_loss, tolerance * expected_loss);
    EXPECT_LT(RelativeError(dw, expected_dw), tolerance);
    EXPECT_LT(RelativeError(db, expected_db), tolerance);
    EXPECT_LT(RelativeError(dh, expected_dh), tolerance);
  }
};

class HeadTest : public PhaseTest {};

TEST_P(HeadTest, GivesLossAndGradients) {
  const HeadCase cases[] = {{1, 2}, {1, 32}, {21, 5}, {128, 2}, {640, 5}, {400, 32}, {6, 8}, {6, 9}, {256, 3}, {257, 3}, {127, 17}};
  for (const HeadCase& c : cases) {
    HeadSetting s(c, Random(6));
    s.Run(GetParam());
    s.Expect();
    s.Compare(1e-6);
  }
}

TEST_P(HeadTest, GivesTheSameBitsTwice) {
  HeadSetting s({.rows = 640, .classes = 5}, Random(7)), again = s;
  s.Run(Order::kAscending);
  again.Run(GetParam());
  EXPECT_EQ(s.loss, again.loss);
  EXPECT_TRUE(SameBits(s.dw, again.dw) && SameBits(s.db, again.db) && SameBits(s.dh, again.dh));
}

TEST_P(HeadTest, HasNothingToLearnFromOneClass) {
  HeadSetting s({.rows = 4, .classes = 1}, Random(8));
  s.Run(GetParam());
  EXPECT_EQ(s.loss, 0);
  for (const Floats* gradient : {&s.dw, &s.db, &s.dh}) {
    for (const float g : *gradient) EXPECT_EQ(g, 0);
  }
}

TEST_P(HeadTest, TakesATargetFarBelowTheOthers) {
  HeadSetting s({.rows = 8, .classes = 6}, Random(9));
  for (uint8_t& target : s.targets) target = 4;
  s.b[4] = -300;  // Its exponential is 0 in float32.
  s.Run(GetParam());
  s.Expect();
  EXPECT_GT(s.loss, 250);
  s.Compare(1e-6);
}

// What is left of the loss are 1e-12 of it, and the gradient must not be rounding alone: Adam divides by its size.
TEST_P(HeadTest, KeepsTheSmallGradientsOfASureModel) {
  HeadSetting s({.rows = 8, .classes = 3}, Random(10));
  for (uint8_t& target : s.targets) target = 1;
  s.b[1] = 30;
  s.Run(GetParam());
  s.Expect();
  EXPECT_LT(s.loss, 1e-7);
  s.Compare(2e-5);  // Logits around 30 are themselves rounded to 2e-6.
}

TEST_P(HeadTest, ShowsNumbersThatAreNotFinite) {
  for (const float bad : {kInfinity, -kInfinity, kNan}) {
    for (const bool in_weights : {false, true}) {
      HeadSetting s({.rows = 6, .classes = 5}, Random(11));
      (in_weights ? s.w[13] : s.h[3 * kDim + 13]) = bad;
      s.Run(GetParam());
      EXPECT_FALSE(std::isfinite(s.loss)) << bad;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, EmbedTest, kBothOrders, NameOfOrder);
INSTANTIATE_TEST_SUITE_P(Orders, EmbedBackwardTest, kBothOrders, NameOfOrder);
INSTANTIATE_TEST_SUITE_P(Orders, HeadTest, kBothOrders, NameOfOrder);

}  // namespace
}  // namespace longreach::trainer::resident
