#include "client/output/bits.h"

#include <algorithm>
#include <numbers>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "client/errors.h"

namespace longreach::client {
namespace {

// A value as it was printed, in nats: with as many digits behind the point, and what else stands there (">1000", "3.5?"), of the value in bits.
std::string PrintedInBits(const std::string& printed, double bits) {
  constexpr std::string_view kNumber = "0123456789.";
  const size_t begin = printed.find_first_of(kNumber);
  if (begin == std::string::npos) return "";
  const size_t end = printed.find_last_of(kNumber) + 1;
  const size_t point = std::min(printed.find('.', begin), end - 1);
  return fmt::format("{}{:.{}f}{}", printed.substr(0, begin), bits, end - 1 - point, printed.substr(end));
}

}  // namespace

bool TurnIntoBits(v1::Table& table) {
  if (table.unit() != "nats") return false;
  const auto bits = [](double nats) { return nats / std::numbers::ln2; };
  table.set_unit("bits");
  constexpr std::string_view kInTitle = " (nats)";
  std::string& title = *table.mutable_title();
  if (const size_t at = title.find(kInTitle); at != std::string::npos) title.replace(at, kInTitle.size(), " (bits)");
  for (v1::TableCell& cell : *table.mutable_cells()) {
    if (cell.has_measured()) cell.set_measured(bits(cell.measured()));
    if (cell.has_published()) cell.set_published(bits(cell.published()));
    if (!cell.published_text().empty()) cell.set_published_text(PrintedInBits(cell.published_text(), cell.published()));
    if (cell.has_median()) cell.set_median(bits(cell.median()));
    if (cell.has_deviation()) cell.set_deviation(bits(cell.deviation()));
  }
  if (table.has_gain()) table.set_gain(bits(table.gain()));
  if (table.has_gain_error()) table.set_gain_error(bits(table.gain_error()));
  if (table.has_published_gain_of_cells()) table.set_published_gain_of_cells(bits(table.published_gain_of_cells()));
  if (table.has_published_gain_stated()) table.set_published_gain_stated(bits(table.published_gain_stated()));
  return true;
}

absl::Status NoBits(std::string_view metric) {
  return UsageError(fmt::format("--bits: {} is not measured in nats", metric), "leave it out; entropies and losses are");
}

}  // namespace longreach::client
