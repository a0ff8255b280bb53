#include "client/output/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

namespace longreach::client {
namespace {

constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

// nullopt: none is finite, or they are too far apart for a number.
std::optional<double> MeanOf(std::span<const double> values) {
  double mean = 0;
  int count = 0;
  for (const double value : values) {
    if (std::isfinite(value)) mean += (value - mean) / ++count;
  }
  return count == 0 || !std::isfinite(mean) ? std::nullopt : std::optional(mean);
}

}  // namespace

std::string Sparkline(std::span<const double> values, size_t width) {
  if (width == 0 || std::ranges::count_if(values, [](double value) { return std::isfinite(value); }) < 2) return "";
  const size_t parts = std::min(width, values.size());
  std::vector<std::optional<double>> means;
  for (size_t i = 0; i < parts; ++i) {
    const size_t begin = i * values.size() / parts;
    means.push_back(MeanOf(values.subspan(begin, (i + 1) * values.size() / parts - begin)));
  }
  std::optional<double> least, greatest;
  for (const std::optional<double>& mean : means) {
    if (!mean.has_value()) continue;
    least = std::min(least.value_or(*mean), *mean);
    greatest = std::max(greatest.value_or(*mean), *mean);
  }
  std::string line;
  for (const std::optional<double>& mean : means) {
    if (!mean.has_value()) {
      line += ' ';
      continue;
    }
    // Halves first: the difference of two large numbers may be beyond all.
    const double range = *greatest / 2 - *least / 2;
    const double height = range > 0 ? (*mean / 2 - *least / 2) / range : 0;
    line += kBlocks[std::min(kBlocks.size() - 1, static_cast<size_t>(height * static_cast<double>(kBlocks.size())))];
  }
  return line;
}

}  // namespace longreach::client
