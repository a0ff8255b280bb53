// What a row of differences says of their true mean, by Student's distribution: they are taken for independent draws. Pure functions.
#pragma once

#include <optional>
#include <vector>

namespace longreach::client {

// How often an interval may miss the true mean, and how often any of the rows that are marked may be so by chance.
inline constexpr double kErrorRate = 0.05;
// Beyond so many pairs it is not said how many are needed.
inline constexpr int kMostPairsNeeded = 1000;

// Two of them at least.
struct DifferencesOfPairs {
  int count = 0;
  double mean = 0;
  double deviation = 0;  // Of a sample. 0: they are all the same.
};

// The deviation of differences, in ascending order, of values of which `largest` is the greatest, without its sign: differences that are the
// same but for rounding have none.
double SpreadOf(const std::vector<double>& ascending, double largest);

// Half the width of the interval around their mean.
double HalfWidth(const DifferencesOfPairs& differences);

// Of the paired t test, two-sided: how often a mean as far from 0 comes of a true mean of 0. Nothing where all differences are the same, which
// does not say how far a mean may be from the true one, or are no numbers.
std::optional<double> PairedP(const DifferencesOfPairs& differences);

// The least number of pairs whose interval leaves 0, if mean and deviation stay what they are; kMostPairsNeeded + 1: it is beyond that.
// Nothing where there are enough already, or where no number is, as the mean is 0.
std::optional<int> PairsNeeded(const DifferencesOfPairs& differences);

// Each of these p-values corrected by Holm's method for all that are there, as p.adjust(p, "holm") of R has it: of rows without any difference
// one is at most at kErrorRate in 5 of 100 cases, however the rows depend on each other. One that is not there is not counted, and stays so.
std::vector<std::optional<double>> CorrectedByHolm(const std::vector<std::optional<double>>& p);

}  // namespace longreach::client
