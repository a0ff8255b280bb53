#include "client/figure/attention_series.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "proto/base/safetensors.h"

namespace longreach::client {
namespace {

static_assert(std::endian::native == std::endian::little);  // As the file is.

absl::Status BrokenMatrices(std::string_view why) { return absl::DataLossError(fmt::format("the attention matrices cannot be read: {}", why)); }

}  // namespace

absl::StatusOr<AttentionSeries> AttentionSeries::Parse(std::string bytes, int length) {
  const absl::StatusOr<SafetensorsHeader> header = SafetensorsHeader::Parse(bytes);
  if (!header.ok()) return BrokenMatrices(std::string_view(header.status().message().data(), header.status().message().size()));
  const SafetensorsEntry* matrices = header->Find(fmt::format("attention/{}", length));
  if (matrices == nullptr) return absl::NotFoundError(fmt::format("there are no attention matrices of length {}", length));
  if (matrices->dtype != "F32") return BrokenMatrices("they are not of type F32");
  const std::vector<int64_t>& shape = matrices->shape;
  if (shape.size() != 3 || shape[1] != shape[2] || matrices->count() == 0) return BrokenMatrices("they are not square, or there are none");
  AttentionSeries series;
  series.layers_ = shape[0];
  series.tape_ = shape[1];
  series.begin_ = header->payload_begin + static_cast<size_t>(matrices->begin);
  series.heads_ = header->Metadata("heads");
  series.bytes_ = std::move(bytes);
  const int64_t values = series.layers_ * series.tape_ * series.tape_;
  for (int64_t i = 0; i < values; ++i) {
    const float value = series.At(0, 0, i);
    if (!(value >= 0 && value <= 1.0001f)) return BrokenMatrices(fmt::format("one of them is {}, which is no share", value));
  }
  return series;
}

float AttentionSeries::At(int64_t layer, int64_t query, int64_t key) const {
  float value = 0;
  std::memcpy(&value, bytes_.data() + begin_ + static_cast<size_t>((layer * tape_ + query) * tape_ + key) * sizeof value, sizeof value);
  return value;
}

}  // namespace longreach::client
