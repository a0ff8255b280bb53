#include <algorithm>
#include <cmath>

#include "proto/base/text.h"
#include "tests/golden/check/nope/checks.h"
#include "worker/trainer/llama/rope.h"

namespace longreach::golden {

namespace {

using nlohmann::json;

constexpr double kFrequencyRelative = 3e-6;
constexpr double kMagnitudeRelative = 1e-6;

// A configuration of which only what the table says matters.
absl::StatusOr<trainer::LlamaConfig> ConfigOf(const json& entry) {
  const json config = {{"hidden_size", entry.at("head_dim")},
                       {"intermediate_size", 1},
                       {"num_hidden_layers", 1},
                       {"num_attention_heads", 1},
                       {"head_dim", entry.at("head_dim")},
                       {"vocab_size", 1},
                       {"max_position_embeddings", entry.at("max_position_embeddings")},
                       {"rope_theta", entry.at("rope_theta")},
                       {"rope_scaling", entry.at("rope_scaling")}};
  return trainer::ParseLlamaConfig(config.dump());
}

void Compare(const std::string& key, const std::vector<float>& ours, const std::vector<float>& stored, FileCheck& check) {
  check.Require(ours.size() == stored.size(), key + ": has another number of pairs");
  double worst = 0;
  for (size_t i = 0; i < std::min(ours.size(), stored.size()); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(ours[i]) / static_cast<double>(stored[i]) - 1));
  }
  check.Compare(key, worst, kFrequencyRelative);
}

}  // namespace

void CheckRopeTables(NopeSet& set, Report& report) {
  CheckJson(set, "rope_tables.json", report, [&](const json& entries, FileCheck& check) {
    const absl::StatusOr<trainer::SafetensorsFile> tables = set.Safetensors("rope_tables.safetensors");
    check.Require(tables.ok(), std::string(tables.status().message()));
    if (!tables.ok()) return;
    for (const json& entry : entries) {
      const std::string key = entry.at("key").get<std::string>();
      absl::StatusOr<trainer::LlamaConfig> config = ConfigOf(entry);
      const absl::StatusOr<std::vector<float>> stored = tables->Floats(key);
      check.Require(config.ok() && stored.ok(), Text(key, ": ", config.status().message(), stored.status().message()));
      if (!config.ok() || !stored.ok()) continue;
      const int64_t length = entry.at("seq_len").is_null() ? 1 : entry.at("seq_len").get<int64_t>();
      const trainer::RopeTable table = trainer::MakeRopeTable(*config, length);
      Compare(key, table.frequencies, *stored, check);
      check.Compare(key + " magnitude", table.magnitude / entry.at("magnitude").get<double>() - 1, kMagnitudeRelative);
      // Static NTK is stored as the base it makes; the factor that made it is in the key alone.
      const size_t alpha = key.find("ntk_alpha");
      if (alpha == std::string::npos) continue;
      const std::optional<int64_t> factor = ParseInteger(key.substr(alpha + 9));
      check.Require(factor.has_value(), key + " ends in no factor");
      config->rope_theta = entry.at("base").get<double>();
      config->rope_scaling = {.kind = trainer::RopeScaling::Kind::kNtk, .factor = static_cast<double>(factor.value_or(1))};
      Compare(key + " by its factor", trainer::MakeRopeTable(*config, 1).frequencies, *stored, check);
    }
  });
}

}  // namespace longreach::golden
