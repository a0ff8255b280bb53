// How sure a mean over differences of pairs is that depend on each other in part: what does is one draw, and draws are taken for independent. The client's
// comparisons and the gain in the scheduler's tables know it by the same. Pure.
#pragma once

#include <vector>

namespace longreach::catalog {

// Differences that depend on each other, as those that share a job or begin with the same weights. They count once, however many.
struct Draw {
  int pairs = 0;
  double mean = 0;  // Of their differences.
};

// The square of the standard error of `mean`, that of all pairs of two draws at least, of whose values `largest` is the greatest, without its sign: draws that
// are the same but for rounding leave none. Of draws that have as many pairs each it is the sample variance of their means by their number. Where they have not,
// pairs weigh the same all the same, and it is the one that is robust to clusters, CR2: clubSandwich's vcovCR() of lm(difference ~ 1) in R.
double SquaredErrorOfMean(const std::vector<Draw>& draws, double mean, double largest);

}  // namespace longreach::catalog
