#include "client/figure/attention_series.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

namespace longreach::client {
namespace {

static_assert(std::endian::native == std::endian::little);  // As the file is.

// Sizes beyond these come from no job; the bounds keep products within 64 bits.
constexpr int64_t kMaxSize = 1 << 20;

absl::Status Broken(std::string_view why) { return absl::DataLossError(fmt::format("the attention matrices cannot be read: {}", why)); }

std::string TextOf(const nlohmann::json& header, const char* key) {
  const auto metadata = header.find("__metadata__");
  if (metadata == header.end() || !metadata->is_object()) return "";
  const auto found = metadata->find(key);
  return found != metadata->end() && found->is_string() ? found->get<std::string>() : "";
}

// `count` whole numbers that are not negative.
absl::StatusOr<std::vector<int64_t>> NumbersOf(const nlohmann::json& tensor, const char* key, size_t count, int64_t most) {
  const auto found = tensor.find(key);
  if (found == tensor.end() || !found->is_array() || found->size() != count) return Broken(fmt::format("no {} of {} numbers", key, count));
  std::vector<int64_t> numbers;
  for (const nlohmann::json& one : *found) {
    if (!one.is_number_unsigned() || one.get<uint64_t>() > static_cast<uint64_t>(most)) return Broken(fmt::format("{} is out of range", key));
    numbers.push_back(one.get<int64_t>());
  }
  return numbers;
}

}  // namespace

absl::StatusOr<AttentionSeries> AttentionSeries::Parse(std::string bytes, int length) {
  uint64_t header_bytes = 0;
  if (bytes.size() < sizeof header_bytes) return Broken("it has no header");
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  if (header_bytes > bytes.size() - sizeof header_bytes) return Broken("its header is longer than the file");
  const size_t payload = sizeof header_bytes + static_cast<size_t>(header_bytes);
  const nlohmann::json header = nlohmann::json::parse(bytes.begin() + sizeof header_bytes, bytes.begin() + static_cast<std::ptrdiff_t>(payload),
                                                      /*callback=*/nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) return Broken("its header is no JSON object");
  const auto tensor = header.find(fmt::format("attention/{}", length));
  if (tensor == header.end() || !tensor->is_object()) {
    return absl::NotFoundError(fmt::format("there are no attention matrices of length {}", length));
  }
  if (!tensor->contains("dtype") || tensor->at("dtype") != "F32") return Broken("they are not of type F32");
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape, NumbersOf(*tensor, "shape", 3, kMaxSize));
  ASSIGN_OR_RETURN(const std::vector<int64_t> offsets, NumbersOf(*tensor, "data_offsets", 2, int64_t{1} << 40));
  AttentionSeries series;
  series.layers_ = shape[0];
  series.tape_ = shape[1];
  if (series.layers_ < 1 || series.tape_ < 1 || shape[2] != series.tape_) return Broken("they are not square, or there are none");
  const int64_t there = static_cast<int64_t>(bytes.size() - payload);
  if (offsets[1] > there || offsets[1] < offsets[0] ||
      (offsets[1] - offsets[0]) / static_cast<int64_t>(sizeof(float)) / series.tape_ / series.tape_ != series.layers_ ||
      offsets[1] - offsets[0] != series.layers_ * series.tape_ * series.tape_ * static_cast<int64_t>(sizeof(float))) {
    return Broken("its size is not that of its shape");
  }
  series.begin_ = payload + static_cast<size_t>(offsets[0]);
  series.heads_ = TextOf(header, "heads");
  series.step_ = TextOf(header, "step");
  series.bytes_ = std::move(bytes);
  const int64_t values = series.layers_ * series.tape_ * series.tape_;
  for (int64_t i = 0; i < values; ++i) {
    const float value = series.At(0, 0, i);
    if (!(value >= 0 && value <= 1.0001f)) return Broken(fmt::format("one of them is {}, which is no share", value));
  }
  return series;
}

float AttentionSeries::At(int64_t layer, int64_t query, int64_t key) const {
  float value = 0;
  std::memcpy(&value, bytes_.data() + begin_ + static_cast<size_t>((layer * tape_ + query) * tape_ + key) * sizeof value, sizeof value);
  return value;
}

}  // namespace longreach::client
