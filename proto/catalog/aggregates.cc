#include "proto/catalog/aggregates.h"

#include <cmath>
#include <numeric>

namespace longreach::catalog {

const std::vector<std::string>& Aggregates() {
  static const std::vector<std::string> all = {"max", "min", "mean", "median"};
  return all;
}

std::string_view AggregateInWords(std::string_view aggregate) { return aggregate == "max" ? "maximum" : aggregate == "min" ? "minimum" : aggregate; }

double MedianOf(const std::vector<double>& ascending) {
  const size_t middle = ascending.size() / 2;
  return ascending.size() % 2 == 1 ? ascending[middle] : (ascending[middle - 1] + ascending[middle]) / 2;
}

double MeanOf(const std::vector<double>& ascending) {
  return std::accumulate(ascending.begin(), ascending.end(), 0.0) / static_cast<double>(ascending.size());
}

double AggregateOf(const std::vector<double>& ascending, std::string_view aggregate) {
  if (aggregate == "min") return ascending.front();
  if (aggregate == "mean") return MeanOf(ascending);
  if (aggregate == "median") return MedianOf(ascending);
  return ascending.back();
}

std::optional<double> DeviationOf(const std::vector<double>& ascending) {
  if (ascending.size() < 2) return std::nullopt;
  const double mean = MeanOf(ascending);
  double squares = 0;
  for (const double value : ascending) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(ascending.size() - 1));
}

}  // namespace longreach::catalog
