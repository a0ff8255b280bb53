// Folders of models: read, written, refused.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/worker/trainer/llama/tiny.h"
#include "worker/trainer/checkpoint/safetensors.h"

namespace longreach::trainer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class LlamaFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/llama_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    folder_ = root_ / "model";
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Write(const LlamaModel& model) {
    const absl::Status written = WriteLlama(folder_, model);
    ASSERT_TRUE(written.ok()) << written;
  }
  void WriteText(const std::string& file, const std::string& text) { std::ofstream(folder_ / file) << text; }
  // Changes one key of config.json.
  void Configure(const std::string& key, const nlohmann::json& value) {
    nlohmann::json config = nlohmann::json::parse(std::ifstream(folder_ / "config.json"));
    config[key] = value;
    WriteText("config.json", config.dump());
  }
  // Writes the weights anew, with some tensors left out, renamed, added or of another type.
  void Rewrite(const std::function<void(std::vector<SafetensorsPart>&)>& change, const std::string& file = "model.safetensors") {
    const SafetensorsFile stored = *SafetensorsFile::Open(folder_ / "model.safetensors");
    std::vector<SafetensorsPart> parts;
    for (const auto& [name, entry] : stored.entries()) {
      parts.push_back({.name = name, .dtype = entry.dtype, .shape = entry.shape,
          .bytes = {entry.end - entry.begin, [&stored, begin = entry.begin, end = entry.end](const TakeBytes& take) { return stored.Give(begin, end, take); }}});
    }
    change(parts);
    ASSERT_TRUE(WriteSafetensors(folder_ / file, {}, parts).ok());
  }
  static SafetensorsPart& Part(std::vector<SafetensorsPart>& parts, const std::string& name) {
    return *std::ranges::find(parts, name, &SafetensorsPart::name);
  }
  std::string Refusal(absl::StatusCode code) {
    const absl::StatusOr<LlamaModel> model = LoadLlama(folder_);
    EXPECT_EQ(model.status().code(), code) << model.status();
    return std::string(model.status().message());
  }

  std::filesystem::path root_, folder_;
};

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST_F(LlamaFolderTest, WhatIsWrittenIsReadBackWithTheSameBits) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    for (const bool tied : {false, true}) {
      LlamaConfig config = TinyConfig();
      config.tied = tied;
      config.nope = true;
      LlamaModel model = TinyModel(config);
      model.parameters = model.parameters.to(type);
      model.head_factors = at::arange(8, at::kFloat).view({2, 4}) * 0.1 + 1;
      Write(model);

      const absl::StatusOr<LlamaModel> again = LoadLlama(folder_);

      ASSERT_TRUE(again.ok()) << again.status();
      EXPECT_TRUE(again->config.nope);
      EXPECT_EQ(again->parameters.scalar_type(), type);
      EXPECT_TRUE(at::equal(again->parameters, model.parameters));
      EXPECT_TRUE(at::equal(again->head_factors, model.head_factors));
      EXPECT_EQ(LoadLlama(folder_, {.type = at::kFloat, .nope = {}})->parameters.scalar_type(), at::kFloat);
      std::filesystem::remove_all(folder_);
    }
  }
}

TEST_F(LlamaFolderTest, TheSwitchDecidesWhereAFolderCarriesNoMark) {
  Write(TinyModel());
  EXPECT_FALSE(LoadLlama(folder_)->config.nope);
  EXPECT_TRUE(LoadLlama(folder_, {.type = {}, .nope = true})->config.nope);
  EXPECT_FALSE(LoadLlama(folder_)->head_factors.defined());
}

TEST_F(LlamaFolderTest, ReadsShardsAndIgnoresStoredFrequencies) {
  const LlamaModel model = TinyModel();
  Write(model);
  nlohmann::json map;
  Rewrite([&](auto& parts) {
    for (const SafetensorsPart& part : parts) {
      map[part.name] = part.name.starts_with("model.layers") ? "b.safetensors" : "a.safetensors";
    }
  });
  Rewrite([&](auto& parts) { std::erase_if(parts, [&](const auto& part) { return map[part.name] != "a.safetensors"; }); },
      "a.safetensors");
  Rewrite([&](auto& parts) {
    std::erase_if(parts, [&](const auto& part) { return map[part.name] != "b.safetensors"; });
    SafetensorsPart frequencies = parts[0];
    frequencies.name = "model.layers.0.self_attn.rotary_emb.inv_freq";
    parts.push_back(frequencies);
    map[frequencies.name] = "b.safetensors";
  }, "b.safetensors");
  std::filesystem::remove(folder_ / "model.safetensors");
  WriteText("model.safetensors.index.json", nlohmann::json({{"weight_map", map}}).dump());

  const absl::StatusOr<LlamaModel> again = LoadLlama(folder_);

  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(at::equal(again->parameters, model.parameters));

  std::filesystem::remove(folder_ / "b.safetensors");
  EXPECT_THAT(Refusal(absl::StatusCode::kNotFound), HasSubstr("b.safetensors"));
  map["lm_head.weight"] = "../a.safetensors";
  WriteText("model.safetensors.index.json", nlohmann::json({{"weight_map", map}}).dump());
  EXPECT_THAT(Refusal(kInvalid), HasSubstr("'../a.safetensors', is not in the same folder"));
  WriteText("model.safetensors.index.json",
      R"({"weight_map": {"model.norm.weight": "a.safetensors", "other": "a.safetensors"}})");
  EXPECT_THAT(Refusal(kInvalid), HasSubstr("'other' is said to be in a.safetensors"));
  WriteText("model.safetensors.index.json", "{}");
  EXPECT_THAT(Refusal(kInvalid), HasSubstr("no object 'weight_map'"));
}

TEST_F(LlamaFolderTest, ReadsTheSingleFileWhereAnIndexOfShardsIsLeftBesideIt) {
  LlamaModel older = TinyModel();
  older.parameters = older.parameters * 2;
  Write(older);
  nlohmann::json map;
  Rewrite([&](auto& parts) {
    for (const SafetensorsPart& part : parts) map[part.name] = "shard.safetensors";
  }, "shard.safetensors");
  std::filesystem::rename(folder_ / "shard.safetensors", root_ / "shard.safetensors");
  std::filesystem::remove_all(folder_);
  const LlamaModel model = TinyModel();
  Write(model);
  std::filesystem::rename(root_ / "shard.safetensors", folder_ / "shard.safetensors");
  WriteText("model.safetensors.index.json", nlohmann::json({{"weight_map", map}}).dump());

  const absl::StatusOr<LlamaModel> read = LoadLlama(folder_);

  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(at::equal(read->parameters, model.parameters));
  // An import takes what is read, and no more.
  EXPECT_EQ(std::ranges::count(InspectLlama(folder_)->files, "model.safetensors"), 1);
  EXPECT_EQ(std::ranges::count(InspectLlama(folder_)->files, "model.safetensors.index.json"), 0);
}

TEST_F(LlamaFolderTest, DoesNotWriteOverAModel) {
  Write(TinyModel());

  EXPECT_EQ(WriteLlama(folder_, TinyModel()).code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(LlamaFolderTest, RefusesFoldersWithoutAModel) {
  EXPECT_THAT(Refusal(absl::StatusCode::kNotFound), HasSubstr("is not a folder"));
  std::filesystem::create_directories(folder_);
  EXPECT_THAT(Refusal(absl::StatusCode::kNotFound), HasSubstr("has no config.json"));
  WriteText("config.json", "{");
  EXPECT_THAT(Refusal(kInvalid), HasSubstr("config.json: it is not a JSON object"));
  WriteText("config.json", LlamaConfigJson(TinyConfig(), "float32"));
  WriteText("pytorch_model.bin", "");
  EXPECT_THAT(Refusal(absl::StatusCode::kNotFound), HasSubstr("only pytorch_model.bin: save it with safe_serialization=True"));
}

TEST_F(LlamaFolderTest, RefusesNumbersThatAreNone) {
  LlamaModel model = TinyModel();
  model.parameters[5] = std::numeric_limits<float>::infinity();
  Write(model);
  const absl::Status refused = LoadLlama(folder_, {}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr("tensor 'model.embed_tokens.weight' has at place 5 of "), HasSubstr("the number inf, which is not finite")));
}

TEST_F(LlamaFolderTest, RefusesHeadScalesThatAreNoNumbers) {
  LlamaModel model = TinyModel();
  model.head_factors = at::ones({2, 4});
  model.head_factors[1][2] = std::nan("");
  Write(model);
  EXPECT_THAT(std::string(LoadLlama(folder_, {}).status().message()), HasSubstr("self_attn.scale_param' has at place 2 of 4 the number nan"));
}

TEST_F(LlamaFolderTest, RefusesTensorsThatAreMissingLeftOverOrOfAnotherShapeOrType) {
  Write(TinyModel());
  const std::string q = "model.layers.1.self_attn.q_proj.weight";
  Rewrite([&](auto& parts) { std::erase_if(parts, [&](const auto& part) { return part.name == q; }); }, "keep");
  std::filesystem::rename(folder_ / "model.safetensors", folder_ / "whole");
  const auto use = [&](const std::string& file) {
    std::filesystem::copy_file(folder_ / file, folder_ / "model.safetensors", std::filesystem::copy_options::overwrite_existing);
  };
  use("keep");
  EXPECT_THAT(Refusal(kInvalid), HasSubstr("no tensor '" + q + "', expected with shape [24, 24]"));
  use("whole");
  Rewrite([&](auto& parts) { Part(parts, q).shape = {12, 48}; });
  EXPECT_THAT(Refusal(kInvalid), HasSubstr("'" + q + "' has the shape [12, 48], but config.json says [24, 24]"));
  use("whole");
  Rewrite([&](auto& parts) { Part(parts, q).dtype = "I32"; });
  EXPECT_THAT(Refusal(kInvalid), HasSubstr("is of type I32, expected F32, BF16 or F16"));
  use("whole");
  Rewrite([&](auto& parts) {
    parts.push_back(Part(parts, q));
    parts.back().name = "model.layers.1.self_attn.q_proj.bias";
  });
  EXPECT_THAT(Refusal(kInvalid), HasSubstr("'model.layers.1.self_attn.q_proj.bias' has no place"));
  use("whole");
  Rewrite([&](auto& parts) {
    parts.push_back(Part(parts, "model.norm.weight"));
    parts.back().name = "model.layers.0.self_attn.scale_param";
  });
  EXPECT_THAT(Refusal(kInvalid), HasSubstr("scale_param' has the shape [24], but config.json says [4]"));
}

TEST_F(LlamaFolderTest, RefusesSizesThatTheTensorsDoNotHave) {
  Write(TinyModel());
  Configure("num_hidden_layers", 3);
  EXPECT_THAT(Refusal(kInvalid), HasSubstr("no tensor 'model.layers.2."));
  Configure("num_hidden_layers", 1);
  EXPECT_THAT(Refusal(kInvalid), HasSubstr("has no place in a LLaMA of 1 layers"));
  Configure("num_hidden_layers", 2);
  Configure("vocab_size", 51);
  EXPECT_THAT(Refusal(kInvalid), HasSubstr("has the shape [50, 24], but config.json says [51, 24]"));
  Configure("vocab_size", 50);
  Configure("tie_word_embeddings", true);
  EXPECT_THAT(Refusal(kInvalid), HasSubstr("'lm_head.weight' is not the same as"));
  Configure("tie_word_embeddings", false);
  Configure("rope_scaling", {{"rope_type", "longrope"}, {"factor", 2}});
  EXPECT_THAT(Refusal(kInvalid), HasSubstr("type 'longrope'"));
}

// Cut off anywhere, also within the header.
TEST_F(LlamaFolderTest, RefusesTruncatedWeights) {
  Write(TinyModel());
  const auto size = std::filesystem::file_size(folder_ / "model.safetensors");
  for (const auto kept : {size - 1, size / 2, uintmax_t{100}, uintmax_t{7}, uintmax_t{0}}) {
    std::filesystem::resize_file(folder_ / "model.safetensors", kept);
    EXPECT_THAT(Refusal(absl::StatusCode::kDataLoss), HasSubstr("model.safetensors: ")) << kept;
  }
}

}  // namespace
}  // namespace longreach::trainer
