#include "tests/golden/check/encodings.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "tests/golden/check/stored.h"
#include "worker/trainer/encodings/encoding.h"
#include "worker/trainer/model/attention.h"

namespace longreach::golden {

namespace {

using trainer::Distances;
using trainer::Encoding;
using trainer::EncodingConfig;
using trainer::ParameterLayout;
using trainer::ParameterSet;

constexpr double kTolerance = 1e-4;       // Logits and biases.
constexpr double kTableTolerance = 1e-5;  // Rows and rotations, whose angles are made in float64.
constexpr int kMaxPosition = 2048;

// One group of tensors, "T33/rand_table/".
class Variant {
 public:
  Variant(const SafetensorsFile& file, std::string prefix, FileCheck& check)
      : file_(file), prefix_(std::move(prefix)), check_(check) {}

  std::optional<Tensor> Find(const std::string& name) const { return Floats(file_, prefix_ + name); }
  std::optional<std::vector<int64_t>> FindIntegers(const std::string& name) const {
    return Integers(file_, prefix_ + name);
  }
  void Compare(const std::string& name, const Tensor& ours, double tolerance) const {
    const std::optional<Tensor> stored = Find(name);
    if (stored) CompareTensors(prefix_ + name, ours, *stored, tolerance, check_);
  }
  void Require(bool ok, const std::string& what) const { check_.Require(ok, prefix_ + ": " + what); }

 private:
  const SafetensorsFile& file_;
  std::string prefix_;
  FileCheck& check_;
};

std::vector<int64_t> Consecutive(int64_t count) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

// The encoding's parameters with the stored values; nothing when one is missing or of another shape.
std::optional<ParameterSet> Parameters(const Variant& variant, Encoding& encoding) {
  static const std::pair<std::string, std::string> kStoredNames[] = {{"pos.table", "table"},
                                                                     {"rel.w", "w"},
                                                                     {"rel_content_bias", "content_bias"},
                                                                     {"rel_relative_bias", "relative_bias"},
                                                                     {"kerple_power_a", "a"},
                                                                     {"kerple_power_p", "p"},
                                                                     {"kerple_log_a", "a"},
                                                                     {"kerple_log_p", "p"}};
  ParameterLayout layout;
  encoding.Declare(layout);
  ParameterSet set;
  for (const trainer::Parameter& parameter : layout.parameters()) {
    const auto stored_name = std::ranges::find_if(
        kStoredNames, [&](const auto& pair) { return parameter.name.ends_with(pair.first); });
    const std::optional<Tensor> stored =
        stored_name == std::end(kStoredNames) ? std::nullopt : variant.Find(stored_name->second);
    if (!stored || stored->sizes() != at::IntArrayRef(parameter.shape)) return std::nullopt;
    set.push_back(stored->clone());
  }
  encoding.Clamp(set);  // As before every forward pass.
  return set;
}

// sin_cos, learned, shape: what is added to the embedding.
void CheckAddition(const Variant& variant, const std::string& name) {
  const std::optional<Tensor> embeddings = variant.Find("embeddings");
  variant.Require(embeddings && embeddings->dim() == 3, "no embeddings [B, T, D]");
  if (!embeddings || embeddings->dim() != 3) return;
  const int64_t batch = embeddings->size(0), tape = embeddings->size(1);
  const std::optional<Tensor> table = variant.Find("table");
  const std::unique_ptr<Encoding> encoding = trainer::MakeEncoding(
      name, {.layers = 1,
             .embedding_dim = static_cast<int>(embeddings->size(2)),
             .num_heads = 1,
             .max_position = kMaxPosition,
             .learned_rows = table && table->dim() == 2 ? static_cast<int>(table->size(0)) : 1});
  const std::optional<ParameterSet> parameters = Parameters(variant, *encoding);
  variant.Require(parameters.has_value(), "a parameter is missing or has another shape");
  if (!parameters) return;
  Tensor positions;
  if (const std::optional<std::vector<int64_t>> offsets = variant.FindIntegers("offsets")) {
    variant.Require(static_cast<int64_t>(offsets->size()) == batch, "not one offset per sequence");
    if (static_cast<int64_t>(offsets->size()) != batch) return;
    positions = at::tensor(*offsets, at::kLong).unsqueeze(1) + at::arange(tape, at::kLong);
  } else {
    const std::vector<int64_t> drawn = variant.FindIntegers("positions").value_or(Consecutive(tape));
    variant.Require(static_cast<int64_t>(drawn.size()) == tape && *std::ranges::min_element(drawn) >= 0,
                    "not one position per token");
    if (static_cast<int64_t>(drawn.size()) != tape || *std::ranges::min_element(drawn) < 0) return;
    positions = at::tensor(drawn, at::kLong);
  }
  const Tensor addition = encoding->Addition(positions, *parameters);
  variant.Compare("encoding", addition, kTableTolerance);
  variant.Compare("out", *embeddings + addition, kTableTolerance);
}

// All others: attention logits before softmax.
void CheckAttention(const Variant& variant, const std::string& name) {
  const std::optional<Tensor> q = variant.Find("q"), k = variant.Find("k"), logits = variant.Find("logits");
  const bool whole = q && k && logits && q->dim() == 4 && q->sizes() == k->sizes();
  variant.Require(whole, "no q and k [B, T, H, K] with logits");
  if (!whole) return;
  const int64_t batch = q->size(0), tape = q->size(1), heads = q->size(2);
  EncodingConfig config{.layers = 1,
                        .embedding_dim = static_cast<int>(heads * q->size(3)),
                        .num_heads = static_cast<int>(heads),
                        .max_position = kMaxPosition,
                        .sandwich_dim = 128,
                        .t5_buckets = 32,
                        .t5_max_distance = 128};
  const auto check_logits = [&](const std::string& stored_name) {
    const std::unique_ptr<Encoding> encoding = trainer::MakeEncoding(name, config);
    const std::optional<ParameterSet> parameters = Parameters(variant, *encoding);
    variant.Require(parameters.has_value(), "a parameter is missing or has another shape");
    if (!parameters) return;
    std::vector<int64_t> positions = variant.FindIntegers("positions").value_or(Consecutive(tape));
    std::vector<int64_t> by_offset = variant.FindIntegers("distances").value_or(Consecutive(tape));
    const bool fits =
        static_cast<int64_t>(positions.size()) == tape && static_cast<int64_t>(by_offset.size()) == tape &&
        *std::ranges::min_element(positions) >= 0 && *std::ranges::max_element(positions) < (1 << 20);
    variant.Require(fits, "positions or distances are not one per token");
    if (!fits) return;
    const Distances distances = variant.FindIntegers("positions") ? Distances::OfPositions(positions)
                                                                  : Distances::ByOffset(by_offset);
    trainer::LayerTerms terms;
    Tensor queries = q->transpose(1, 2).contiguous(), keys = k->transpose(1, 2).contiguous();
    if (encoding->Use() == trainer::PositionUse::kRotation) {
      const Tensor rotation = encoding->Rotation(at::tensor(positions, at::kLong), /*test=*/false, /*layer=*/0);
      queries = trainer::Rotate(queries, rotation);
      keys = trainer::Rotate(keys, rotation);
      variant.Compare("q_rotated", queries.transpose(1, 2), kTableTolerance);
      variant.Compare("k_rotated", keys.transpose(1, 2), kTableTolerance);
    } else if (encoding->Use() == trainer::PositionUse::kDistances) {
      terms.distances = &distances;
      terms.bias_table = encoding->BiasTable(distances, *parameters, 0);
      terms.content = encoding->Content(distances, *parameters, 0);
      if (terms.bias_table.defined()) {
        variant.Compare("bias", trainer::AttentionLogits(at::zeros_like(queries), keys, terms, batch, 0)[0],
                        kTolerance);
        // ALiBi's table at distance 1 to the right is minus the slope.
        if (tape > 1) variant.Compare("slopes", -terms.bias_table.select(-1, tape), kTableTolerance);
      }
    }
    variant.Compare(stored_name, trainer::AttentionLogits(queries, keys, terms, batch, 0), kTolerance);
  };
  check_logits("logits");
  if (variant.Find("logits_as_released")) {
    config.relative_as_released = true;
    check_logits("logits_as_released");
  }
}

}  // namespace

void CheckEncodings(const std::filesystem::path& folder, Report& report) {
  const torch::NoGradGuard no_grad;
  for (const catalog::Encoding& entry : catalog::Encodings()) {
    const std::string name(entry.name);
    const std::string relative = "encodings/" + name + ".safetensors";
    FileCheck check(relative);
    const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(folder / relative);
    if (absl::IsNotFound(file.status())) {
      report.Absent(relative);
      continue;
    }
    check.Require(file.ok(), std::string(file.status().message()));
    std::set<std::string> prefixes;
    if (file.ok()) {
      for (const auto& [key, tensor] : file->entries()) {
        if (tensor.count() > 0) prefixes.insert(key.substr(0, key.rfind('/') + 1));
      }
    }
    for (const std::string& prefix : prefixes) {
      const Variant variant(*file, prefix, check);
      if (variant.Find("embeddings")) {
        CheckAddition(variant, name);
      } else {
        CheckAttention(variant, name);
      }
    }
    report.Add(check);
  }
}

}  // namespace longreach::golden
