#include "scheduler/service/other_values.h"

#include <vector>

#include <fmt/format.h>

#include "proto/base/text.h"

namespace longreach::service {
namespace {

// Of more than this many only the first few and the last are named.
constexpr size_t kAllNamed = 8;
constexpr size_t kFirstNamed = 3;

std::string Some(const std::vector<std::string>& names) {
  if (names.size() <= kAllNamed) return Join(names, ", ");
  return fmt::format("{}, ..., {}", Join({names.begin(), names.begin() + kFirstNamed}, ", "), names.back());
}

}  // namespace

std::string AtLengths(const std::set<int>& lengths) {
  std::vector<std::string> names;
  for (const int length : lengths) {
    if (length > 0) names.push_back(fmt::format("{}", length));
  }
  if (names.empty()) return "over all lengths";
  return fmt::format("{}at {} {}", lengths.contains(0) ? "over all lengths and " : "", names.size() == 1 ? "length" : "lengths", Some(names));
}

std::string OtherValues(std::span<const store::Measurement> measured, const v1::TableSpec& table) {
  if (measured.empty()) return "";
  std::set<std::string> metrics;
  std::set<std::string> slices;
  std::set<int> lengths;
  for (const store::Measurement& value : measured) {
    metrics.insert(value.metric);
    if (value.metric != table.metric()) continue;
    slices.insert(value.slice.empty() ? "none" : fmt::format("'{}'", value.slice));
    if (value.slice == table.slice()) lengths.insert(value.length);
  }
  if (slices.empty()) return fmt::format("there are values of {}", Some({metrics.begin(), metrics.end()}));
  if (lengths.empty()) return fmt::format("there are values of {} in these slices: {}", table.metric(), Some({slices.begin(), slices.end()}));
  return fmt::format("there are values of {} {}", table.metric(), AtLengths(lengths));
}

}  // namespace longreach::service
