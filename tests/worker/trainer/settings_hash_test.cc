// Checkpoints go on under the settings that they were made with, by this hash: were it another one for the same settings, those of trainings
// that an update of Longreach interrupts would be lost.
#include "worker/trainer/checkpoint/settings_hash.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace longreach::trainer {
namespace {

// Nothing but the prompts and what is for T5 and FIRE is as it is by default, and everything is there that is left out of the hash where it is not.
PackSettings AllSet() {
  PackSettings s;
  s.experiment = "llama";
  s.task = "text";
  s.encoding = "rope";
  s.randomized = true;
  s.data = "books";
  s.model = {.layers = 6, .embedding_dim = 96, .heads = 12, .mlp_dim = 300, .dropout = 0.25, .kerple_shared = true, .break_symmetry = true,
             .sandwich_dim = 64, .learned_rows = 1024, .decoder_layers = 7, .classes = 10, .row_delimiter = false, .count_delimiters = false,
             .pixel_embedding = PackSettings::Model::PixelEmbedding::kLinear, .kv_heads = 4, .rope_theta = 500'000, .attention_scale = 1.5,
             .attention_scale_from = 2048, .attention_scale_growth = 0.0625, .folder = "tinyllama"};
  s.positions = {.max_position = 4096, .randomized_by = PackSettings::Positions::RandomizedBy::kPosition, .relative_as_released = true,
                 .shift_max = 17, .shift_at_test = PackSettings::Positions::ShiftAtTest::kZero, .rope_scaling = "yarn", .rope_factor = 8,
                 .original_length = 2048};
  s.training = {.steps = 30'000, .batch_size = 16, .lengths = {128, 512}, .clip_norm = 0.5, .data_seed = 4'000'000'000, .warmup_steps = 20,
                .final_rate = 0.05, .weight_decay = 0.01, .trainable = PackSettings::Training::Trainable::kHeadScales,
                .scale_bound = PackSettings::Training::ScaleBound::kRelu, .scale_lower_bound = 0.75, .mixture = {"books", "code"},
                .mixture_weights = {1, 0.1}};
  s.evaluation = {.lengths = {256, 1024}, .examples = 100, .dropout = true, .seed = 7, .attention_lengths = {256}, .stride = 64,
                  .perplexity_protocol = PackSettings::Evaluation::PerplexityProtocol::kYarn, .position_bins = 32,
                  .attention_scales = {1, 1.25}, .passkey_lengths = {1024, 2048}, .passkey_depths = 5, .passkey_tests = 20,
                  .longbench = "longbench", .longbench_tasks = {"qasper", "trec"}, .longbench_window = 3500, .longbench_beams = 1,
                  .longbench_samples = 50};
  return s;
}

// A setting that comes new is left out of the hash where it is what was done before.
TEST(SettingsHashTest, IsWhatItWasForCheckpointsThatAreThereAlready) {
  EXPECT_EQ(SettingsHash({}), "7f0877fe7ac49c828631b884f734ae563ce99b6acb85154dc7e1bcdb2ad096c1");
  EXPECT_EQ(SettingsHash(AllSet()), "65fc401be35b7e3e48804c375942328c3f3400d966a6c8050311595ddea3c6ad");
}

TEST(SettingsHashTest, IsWhatItWasWhereAWordStandsForAnother) {
  PackSettings landmark = AllSet();
  landmark.evaluation.passkey_prompts = "landmark";
  landmark.evaluation.perplexity_protocol = PackSettings::Evaluation::PerplexityProtocol::kNopeInOrder;
  EXPECT_EQ(SettingsHash(landmark), "c03c0f1899ea756fad21f53f4cc1f817adf559f3f508480405888d30bf641c11");
  // Of no published model; of no LLaMA decoder.
  PackSettings drawn = AllSet();
  drawn.model.folder = "";
  EXPECT_EQ(SettingsHash(drawn), "2c1ff42e3c85921ae883ae3f5664b6de9547c67e82b0c6346e68c657e512088b");
  PackSettings images = AllSet();
  images.experiment = "images";
  images.model.rope_theta = 10'000;  // None but LLaMA decoders had another, and none was scaled.
  images.positions.rope_scaling = "none";
  EXPECT_EQ(SettingsHash(images), "f2d0b918fd933087be96cf7451ea17f98dc4d4f31237eb8be012e15d14b63435");
}

TEST(SettingsHashTest, NamesWhatIsForT5WhereItIsNotT5sOwn) {
  PackSettings settings;
  settings.encoding = "t5";
  EXPECT_EQ(SettingsHash(settings), "8486aac0fa0a4c72d08805ae6322f6e29368612ece962791eedf982c7aa58a5f");
  settings.model.t5_buckets = 64;
  EXPECT_EQ(SettingsHash(settings), "290ca25e1c3aded0a4e6e4ecf05b18c06a22f0ed7bda7fd77a6471758d27bbbe");
  settings.model = {.t5_max_distance = 256};
  EXPECT_EQ(SettingsHash(settings), "ef042c7bcb271cc5f408c3ab3532b0855f6f5fb430fb941f1b6fabd61ff745e0");
}

// Before there was another, encoders had a constant rate, and LLaMA decoders a warm-up and a cosine.
TEST(SettingsHashTest, NamesTheLearningRatesScheduleWhereItIsNotTheKindsOwn) {
  using Schedule = PackSettings::Training::Schedule;
  const std::string before = SettingsHash({});
  PackSettings settings;
  settings.training.warmup_steps = 0;
  settings.training.schedule = Schedule::kConstant;
  settings.training.final_rate = 0.5;  // Of what does not fall.
  EXPECT_EQ(SettingsHash(settings), before);
  PackSettings llama;
  llama.experiment = "llama";
  const std::string of_llama = SettingsHash(llama);
  llama.training.warmup_steps = 2000;
  llama.training.schedule = Schedule::kCosine;
  EXPECT_EQ(SettingsHash(llama), of_llama);

  std::map<std::string, std::string> seen = {{before, "nothing"}};
  const auto expect_another = [&](const std::string& what) {
    const auto [other, is_new] = seen.emplace(SettingsHash(settings), what);
    EXPECT_TRUE(is_new) << what << " makes what " << other->second << " makes";
  };
  settings.training.warmup_steps = 10;
  expect_another("a warm-up");
  settings.training.warmup_steps = 11;
  expect_another("a longer one");
  settings.training.schedule = Schedule::kCosine;
  expect_another("with a cosine");
  settings.training.schedule = Schedule::kLinear;
  expect_another("with a line");
  settings.training.final_rate = 0.25;
  expect_another("to a smaller share");
}

TEST(SettingsHashTest, NamesWhatIsForFireWhereItIsNotTheUsual) {
  PackSettings settings;
  settings.encoding = "fire";
  EXPECT_EQ(SettingsHash(settings), "7a0ce6b7a55a250901af4b6b478fab3f0d7d7e7bc3332767101b6b8976bf5750");
  settings.model.fire_width = 16;
  EXPECT_EQ(SettingsHash(settings), "31644866b9094d02249c0bb612ee9718d4556e68bacf3c758906d7b9c2afc131");
  settings.model = {.fire_threshold = 64};
  EXPECT_EQ(SettingsHash(settings), "fb365d26eaa719dc14af45f155ab45c3bc3b705612ab4a603e0c79cd2f35d75b");
  settings.model = {.fire_shared = true};
  EXPECT_EQ(SettingsHash(settings), "2ef7812cad35513ee2a29630e047dbac9d8d807292d122e3c6f5b50e72294cef");
}

TEST(SettingsHashTest, NamesWhatScalesAttentionByTheNumberOfKeysWhereItDoes) {
  using Scaling = PackSettings::Model::LengthScaling;
  PackSettings settings;
  const std::string before = SettingsHash(settings);
  settings.model.length_scaling_from = 40;
  EXPECT_EQ(SettingsHash(settings), before);
  settings.model.length_scaling = Scaling::kLog;
  const std::string log = SettingsHash(settings);
  settings.model.length_scaling = Scaling::kLogBeyond;
  const std::string beyond = SettingsHash(settings);
  settings.model.length_scaling_from = 80;
  EXPECT_EQ((std::set<std::string>{before, log, beyond, SettingsHash(settings)}).size(), 4u);
}

// Encoders had no such setting before: what is not scaled has the hash that it had.
TEST(SettingsHashTest, NamesWhatScalesAnEncodersRotations) {
  PackSettings settings;
  settings.encoding = "rope";
  const std::string before = SettingsHash(settings);
  std::map<std::string, std::string> seen = {{before, "nothing"}};
  const auto expect_another = [&](const std::string& what) {
    const auto [other, is_new] = seen.emplace(SettingsHash(settings), what);
    EXPECT_TRUE(is_new) << what << " makes what " << other->second << " makes";
  };
  settings.positions.rope_factor = 4;
  EXPECT_EQ(SettingsHash(settings), before);
  settings.positions.rope_scaling = "linear";
  expect_another("a factor of 4");
  settings.positions.rope_factor = 8;
  expect_another("one of 8");
  settings.positions.rope_scaling_at = PackSettings::Positions::RopeScalingAt::kAlways;
  expect_another("in training, too");
  settings.positions.rope_scaling = "yarn";
  expect_another("YaRN");
  settings.positions.original_length = 80;
  expect_another("from another length on");
  settings = {};
  settings.encoding = "rope";
  settings.model.rope_theta = 500;
  expect_another("another base");
}

TEST(SettingsHashTest, NamesRowsForPositionsOfTheData) {
  PackSettings settings;
  settings.experiment = "sequences";
  const std::string before = SettingsHash(settings);
  settings.positions.data_shift = 7;
  EXPECT_EQ(SettingsHash(settings), before);
  settings.positions.data_rows = 40;
  const std::string with_rows = SettingsHash(settings);
  EXPECT_NE(with_rows, before);
  settings.positions.data_shift = 8;
  EXPECT_NE(SettingsHash(settings), with_rows);
}

// That each field has a line the compiler asks; that its value is in the line it does not.
TEST(SettingsHashTest, EverySettingIsAPartOfIt) {
  using S = PackSettings;
  const std::vector<std::pair<std::string, std::function<void(S&)>>> changes = {
      {"experiment", [](S& s) { s.experiment = "language"; }},
      {"task", [](S& s) { s.task = "tokens"; }},
      {"encoding", [](S& s) { s.encoding = "none"; }},
      {"randomized", [](S& s) { s.randomized = false; }},
      {"data", [](S& s) { s.data = "code"; }},
      {"layers", [](S& s) { ++s.model.layers; }},
      {"embedding_dim", [](S& s) { ++s.model.embedding_dim; }},
      {"heads", [](S& s) { ++s.model.heads; }},
      {"mlp_dim", [](S& s) { ++s.model.mlp_dim; }},
      {"dropout", [](S& s) { s.model.dropout = 0.3; }},
      {"kerple_shared", [](S& s) { s.model.kerple_shared = false; }},
      {"break_symmetry", [](S& s) { s.model.break_symmetry = false; }},
      {"sandwich_dim", [](S& s) { ++s.model.sandwich_dim; }},
      {"learned_rows", [](S& s) { ++s.model.learned_rows; }},
      {"causal", [](S& s) { s.model.causal = true; }},
      {"norm", [](S& s) { s.model.norm = S::Model::Norm::kPre; }},
      {"output_lengths", [](S& s) { s.evaluation.output_lengths = {256}; }},
      {"length_scaling", [](S& s) { s.model.length_scaling = S::Model::LengthScaling::kLog; }},
      {"t5_buckets", [](S& s) { ++s.model.t5_buckets; }},
      {"t5_max_distance", [](S& s) { ++s.model.t5_max_distance; }},
      {"fire_width", [](S& s) { ++s.model.fire_width; }},
      {"fire_threshold", [](S& s) { ++s.model.fire_threshold; }},
      {"fire_shared", [](S& s) { s.model.fire_shared = true; }},
      {"decoder_layers", [](S& s) { ++s.model.decoder_layers; }},
      {"classes", [](S& s) { ++s.model.classes; }},
      {"row_delimiter", [](S& s) { s.model.row_delimiter = true; }},
      {"count_delimiters", [](S& s) { s.model.count_delimiters = true; }},
      {"pixel_embedding", [](S& s) { s.model.pixel_embedding = S::Model::PixelEmbedding::kLookup; }},
      {"kv_heads", [](S& s) { ++s.model.kv_heads; }},
      {"rope_theta", [](S& s) { ++s.model.rope_theta; }},
      {"attention_scale", [](S& s) { s.model.attention_scale = 1.75; }},
      {"attention_scale_from", [](S& s) { ++s.model.attention_scale_from; }},
      {"attention_scale_growth", [](S& s) { s.model.attention_scale_growth = 0.125; }},
      {"folder", [](S& s) { s.model.folder = "another"; }},
      {"max_position", [](S& s) { ++s.positions.max_position; }},
      {"randomized_by", [](S& s) { s.positions.randomized_by = S::Positions::RandomizedBy::kDistance; }},
      {"relative_as_released", [](S& s) { s.positions.relative_as_released = false; }},
      {"shift_max", [](S& s) { ++s.positions.shift_max; }},
      {"shift_at_test", [](S& s) { s.positions.shift_at_test = S::Positions::ShiftAtTest::kFixed; }},
      {"rope_scaling", [](S& s) { s.positions.rope_scaling = "ntk"; }},
      {"rope_factor", [](S& s) { ++s.positions.rope_factor; }},
      {"original_length", [](S& s) { ++s.positions.original_length; }},
      {"rope_scaling_at", [](S& s) { s.positions.rope_scaling_at = S::Positions::RopeScalingAt::kAlways; }},
      {"data_rows", [](S& s) { s.positions.data_rows = 50; }},
      {"none_every", [](S& s) { s.positions.none_every = 2; }},
      {"steps", [](S& s) { ++s.training.steps; }},
      {"batch_size", [](S& s) { ++s.training.batch_size; }},
      {"training.lengths", [](S& s) { ++s.training.lengths.back(); }},
      {"clip_norm", [](S& s) { s.training.clip_norm = 0.25; }},
      {"data_seed", [](S& s) { ++s.training.data_seed; }},
      {"warmup_steps", [](S& s) { ++*s.training.warmup_steps; }},
      {"final_rate", [](S& s) { s.training.final_rate = 0.25; }},
      {"schedule", [](S& s) { s.training.schedule = S::Training::Schedule::kLinear; }},
      {"schedule", [](S& s) { s.training.schedule = S::Training::Schedule::kConstant; }},
      {"weight_decay", [](S& s) { s.training.weight_decay = 0.25; }},
      {"trainable", [](S& s) { s.training.trainable = S::Training::Trainable::kAll; }},
      {"scale_bound", [](S& s) { s.training.scale_bound = S::Training::ScaleBound::kNone; }},
      {"scale_lower_bound", [](S& s) { s.training.scale_lower_bound = 0.5; }},
      {"mixture", [](S& s) { s.training.mixture.back() = "papers"; }},
      {"mixture_weights", [](S& s) { s.training.mixture_weights.back() = 0.2; }},
      {"evaluation.lengths", [](S& s) { ++s.evaluation.lengths.back(); }},
      {"examples", [](S& s) { ++s.evaluation.examples; }},
      {"evaluation.dropout", [](S& s) { s.evaluation.dropout = false; }},
      {"evaluation.seed", [](S& s) { ++s.evaluation.seed; }},
      {"attention_lengths", [](S& s) { s.evaluation.attention_lengths = {1024}; }},
      {"curve_every", [](S& s) { s.evaluation.curve_every = 500; }},
      {"curve_lengths", [](S& s) {
         s.evaluation.curve_every = 500;
         s.evaluation.curve_lengths = {256};
       }},
      {"stride", [](S& s) { ++s.evaluation.stride; }},
      {"perplexity_protocol", [](S& s) { s.evaluation.perplexity_protocol = S::Evaluation::PerplexityProtocol::kNope; }},
      {"position_bins", [](S& s) { ++s.evaluation.position_bins; }},
      {"attention_scales", [](S& s) { s.evaluation.attention_scales.back() = 2; }},
      {"passkey_lengths", [](S& s) { ++s.evaluation.passkey_lengths.back(); }},
      {"passkey_depths", [](S& s) { ++s.evaluation.passkey_depths; }},
      {"passkey_tests", [](S& s) { ++s.evaluation.passkey_tests; }},
      {"passkey_prompts", [](S& s) { s.evaluation.passkey_prompts = "landmark"; }},
      {"longbench", [](S& s) { s.evaluation.longbench = "another"; }},
      {"longbench_tasks", [](S& s) { s.evaluation.longbench_tasks.pop_back(); }},
      {"longbench_window", [](S& s) { ++s.evaluation.longbench_window; }},
      {"longbench_beams", [](S& s) { ++s.evaluation.longbench_beams; }},
      {"longbench_samples", [](S& s) { ++s.evaluation.longbench_samples; }},
  };
  std::map<std::string, std::string> seen = {{SettingsHash(AllSet()), "nothing"}};
  for (const auto& [field, change] : changes) {
    PackSettings changed = AllSet();
    change(changed);
    const auto [other, is_new] = seen.emplace(SettingsHash(changed), field);
    EXPECT_TRUE(is_new) << field << " makes what " << other->second << " makes";
  }
}

TEST(SettingsHashTest, WhatIsFoundInDataSetsIsNoPartOfIt) {
  PackSettings settings = AllSet();
  settings.model.tokenizer_sha256 = "9e55";
  settings.model.vocabulary = 32'000;
  EXPECT_EQ(SettingsHash(settings), SettingsHash(AllSet()));
}

}  // namespace
}  // namespace longreach::trainer
