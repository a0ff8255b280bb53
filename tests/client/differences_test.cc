// What differences say of their mean. Expected values are those of scipy 1.17 (t.ppf, ttest_rel) and of statsmodels 0.15 (multipletests, "holm").
#include "client/commands/differences.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace longreach::client {
namespace {

using PValues = std::vector<std::optional<double>>;

void ExpectNear(const PValues& values, const PValues& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i].has_value(), expected[i].has_value()) << i;
    EXPECT_NEAR(values[i].value_or(0), expected[i].value_or(0), 1e-12) << i;
  }
}

TEST(DifferencesTest, IntervalAndPAreStudents) {
  struct Case {
    DifferencesOfPairs differences;
    double half_width, p;
  };
  for (const Case& one : {Case{{.count = 3, .mean = 2, .deviation = 1}, 2.4841377117503303, 0.07417990022744854},
                          Case{{.count = 4, .mean = 0.0225, .deviation = 0.025}, 0.03978057881604635, 0.16967992890125827},
                          Case{{.count = 2, .mean = 1, .deviation = 0.1}, 0.8984643532093753, 0.044941013726514094},
                          Case{{.count = 3, .mean = 1000, .deviation = 1}, 2.4841377117503303, 3.333331666667593e-07},
                          Case{{.count = 1200, .mean = -0.05, .deviation = 1}, 0.056636458996062636, 0.08352169808619161}}) {
    EXPECT_NEAR(HalfWidth(one.differences), one.half_width, 1e-12 * one.half_width);
    ASSERT_TRUE(PairedP(one.differences).has_value());
    EXPECT_NEAR(*PairedP(one.differences), one.p, 1e-10 * one.p);
  }
  EXPECT_EQ(PairedP({.count = 3, .mean = 0, .deviation = 1}), 1);
}

TEST(DifferencesTest, ThoseThatAreTheSameHaveNoP) {
  EXPECT_EQ(PairedP({.count = 3, .mean = 0.5, .deviation = 0}), std::nullopt);
  EXPECT_EQ(PairedP({.count = 3, .mean = 0, .deviation = 0}), std::nullopt);
  EXPECT_EQ(PairsNeeded({.count = 3, .mean = 0.5, .deviation = 0}), std::nullopt);
  EXPECT_EQ(PairsNeeded({.count = 3, .mean = 0, .deviation = 0}), std::nullopt);
}

TEST(DifferencesTest, WhatRoundingMakesOfTheSameIsNoSpread) {
  // Mathematically all are 0.1.
  const std::vector<double> rounded = {0.2 - 0.1, 0.4 - 0.3, 0.8 - 0.7};
  ASSERT_LT(rounded.front(), rounded.back());
  EXPECT_EQ(SpreadOf(rounded, 0.8), 0);
  EXPECT_EQ(SpreadOf({0.5, 0.5}, 1), 0);
  EXPECT_DOUBLE_EQ(SpreadOf({1, 2, 3}, 100), 1);
  // The least that float32 tells apart.
  EXPECT_GT(SpreadOf({0, std::numeric_limits<float>::epsilon()}, 1), 5e-8);
}

TEST(DifferencesTest, OfWhatIsNotFiniteNothingIsSaid) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const DifferencesOfPairs infinite{.count = 2, .mean = -kInfinity, .deviation = SpreadOf({-kInfinity, 0}, kInfinity)};
  EXPECT_TRUE(std::isnan(infinite.deviation));
  const DifferencesOfPairs nothing{.count = 2, .mean = std::nan(""), .deviation = std::nan("")};
  for (const DifferencesOfPairs& one : {infinite, nothing}) {
    EXPECT_EQ(PairedP(one), std::nullopt);
    EXPECT_EQ(PairsNeeded(one), std::nullopt);
    EXPECT_TRUE(std::isnan(HalfWidth(one)));
  }
}

TEST(DifferencesTest, PairsNeededAreTheFirstWhoseIntervalLeavesZero) {
  EXPECT_EQ(PairsNeeded({.count = 3, .mean = 2, .deviation = 1}), 4);
  EXPECT_EQ(PairsNeeded({.count = 3, .mean = 1, .deviation = 2}), 18);
  EXPECT_EQ(PairsNeeded({.count = 3, .mean = -1, .deviation = 2}), 18);
  EXPECT_EQ(PairsNeeded({.count = 4, .mean = 0.0225, .deviation = 0.025}), 8);
  EXPECT_EQ(PairsNeeded({.count = 5, .mean = 1, .deviation = 1}), 7);
  EXPECT_EQ(PairsNeeded({.count = 2, .mean = 0.5, .deviation = 2.1213203435596424}), 72);
  for (const int count : {3, 10, 17}) {
    const int needed = PairsNeeded({.count = count, .mean = 1, .deviation = 2}).value_or(0);
    EXPECT_LT(HalfWidth({.count = needed, .mean = 1, .deviation = 2}), 1);
    EXPECT_GE(HalfWidth({.count = needed - 1, .mean = 1, .deviation = 2}), 1);
  }
}

TEST(DifferencesTest, NoPairsAreNeededWhereThereAreEnoughOrNoNumberIs) {
  EXPECT_EQ(PairsNeeded({.count = 2, .mean = 1, .deviation = 0.1}), std::nullopt);
  EXPECT_EQ(PairsNeeded({.count = 18, .mean = 1, .deviation = 2}), std::nullopt);
  EXPECT_EQ(PairsNeeded({.count = 3, .mean = 0, .deviation = 1}), std::nullopt);
}

TEST(DifferencesTest, BeyondAThousandPairsNoNumberIsSaid) {
  EXPECT_EQ(PairsNeeded({.count = 3, .mean = 0.0621, .deviation = 1}), 999);
  EXPECT_EQ(PairsNeeded({.count = 3, .mean = 0.06207, .deviation = 1}), 1000);
  EXPECT_EQ(PairsNeeded({.count = 3, .mean = 0.06205, .deviation = 1}), kMostPairsNeeded + 1);
  EXPECT_EQ(PairsNeeded({.count = 999, .mean = 0.06207, .deviation = 1}), 1000);
  EXPECT_EQ(PairsNeeded({.count = 1200, .mean = 0.05, .deviation = 1}), kMostPairsNeeded + 1) << "1,540 would do";
}

TEST(DifferencesTest, HolmsCorrectionIsThatOfOthers) {
  ExpectNear(CorrectedByHolm({0.01, 0.04, 0.03, 0.005}), {0.03, 0.06, 0.06, 0.02});
  ExpectNear(CorrectedByHolm({0.0125, 0.04, 0.2, 0.0126}), {0.05, 0.08, 0.2, 0.05});
  ExpectNear(CorrectedByHolm({0.02, 0.02, 0.9}), {0.06, 0.06, 0.9});
  ExpectNear(CorrectedByHolm({0.5, 0.6}), {1, 1});
  ExpectNear(CorrectedByHolm({0.001}), {0.001});
  ExpectNear(CorrectedByHolm({}), {});
}

TEST(DifferencesTest, WhatHasNoPIsNotCorrectedFor) {
  ExpectNear(CorrectedByHolm({std::nullopt, 0.01, std::nullopt, 0.04}), {std::nullopt, 0.02, std::nullopt, 0.04});
  ExpectNear(CorrectedByHolm({std::nullopt}), {std::nullopt});
}

}  // namespace
}  // namespace longreach::client
