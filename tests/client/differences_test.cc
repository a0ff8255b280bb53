// What differences say of their mean. Expected values are those of scipy 1.17 (t.ppf, ttest_rel), of statsmodels 0.15 (multipletests, "holm") and, of
// draws, of the general formulas of CR2 in matrices (Pustejovsky and Tipton 2018) by numpy and scipy.
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
    DrawnDifferences differences;
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
  EXPECT_EQ(DrawsNeeded({.count = 3, .mean = 0.5, .deviation = 0}), std::nullopt);
  EXPECT_EQ(DrawsNeeded({.count = 3, .mean = 0, .deviation = 0}), std::nullopt);
}

TEST(DifferencesTest, DrawsOfOnePairEachAreAPairedTTest) {
  const DrawnDifferences drawn = FromDraws({{1, 1}, {1, 2}, {1, 3}}, 2, 3);
  EXPECT_EQ(drawn.count, 3);
  EXPECT_EQ(drawn.mean, 2);
  EXPECT_NEAR(drawn.deviation, 1, 1e-15);
  EXPECT_NEAR(drawn.evenness, 1, 1e-15);
}

TEST(DifferencesTest, DrawsOfAsManyPairsEachAreATTestOfTheirMeans) {
  // Differences 1, 2; 3, 5; 2, 6: means 1.5, 4 and 4, whose ttest_1samp has this p.
  const DrawnDifferences drawn = FromDraws({{2, 1.5}, {2, 4}, {2, 4}}, 19. / 6, 6);
  EXPECT_NEAR(HalfWidth(drawn), 3.585543941457885, 1e-12);
  EXPECT_NEAR(PairedP(drawn).value_or(0), 0.06279911503271883, 1e-12);
  EXPECT_NEAR(drawn.deviation, 1.4433756729740645, 1e-14);
}

TEST(DifferencesTest, PairsOfOneDrawCountOnceHoweverMany) {
  const DrawnDifferences few = FromDraws({{1, 1}, {1, 2}, {1, 3}}, 2, 3), many = FromDraws({{100, 1}, {100, 2}, {100, 3}}, 2, 3);
  EXPECT_NEAR(HalfWidth(many), HalfWidth(few), 1e-12);
  EXPECT_NEAR(PairedP(many).value_or(0), PairedP(few).value_or(1), 1e-12);
}

TEST(DifferencesTest, DrawsOfUnlikeSizesHaveFewerDegreesOfFreedom) {
  // Differences 1, 2, 3, 5; 2; 6, 7.
  const DrawnDifferences three = FromDraws({{4, 2.75}, {1, 2}, {2, 6.5}}, 26. / 7, 7);
  EXPECT_NEAR(three.deviation, 2.235155110355193, 1e-14);
  EXPECT_NEAR(three.evenness, 0.7758620689655173, 1e-14);
  EXPECT_NEAR(HalfWidth(three), 7.412006933520341, 1e-11);
  EXPECT_NEAR(PairedP(three).value_or(0), 0.1360849043824917, 1e-12);
  // Of two draws there is one, whatever their sizes. Differences 0.1; 0.2, 0.4, 0.3.
  const DrawnDifferences two = FromDraws({{1, 0.1}, {3, 0.3}}, 0.25, 0.4);
  EXPECT_NEAR(two.evenness, 1, 1e-15);
  EXPECT_NEAR(HalfWidth(two), 1.1003896087213425, 1e-12);
  EXPECT_NEAR(PairedP(two).value_or(0), 0.21229561500965635, 1e-12);
}

TEST(DifferencesTest, ADrawWithAlmostAllPairsLeavesDegreesOfFreedomExact) {
  // By the same formulas in fractions.
  EXPECT_NEAR(2 * FromDraws({{1'000'000, 1}, {1, 2}, {1, 3}}, 1, 3).evenness, 1.000002, 1e-10);
  EXPECT_NEAR(3 * FromDraws({{1'000'000, 1}, {3, 2}, {1, 3}, {1, 4}}, 1, 4).evenness, 1.00000559999976, 1e-10);
}

double DeviationOf(const std::vector<double>& means, double largest) {
  std::vector<Draw> draws;
  double sum = 0;
  for (const double mean : means) {
    draws.push_back({1, mean});
    sum += mean;
  }
  return FromDraws(draws, sum / static_cast<double>(means.size()), largest).deviation;
}

TEST(DifferencesTest, WhatRoundingMakesOfTheSameIsNoSpread) {
  // Mathematically all are 0.1.
  const std::vector<double> rounded = {0.2 - 0.1, 0.4 - 0.3, 0.8 - 0.7};
  ASSERT_LT(rounded.front(), rounded.back());
  EXPECT_EQ(DeviationOf(rounded, 0.8), 0);
  EXPECT_EQ(DeviationOf({0.5, 0.5}, 1), 0);
  EXPECT_NEAR(DeviationOf({1, 2, 3}, 100), 1, 1e-15);
  // The least that float32 tells apart.
  EXPECT_GT(DeviationOf({0, std::numeric_limits<float>::epsilon()}, 1), 5e-8);
}

TEST(DifferencesTest, OfWhatIsNotFiniteNothingIsSaid) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const DrawnDifferences infinite = FromDraws({{1, -kInfinity}, {1, 0}}, -kInfinity, kInfinity);
  EXPECT_TRUE(std::isnan(infinite.deviation));
  const DrawnDifferences nothing = FromDraws({{1, 0}, {1, std::nan("")}}, std::nan(""), 1);
  EXPECT_TRUE(std::isnan(nothing.deviation));
  for (const DrawnDifferences& one : {infinite, nothing}) {
    EXPECT_EQ(PairedP(one), std::nullopt);
    EXPECT_EQ(DrawsNeeded(one), std::nullopt);
    EXPECT_TRUE(std::isnan(HalfWidth(one)));
  }
}

TEST(DifferencesTest, DrawsNeededAreTheFirstWhoseIntervalLeavesZero) {
  EXPECT_EQ(DrawsNeeded({.count = 3, .mean = 2, .deviation = 1}), 4);
  EXPECT_EQ(DrawsNeeded({.count = 3, .mean = 1, .deviation = 2}), 18);
  EXPECT_EQ(DrawsNeeded({.count = 3, .mean = -1, .deviation = 2}), 18);
  EXPECT_EQ(DrawsNeeded({.count = 4, .mean = 0.0225, .deviation = 0.025}), 8);
  EXPECT_EQ(DrawsNeeded({.count = 5, .mean = 1, .deviation = 1}), 7);
  EXPECT_EQ(DrawsNeeded({.count = 2, .mean = 0.5, .deviation = 2.1213203435596424}), 72);
  for (const int count : {3, 10, 17}) {
    const int needed = DrawsNeeded({.count = count, .mean = 1, .deviation = 2}).value_or(0);
    EXPECT_LT(HalfWidth({.count = needed, .mean = 1, .deviation = 2}), 1);
    EXPECT_GE(HalfWidth({.count = needed - 1, .mean = 1, .deviation = 2}), 1);
  }
}

TEST(DifferencesTest, NoDrawsAreNeededWhereThereAreEnoughOrNoNumberIs) {
  EXPECT_EQ(DrawsNeeded({.count = 2, .mean = 1, .deviation = 0.1}), std::nullopt);
  EXPECT_EQ(DrawsNeeded({.count = 18, .mean = 1, .deviation = 2}), std::nullopt);
  EXPECT_EQ(DrawsNeeded({.count = 3, .mean = 0, .deviation = 1}), std::nullopt);
}

TEST(DifferencesTest, BeyondAThousandDrawsNoNumberIsSaid) {
  EXPECT_EQ(DrawsNeeded({.count = 3, .mean = 0.0621, .deviation = 1}), 999);
  EXPECT_EQ(DrawsNeeded({.count = 3, .mean = 0.06207, .deviation = 1}), 1000);
  EXPECT_EQ(DrawsNeeded({.count = 3, .mean = 0.06205, .deviation = 1}), kMostPairsNeeded + 1);
  EXPECT_EQ(DrawsNeeded({.count = 999, .mean = 0.06207, .deviation = 1}), 1000);
  EXPECT_EQ(DrawsNeeded({.count = 1200, .mean = 0.05, .deviation = 1}), kMostPairsNeeded + 1) << "1,540 would do";
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
