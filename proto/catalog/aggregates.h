// What a cell may be of several values. The scheduler makes tables of them, the client figures; both name and offer the same ones.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longreach::catalog {

// "max", "min", "mean", "median".
const std::vector<std::string>& Aggregates();
// In a sentence: "maximum" of "max".
std::string_view AggregateInWords(std::string_view aggregate);

// Of values in ascending order, one at least: sums are made in that order, so that they depend on the values alone. `aggregate` is one of
// Aggregates().
double AggregateOf(const std::vector<double>& ascending, std::string_view aggregate);
double MeanOf(const std::vector<double>& ascending);
double MedianOf(const std::vector<double>& ascending);
// Of a sample; nothing for fewer than two values.
std::optional<double> DeviationOf(const std::vector<double>& ascending);

}  // namespace longreach::catalog
