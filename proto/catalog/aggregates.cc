#include "proto/catalog/aggregates.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace longreach::catalog {
namespace {

// The power of two of the largest value: with it divided out of all of them neither their sum nor a square can overflow, or all squares be too small to be told
// from 0. That changes no digit of them.
int PowerOf(const std::vector<double>& ascending) {
  const double largest = std::max(std::abs(ascending.front()), std::abs(ascending.back()));
  return largest > 0 && std::isfinite(largest) ? std::ilogb(largest) : 0;
}

}  // namespace

const std::vector<std::string>& Aggregates() {
  static const std::vector<std::string> all = {"max", "min", "mean", "median"};
  return all;
}

std::string_view AggregateInWords(std::string_view aggregate) { return aggregate == "max" ? "maximum" : aggregate == "min" ? "minimum" : aggregate; }

double MedianOf(const std::vector<double>& ascending) {
  const size_t middle = ascending.size() / 2;
  return ascending.size() % 2 == 1 ? ascending[middle] : std::midpoint(ascending[middle - 1], ascending[middle]);
}

double MeanOf(const std::vector<double>& ascending) {
  const int power = PowerOf(ascending);
  const double sum = std::accumulate(ascending.begin(), ascending.end(), 0.0, [power](double so_far, double value) { return so_far + std::ldexp(value, -power); });
  return std::ldexp(sum / static_cast<double>(ascending.size()), power);
}

double AggregateOf(const std::vector<double>& ascending, std::string_view aggregate) {
  if (aggregate == "min") return ascending.front();
  if (aggregate == "mean") return MeanOf(ascending);
  if (aggregate == "median") return MedianOf(ascending);
  return ascending.back();
}

std::optional<double> DeviationOf(const std::vector<double>& ascending) {
  if (ascending.size() < 2) return std::nullopt;
  // The mean of equal values may be off by a rounding.
  if (ascending.front() == ascending.back()) return 0;
  const int power = PowerOf(ascending);
  const double mean = std::ldexp(MeanOf(ascending), -power);
  double squares = 0;
  for (const double value : ascending) {
    const double difference = std::ldexp(value, -power) - mean;
    squares += difference * difference;
  }
  return std::ldexp(std::sqrt(squares / static_cast<double>(ascending.size() - 1)), power);
}

}  // namespace longreach::catalog
