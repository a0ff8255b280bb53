// config.json of LLaMA-type models: what is read, what is refused, and the frequencies that follow.
#include <cmath>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/trainer/llama/config.h"
#include "worker/trainer/llama/rope.h"

namespace longreach::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kTinyLlama[] = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
  "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22, "num_attention_heads": 32, "num_key_value_heads": 4,
  "max_position_embeddings": 2048, "rms_norm_eps": 1e-05, "rope_scaling": null, "vocab_size": 32000, "bos_token_id": 1,
  "eos_token_id": 2, "tie_word_embeddings": false, "torch_dtype": "float32"})";

// The text with one key set to another value, or added.
std::string With(const std::string& key, const std::string& value) {
  std::string text = kTinyLlama;
  const size_t at = text.find("\"" + key + "\":");
  if (at == std::string::npos) return text.insert(text.size() - 1, ", \"" + key + "\": " + value);
  const size_t from = text.find(':', at) + 1;
  int depth = 0;
  size_t to = from;
  for (; depth > 0 || (text[to] != ',' && text[to] != '}'); ++to) depth += text[to] == '[' ? 1 : text[to] == ']' ? -1 : 0;
  return text.replace(from, to - from, " " + value);
}

std::string Refusal(const std::string& text) {
  const absl::StatusOr<LlamaConfig> config = ParseLlamaConfig(text);
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(config.status().message());
}

TEST(LlamaConfigTest, ReadsTinyLlamas) {
  const absl::StatusOr<LlamaConfig> config = ParseLlamaConfig(kTinyLlama);

  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->hidden_dim, 2048);
  EXPECT_EQ(config->head_dim, 64);
  EXPECT_EQ(config->Groups(), 8);
  EXPECT_EQ(config->rope_theta, 10000);
  EXPECT_EQ(config->norm_epsilon, 1e-5);
  EXPECT_EQ(config->max_positions, 2048);
  EXPECT_EQ(config->bos, 1);
  EXPECT_THAT(config->eos, ElementsAre(2));
  EXPECT_FALSE(config->nope);
}

// Constants that are another number in another family of these models, and none of ours.
TEST(LlamaConfigTest, ConstantsAreTheFilesOwnOrThoseOfTransformers) {
  LlamaConfig config = *ParseLlamaConfig(With("rms_norm_eps", "1e-06"));
  EXPECT_EQ(config.norm_epsilon, 1e-6);
  EXPECT_EQ(ParseLlamaConfig(LlamaConfigJson(config, "float32"))->norm_epsilon, 1e-6);
  EXPECT_EQ(ParseLlamaConfig(With("rms_norm_eps", "null"))->norm_epsilon, 1e-6);
  config = *ParseLlamaConfig(With("rope_theta", "500000.0"));
  EXPECT_EQ(config.rope_theta, 500000);
  EXPECT_EQ(ParseLlamaConfig(LlamaConfigJson(config, "float32"))->rope_theta, 500000);
  EXPECT_EQ(ParseLlamaConfig(With("head_dim", "128"))->head_dim, 128);
  EXPECT_EQ(ParseLlamaConfig(With("num_key_value_heads", "null"))->kv_heads, 32);
}

TEST(LlamaConfigTest, TokensThatAreNotNamedAreTheUsualOnesAndANullIsNone) {
  std::string text = kTinyLlama;
  for (const std::string key : {"\"bos_token_id\": 1,", "\"eos_token_id\": 2,"}) text.erase(text.find(key), key.size());
  const absl::StatusOr<LlamaConfig> usual = ParseLlamaConfig(text);
  ASSERT_TRUE(usual.ok()) << usual.status();
  EXPECT_EQ(usual->bos, 1);
  EXPECT_THAT(usual->eos, ElementsAre(2));

  LlamaConfig none = *ParseLlamaConfig(With("bos_token_id", "null"));
  EXPECT_EQ(none.bos, std::nullopt);
  none.eos.clear();
  const absl::StatusOr<LlamaConfig> again = ParseLlamaConfig(LlamaConfigJson(none, "float32"));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->bos, std::nullopt);
  EXPECT_TRUE(again->eos.empty());

  none.vocabulary = 2;  // Too few for one of them.
  std::string small = LlamaConfigJson(none, "float32");
  for (const std::string key : {"\"bos_token_id\"", "\"eos_token_id\""}) small.replace(small.find(key), key.size(), "\"unknown" + key.substr(1, 3) + "\"");
  ASSERT_TRUE(ParseLlamaConfig(small).ok()) << ParseLlamaConfig(small).status();
  EXPECT_EQ(ParseLlamaConfig(small)->bos, 1);
  EXPECT_TRUE(ParseLlamaConfig(small)->eos.empty());
}

// Some releases of transformers take the ratio of the two lengths for the factor.
TEST(LlamaConfigTest, YarnsOriginalLengthIsWrittenOnlyWhereItIsAnotherOne) {
  LlamaConfig config = *ParseLlamaConfig(kTinyLlama);
  config.rope_scaling = {.kind = RopeScaling::Kind::kYarn, .factor = 4, .original_length = 2048};
  EXPECT_THAT(LlamaConfigJson(config, "float32"), ::testing::Not(HasSubstr("original_max_position_embeddings")));
  EXPECT_EQ(MakeRopeTable(*ParseLlamaConfig(LlamaConfigJson(config, "float32")), 1).frequencies, MakeRopeTable(config, 1).frequencies);

  config.rope_scaling.original_length = 512;
  EXPECT_THAT(LlamaConfigJson(config, "float32"), HasSubstr("\"original_max_position_embeddings\": 512"));
}

TEST(LlamaConfigTest, ReadsTheScalingInOldAndNewSpelling) {
  const std::string old_spelling = With("rope_scaling", R"({"type": "linear", "factor": 4})");
  const std::string fifth = With("rope_parameters", R"({"rope_type": "dynamic", "factor": 2.0, "rope_theta": 50000.0})");

  ASSERT_TRUE(ParseLlamaConfig(old_spelling).ok()) << ParseLlamaConfig(old_spelling).status();
  EXPECT_EQ(ParseLlamaConfig(old_spelling)->rope_scaling.kind, RopeScaling::Kind::kLinear);
  EXPECT_EQ(ParseLlamaConfig(old_spelling)->rope_scaling.factor, 4);
  ASSERT_TRUE(ParseLlamaConfig(fifth).ok()) << ParseLlamaConfig(fifth).status();
  EXPECT_EQ(ParseLlamaConfig(fifth)->rope_scaling.kind, RopeScaling::Kind::kDynamic);
  EXPECT_EQ(ParseLlamaConfig(fifth)->rope_theta, 50000);
}

TEST(LlamaConfigTest, WritesWhatItReadsBack) {
  LlamaConfig config = *ParseLlamaConfig(kTinyLlama);
  config.tied = true;
  config.eos = {2, 7};
  config.rope_scaling = {.kind = RopeScaling::Kind::kYarn, .factor = 4, .original_length = 1024, .beta_fast = 16,
      .beta_slow = 2, .attention_factor = 1.25};

  const absl::StatusOr<LlamaConfig> again = ParseLlamaConfig(LlamaConfigJson(config, "bfloat16"));

  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->nope);
  EXPECT_TRUE(again->tied);
  EXPECT_THAT(again->eos, ElementsAre(2, 7));
  EXPECT_EQ(again->rope_scaling.original_length, 1024);
  EXPECT_EQ(MakeRopeTable(*again, 1).frequencies, MakeRopeTable(config, 1).frequencies);
  EXPECT_EQ(MakeRopeTable(*again, 1).magnitude, 1.25);
}

TEST(LlamaConfigTest, WithoutPositionsOtherReadersRotateByNothing) {
  LlamaConfig config = *ParseLlamaConfig(kTinyLlama);
  config.nope = true;
  const std::string written = LlamaConfigJson(config, "float32");

  const absl::StatusOr<LlamaConfig> again = ParseLlamaConfig(written);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->nope);
  EXPECT_EQ(again->rope_scaling.kind, RopeScaling::Kind::kNone);

  // Who drops our mark has positions that are all the same.
  std::string dropped = written;
  dropped.replace(dropped.find("\"nope\""), 6, "\"unknown\"");
  const LlamaConfig others = *ParseLlamaConfig(dropped);
  EXPECT_FALSE(others.nope);
  const std::vector<float> frequencies = MakeRopeTable(others, 1).frequencies;
  EXPECT_FALSE(frequencies.empty());
  for (const float frequency : frequencies) {
    const float angle = frequency * 1e6f;
    EXPECT_EQ(std::cos(angle), 1.0f);
    EXPECT_EQ(1.0f + std::sin(angle), 1.0f);
  }
}

// As SmolLM3's, which is a LLaMA but for them.
TEST(LlamaConfigTest, LayersThatDoNotRotateAreThoseOfTheListOrOfTheInterval) {
  const std::string smollm3 = R"({"architectures": ["SmolLM3ForCausalLM"], "model_type": "smollm3", "hidden_size": 64, "intermediate_size": 96,
    "num_hidden_layers": 8, "num_attention_heads": 8, "max_position_embeddings": 2048, "vocab_size": 32000})";
  const auto with = [&](const std::string& more) { return smollm3.substr(0, smollm3.size() - 1) + ", " + more + "}"; };
  const LlamaConfig usual = *ParseLlamaConfig(smollm3);
  EXPECT_THAT(usual.unrotated, ElementsAre(3, 7));
  EXPECT_EQ(usual.rope_theta, 2e6);
  EXPECT_EQ(usual.kv_heads, 4);
  EXPECT_TRUE(usual.tied);
  EXPECT_FALSE(usual.bos.has_value()) << "the usual one is beyond this vocabulary";
  EXPECT_EQ(ParseLlamaConfig(with(R"("num_key_value_heads": null)"))->kv_heads, 8);
  EXPECT_THAT(ParseLlamaConfig(with(R"("no_rope_layer_interval": 3)"))->unrotated, ElementsAre(2, 5));
  EXPECT_THAT(ParseLlamaConfig(with(R"("no_rope_layer_interval": 3, "no_rope_layers": [1, 0, 0, 1, 1, 1, 1, 1], "layer_types": null)"))->unrotated, ElementsAre(1, 2));
  EXPECT_THAT(Refusal(with(R"("no_rope_layers": [1, 0])")), HasSubstr("'no_rope_layers' is [1,0], expected 0 or 1 for each of 8 layers"));
  EXPECT_THAT(Refusal(with(R"("no_rope_layers": [1, 0, 0, 1, 1, 1, 1, 2])")), HasSubstr("expected 0 or 1 for each"));
  EXPECT_THAT(Refusal(with(R"("use_sliding_window": true)")), HasSubstr("'use_sliding_window' is true"));
  EXPECT_THAT(Refusal(with(R"("layer_types": ["sliding_attention"])")), HasSubstr("expected \"full_attention\" for all layers"));
  EXPECT_THAT(Refusal(with(R"("architectures": ["LlamaForCausalLM"])")), HasSubstr("'architectures'"));
  EXPECT_TRUE(ParseLlamaConfig(With("no_rope_layers", "[0]"))->unrotated.empty()) << "a LLaMA has no such key";
}

TEST(LlamaConfigTest, LayersThatDoNotRotateAreWrittenForReadersThatKnowThem) {
  LlamaConfig config = *ParseLlamaConfig(kTinyLlama);
  config.unrotated = {0, 7};
  const std::string written = LlamaConfigJson(config, "float32");
  EXPECT_THAT(written, HasSubstr("\"model_type\": \"smollm3\""));

  const absl::StatusOr<LlamaConfig> again = ParseLlamaConfig(written);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->unrotated, ElementsAre(0, 7));
  EXPECT_EQ(again->rope_theta, config.rope_theta);
  EXPECT_EQ(again->kv_heads, config.kv_heads);
  EXPECT_FALSE(again->tied);
  EXPECT_EQ(again->bos, config.bos);
  EXPECT_EQ(again->eos, config.eos);

  config.nope = true;
  EXPECT_THAT(LlamaConfigJson(config, "float32"), HasSubstr("\"model_type\": \"llama\""));
}

TEST(LlamaConfigTest, StaticNtkIsWrittenAsItsBase) {
  LlamaConfig config = *ParseLlamaConfig(kTinyLlama);
  config.rope_scaling = {.kind = RopeScaling::Kind::kNtk, .factor = 4};

  const absl::StatusOr<LlamaConfig> again = ParseLlamaConfig(LlamaConfigJson(config, "float32"));

  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->rope_scaling.kind, RopeScaling::Kind::kNone);
  EXPECT_EQ(MakeRopeTable(*again, 1).frequencies, MakeRopeTable(config, 1).frequencies);
}

TEST(LlamaConfigTest, RefusesWhatItDoesNotComputeWithKeyAndValue) {
  EXPECT_THAT(Refusal("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(Refusal("{}"), HasSubstr("no 'hidden_size'"));
  EXPECT_THAT(Refusal(With("model_type", "\"mistral\"")), HasSubstr("'model_type' is \"mistral\""));
  EXPECT_THAT(Refusal(With("hidden_act", "\"gelu\"")), HasSubstr("'hidden_act' is \"gelu\", expected \"silu\""));
  EXPECT_THAT(Refusal(With("attention_bias", "true")), HasSubstr("'attention_bias' is true"));
  EXPECT_THAT(Refusal(With("hidden_size", "\"big\"")), HasSubstr("'hidden_size' is \"big\", expected a whole number"));
  EXPECT_THAT(Refusal(With("num_hidden_layers", "-1")), HasSubstr("'num_hidden_layers' is -1"));
  EXPECT_THAT(Refusal(With("vocab_size", "18446744073709551615")), HasSubstr("'vocab_size' is 18446744073709551615"));
  EXPECT_THAT(Refusal(With("num_key_value_heads", "5")), HasSubstr("32 attention heads cannot share 5"));
  EXPECT_THAT(Refusal(With("head_dim", "7")), HasSubstr("pairs of features"));
  EXPECT_THAT(Refusal(With("eos_token_id", "[2, 32000]")), HasSubstr("'eos_token_id' is 32000, expected a token below 32000"));
}

TEST(LlamaConfigTest, RefusesAnUnknownScalingAndKeysThatWouldBeIgnored) {
  EXPECT_THAT(Refusal(With("rope_scaling", R"({"rope_type": "llama3", "factor": 8})")),
              HasSubstr("type 'llama3'; known are default, linear, dynamic and yarn"));
  EXPECT_THAT(Refusal(With("rope_scaling", R"({"factor": 8})")), HasSubstr("no 'rope_type'"));
  EXPECT_THAT(Refusal(With("rope_scaling", R"({"rope_type": "linear"})")), HasSubstr("no 'factor'"));
  EXPECT_THAT(Refusal(With("rope_scaling", R"({"rope_type": "linear", "factor": 0.5})")), HasSubstr("'factor' is 0.5"));
  EXPECT_THAT(Refusal(With("rope_scaling", R"({"rope_type": "yarn", "factor": 2, "mscale": 0.7})")), HasSubstr("a key 'mscale'"));
  EXPECT_THAT(Refusal(With("rope_scaling", "4")), HasSubstr("'rope_scaling' is 4, expected an object"));
}

TEST(RopeTableTest, OnlyTheDynamicKindDependsOnTheLengthAndForgetsLongerInputs) {
  LlamaConfig config = *ParseLlamaConfig(kTinyLlama);
  const std::vector<float> plain = MakeRopeTable(config, 1).frequencies;
  config.rope_scaling = {.kind = RopeScaling::Kind::kDynamic, .factor = 2};

  EXPECT_EQ(MakeRopeTable(config, 100).frequencies, plain);
  EXPECT_EQ(MakeRopeTable(config, 2048).frequencies, plain);
  const std::vector<float> longer = MakeRopeTable(config, 4096).frequencies;
  EXPECT_EQ(longer[0], 1.0f);
  EXPECT_LT(longer[31], plain[31]);
  EXPECT_EQ(MakeRopeTable(config, 100).frequencies, plain);
}

// By the formulas of their sources in float64, of pairs 0, 1, 8, 9, 15, 20, 21 and 31.
TEST(RopeTableTest, FrequenciesAreThoseOfTheFormulas) {
  using Kind = RopeScaling::Kind;
  struct Row {
    RopeScaling scaling;
    double base;
    int64_t trained, length;
    double expected[8];
  };
  const Row rows[] = {
      {{.kind = Kind::kNone}, 1e4, 2048, 1,
       {1, 0.7498942093324559, 0.1, 0.07498942093324558, 0.01333521432163324, 0.0031622776601683794, 0.0023713737056616554, 0.0001333521432163324}},
      {{.kind = Kind::kLinear, .factor = 4}, 1e4, 2048, 1,
       {0.25, 0.18747355233311397, 0.025, 0.018747355233311395, 0.00333380358040831, 0.0007905694150420948, 0.0005928434264154138, 3.33380358040831e-05}},
      {{.kind = Kind::kNtk, .factor = 4}, 1e4, 2048, 1,
       {1, 0.7170983281048126, 0.06992454992116262, 0.05014277784194722, 0.006818371330747982, 0.0012929275784091781, 0.0009271562048378256, 3.3338035804083106e-05}},
      {{.kind = Kind::kDynamic, .factor = 2}, 1e4, 2048, 6144,
       {1, 0.7119550592178845, 0.06601165846765096, 0.0469973342134072, 0.006120525442205232, 0.001119570921631329, 0.0007970841818086544, 2.6670428643266484e-05}},
      {{.kind = Kind::kDynamic, .factor = 4}, 1e4, 2048, 3000,
       {1, 0.724905803902365, 0.07625224160994433, 0.05527569250361406, 0.008020910191697742, 0.001605578478799561, 0.0011638931579025322, 4.66368151139086e-05}},
      {{.kind = Kind::kYarn, .factor = 4}, 1e4, 2048, 1,
       {1, 0.7498942093324559, 0.1, 0.0706631081870968, 0.00794983930712751, 0.0009730085108210397, 0.0005928434264154138, 3.33380358040831e-05}},
      {{.kind = Kind::kYarn, .factor = 8, .original_length = 4096, .beta_fast = 16, .beta_slow = 2}, 5e5, 32768, 1,
       {1, 0.6636012376960885, 0.03760603093086393, 0.024955408670558694, 0.00026638994211399566, 3.428102195952591e-05, 2.2748928601828183e-05, 3.767322690173964e-07}}};
  constexpr size_t kPairs[] = {0, 1, 8, 9, 15, 20, 21, 31};
  for (const Row& row : rows) {
    SCOPED_TRACE(static_cast<int>(row.scaling.kind));
    LlamaConfig config = *ParseLlamaConfig(kTinyLlama);
    config.rope_scaling = row.scaling;
    config.rope_theta = row.base;
    config.max_positions = row.trained;

    const RopeTable table = MakeRopeTable(config, row.length);

    ASSERT_EQ(table.frequencies.size(), 32u);
    for (size_t i = 0; i < std::size(kPairs); ++i) EXPECT_NEAR(table.frequencies[kPairs[i]] / row.expected[i], 1, 1e-6) << kPairs[i];
    EXPECT_EQ(table.magnitude == 1, row.scaling.kind != Kind::kYarn);
  }
}

// The paper's figures for TinyLlama: pairs up to 8 stay, those from 21 on are interpolated.
TEST(RopeTableTest, YarnKeepsFastPairsAndInterpolatesSlowOnes) {
  LlamaConfig config = *ParseLlamaConfig(kTinyLlama);
  const std::vector<float> plain = MakeRopeTable(config, 1).frequencies;
  config.rope_scaling = {.kind = RopeScaling::Kind::kYarn, .factor = 4};

  const RopeTable yarn = MakeRopeTable(config, 1);

  EXPECT_EQ(yarn.frequencies[8], plain[8]);
  EXPECT_LT(yarn.frequencies[9], plain[9]);
  EXPECT_GT(yarn.frequencies[20], plain[20] / 4);
  EXPECT_EQ(yarn.frequencies[21], plain[21] / 4);
  EXPECT_DOUBLE_EQ(yarn.magnitude, 0.1 * std::log(4.0) + 1);
}

}  // namespace
}  // namespace longreach::trainer
