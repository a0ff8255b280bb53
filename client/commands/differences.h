// What a row of differences says of their true mean, by Student's distribution. What depends on each other is one draw, and draws are taken for
// independent. Pure functions.
#pragma once

#include <optional>
#include <vector>

#include "proto/catalog/draws.h"

namespace longreach::client {

// How often an interval may miss the true mean, and how often any of the rows that are marked may be so by chance.
inline constexpr double kErrorRate = 0.05;
// Beyond so many pairs, or draws, it is not said how many are needed.
inline constexpr int kMostPairsNeeded = 1000;

// The differences of a row that depend on each other.
using catalog::Draw;

// What is known of a row by its draws. Two of them at least.
struct DrawnDifferences {
  int count = 0;  // Of draws.
  double mean = 0;
  double deviation = 0;  // Of draws, as a sample's: the mean's standard error is this divided by the root of `count`. 0: they are all the same.
  // Degrees of freedom are one less than draws, times this: less than 1 where some draws have more pairs than others.
  double evenness = 1;
};

// Of a row whose mean difference over pairs is `mean`, and of whose values `largest` is the greatest, without its sign: draws that are the same
// but for rounding have no deviation. Of draws that have as many pairs each it is their means' sample deviation, so that the interval is that
// of a t test of these means. Where they have not, pairs weigh the same all the same, and the standard error is the one that is robust to
// clusters, CR2, with the degrees of freedom of Bell and McCaffrey for a mean: clubSandwich's coef_test() of lm(difference ~ 1) in R.
// Source: Imbens and Kolesar 2016, "Robust standard errors in small samples: some practical advice".
DrawnDifferences FromDraws(const std::vector<Draw>& draws, double mean, double largest);

// Half the width of the interval around their mean.
double HalfWidth(const DrawnDifferences& differences);

// Of the t test, two-sided: how often a mean as far from 0 comes of a true mean of 0. Nothing where all draws are the same, which does not say
// how far a mean may be from the true one, or are no numbers.
std::optional<double> PairedP(const DrawnDifferences& differences);

// The least number of draws whose interval leaves 0, if mean and deviation stay what they are; kMostPairsNeeded + 1: it is beyond that.
// Nothing where there are enough already, or where no number is, as the mean is 0.
std::optional<int> DrawsNeeded(const DrawnDifferences& differences);

// Each of these p-values corrected by Holm's method for all that are there, as p.adjust(p, "holm") of R has it: of rows without any difference
// one is at most at kErrorRate in 5 of 100 cases, however the rows depend on each other. One that is not there is not counted, and stays so.
std::vector<std::optional<double>> CorrectedByHolm(const std::vector<std::optional<double>>& p);

}  // namespace longreach::client
