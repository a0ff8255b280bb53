#include "client/figure/entropy_series.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "client/output/text.h"
#include "proto/base/safetensors.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

static_assert(std::endian::native == std::endian::little);  // As the file is.

constexpr const char* kEntropies = "attention_entropy";
// Far above any window.
constexpr int64_t kMostPositions = int64_t{1} << 40;

absl::Status BrokenEntropies(std::string_view why) { return absl::DataLossError(fmt::format("the entropies of attention heads cannot be read: {}", why)); }

}  // namespace

absl::StatusOr<EntropySeries> EntropySeries::Parse(std::string bytes) {
  const absl::StatusOr<SafetensorsHeader> header = SafetensorsHeader::Parse(bytes);
  if (!header.ok()) return BrokenEntropies(std::string_view(header.status().message().data(), header.status().message().size()));
  const SafetensorsEntry* entropies = header->Find(kEntropies);
  if (entropies == nullptr) return absl::NotFoundError("there are no entropies of attention heads");
  if (entropies->dtype != "F64") return BrokenEntropies("they are not of type F64");
  const std::vector<int64_t>& shape = entropies->shape;
  if (shape.size() != 3 || entropies->count() == 0) return BrokenEntropies("they are not by layer, head and bin, or there are none");
  const std::string width = header->Metadata("bin_width");
  const std::optional<int64_t> positions = ParseInteger(width);
  if (!positions || *positions < 1 || *positions > kMostPositions / shape[2]) {
    return BrokenEntropies(fmt::format("'{}' is no width of {} bins", Printable(width), shape[2]));
  }
  EntropySeries series;
  series.layers_ = shape[0];
  series.heads_ = shape[1];
  series.bins_ = shape[2];
  series.bin_width_ = *positions;
  series.begin_ = header->payload_begin + static_cast<size_t>(entropies->begin);
  series.bytes_ = std::move(bytes);
  return series;
}

double EntropySeries::At(int64_t layer, int64_t head, int64_t bin) const {
  double value = 0;
  std::memcpy(&value, bytes_.data() + begin_ + static_cast<size_t>((layer * heads_ + head) * bins_ + bin) * sizeof value, sizeof value);
  return value;
}

}  // namespace longreach::client
