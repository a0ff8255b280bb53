#include "worker/agent/spec_to_settings.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/unknown_field_set.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longreach::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::JobSpec SpecOf(const std::string& text) {
  v1::JobSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return spec;
}

TEST(SpecToSettingsTest, RefusesAFieldOfANewerScheduler) {
  v1::JobSpec spec = SpecOf("evaluation { examples: 3 }");
  v1::Evaluation* evaluation = spec.mutable_evaluation();
  evaluation->GetReflection()->MutableUnknownFields(evaluation)->AddVarint(99, 1);

  const absl::Status refused = SettingsOf(spec).status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("Evaluation holds field number 99"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("update this worker"));
}

TEST(SpecToSettingsTest, CarriesEveryField) {
  // Every value differs from the struct's default.
  const absl::StatusOr<trainer::PackSettings> settings = SettingsOf(SpecOf(R"pb(
    experiment: "images" task: "imagenet" data: "photographs" encoding: "log_kerple" randomized: true
    model { layers: 2 embedding_dim: 16 heads: 4 mlp_dim: 32 dropout: 0.25 kerple_shared: true break_symmetry: true
            sandwich_dim: 24 learned_rows: 99 causal: true norm: "pre" t5_buckets: 12 t5_max_distance: 55
            fire_width: 20 fire_threshold: 33 fire_shared: true decoder_layers: 3 classes: 7 row_delimiter: false count_delimiters: false
            pixel_embedding: "linear" kv_heads: 2 rope_theta: 500 attention_scale: 1.5 folder: "tinyllama"
            attention_scale_from: 2048 attention_scale_growth: 0.3
            length_scaling: "log_beyond" length_scaling_from: 40 }
    positions { max_position: 77 randomized_by: "position" relative_as_released: true shift_max: 9 shift_at_test: "zero"
                rope_scaling: "yarn" rope_factor: 4 original_length: 128 rope_scaling_at: "always" data_rows: 90 data_shift: 12 none_every: 3 }
    training { steps: 11 batch_size: 12 lengths: [ 3, 5, 8 ] clip_norm: 0.5 data_seed: 13
               warmup_steps: 16 final_rate: 0.25 weight_decay: 0.5 trainable: "head_scales" scale_bound: "relu" scale_lower_bound: 0.75
               mixture: [ "code", "prose" ] mixture_weights: [ 0.25, 3 ] schedule: "linear" }
    evaluation { lengths: [ 41, 42 ] examples: 14 dropout: true seed: 15 attention_lengths: [ 42 ] curve_every: 19 curve_lengths: [ 41 ] output_lengths: [ 42 ]
                 stride: 17 position_bins: 18 attention_scales: [ 1.25, 2 ]
                 passkey_lengths: [ 300, 600 ] passkey_depths: 4 passkey_tests: 3 passkey_prompts: "landmark"
                 longbench: "bench" longbench_tasks: [ "trec", "lcc" ] longbench_window: 3500 longbench_beams: 2 longbench_samples: 6
                 perplexity_protocol: "yarn" })pb"));

  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->experiment, "images");
  EXPECT_EQ(settings->task, "imagenet");
  EXPECT_EQ(settings->data, "photographs");
  EXPECT_EQ(settings->encoding, "log_kerple");
  EXPECT_TRUE(settings->randomized);
  EXPECT_EQ(settings->model.layers, 2);
  EXPECT_EQ(settings->model.embedding_dim, 16);
  EXPECT_EQ(settings->model.heads, 4);
  EXPECT_EQ(settings->model.mlp_dim, 32);
  EXPECT_EQ(settings->model.dropout, 0.25);
  EXPECT_TRUE(settings->model.kerple_shared);
  EXPECT_TRUE(settings->model.break_symmetry);
  EXPECT_EQ(settings->model.sandwich_dim, 24);
  EXPECT_EQ(settings->model.learned_rows, 99);
  EXPECT_TRUE(settings->model.causal);
  EXPECT_EQ(settings->model.norm, trainer::PackSettings::Model::Norm::kPre);
  EXPECT_EQ(settings->model.t5_buckets, 12);
  EXPECT_EQ(settings->model.t5_max_distance, 55);
  EXPECT_EQ(settings->model.fire_width, 20);
  EXPECT_EQ(settings->model.fire_threshold, 33);
  EXPECT_TRUE(settings->model.fire_shared);
  EXPECT_EQ(settings->model.decoder_layers, 3);
  EXPECT_EQ(settings->model.classes, 7);
  EXPECT_FALSE(settings->model.row_delimiter);
  EXPECT_FALSE(settings->model.count_delimiters);
  EXPECT_EQ(settings->model.pixel_embedding, trainer::PackSettings::Model::PixelEmbedding::kLinear);
  EXPECT_EQ(settings->model.kv_heads, 2);
  EXPECT_EQ(settings->model.rope_theta, 500);
  EXPECT_EQ(settings->model.attention_scale, 1.5);
  EXPECT_EQ(settings->model.attention_scale_from, 2048);
  EXPECT_EQ(settings->model.attention_scale_growth, 0.3);
  EXPECT_EQ(settings->model.length_scaling, trainer::PackSettings::Model::LengthScaling::kLogBeyond);
  EXPECT_EQ(settings->model.length_scaling_from, 40);
  EXPECT_EQ(settings->model.folder, "tinyllama");
  EXPECT_EQ(settings->positions.max_position, 77);
  EXPECT_EQ(settings->positions.randomized_by, trainer::PackSettings::Positions::RandomizedBy::kPosition);
  EXPECT_TRUE(settings->positions.relative_as_released);
  EXPECT_EQ(settings->positions.shift_max, 9);
  EXPECT_EQ(settings->positions.shift_at_test, trainer::PackSettings::Positions::ShiftAtTest::kZero);
  EXPECT_EQ(settings->positions.rope_scaling, "yarn");
  EXPECT_EQ(settings->positions.rope_factor, 4);
  EXPECT_EQ(settings->positions.original_length, 128);
  EXPECT_EQ(settings->positions.rope_scaling_at, trainer::PackSettings::Positions::RopeScalingAt::kAlways);
  EXPECT_EQ(settings->positions.data_rows, 90);
  EXPECT_EQ(settings->positions.data_shift, 12);
  EXPECT_EQ(settings->positions.none_every, 3);
  EXPECT_EQ(settings->training.steps, 11);
  EXPECT_EQ(settings->training.batch_size, 12);
  EXPECT_THAT(settings->training.lengths, ElementsAre(3, 5, 8));
  EXPECT_EQ(settings->training.clip_norm, 0.5);
  EXPECT_EQ(settings->training.data_seed, 13u);
  EXPECT_EQ(settings->training.warmup_steps, 16);
  EXPECT_EQ(settings->training.final_rate, 0.25);
  EXPECT_EQ(settings->training.schedule, trainer::PackSettings::Training::Schedule::kLinear);
  EXPECT_EQ(settings->training.weight_decay, 0.5);
  EXPECT_EQ(settings->training.trainable, trainer::PackSettings::Training::Trainable::kHeadScales);
  EXPECT_EQ(settings->training.scale_bound, trainer::PackSettings::Training::ScaleBound::kRelu);
  EXPECT_EQ(settings->training.scale_lower_bound, 0.75);
  EXPECT_THAT(settings->training.mixture, ElementsAre("code", "prose"));
  EXPECT_THAT(settings->training.mixture_weights, ElementsAre(0.25, 3));
  EXPECT_THAT(settings->evaluation.lengths, ElementsAre(41, 42));
  EXPECT_EQ(settings->evaluation.examples, 14);
  EXPECT_TRUE(settings->evaluation.dropout);
  EXPECT_EQ(settings->evaluation.seed, 15u);
  EXPECT_THAT(settings->evaluation.attention_lengths, ElementsAre(42));
  EXPECT_EQ(settings->evaluation.curve_every, 19);
  EXPECT_THAT(settings->evaluation.curve_lengths, ElementsAre(41));
  EXPECT_THAT(settings->evaluation.output_lengths, ElementsAre(42));
  EXPECT_EQ(settings->evaluation.stride, 17);
  EXPECT_EQ(settings->evaluation.position_bins, 18);
  EXPECT_THAT(settings->evaluation.attention_scales, ElementsAre(1.25, 2));
  EXPECT_THAT(settings->evaluation.passkey_lengths, ElementsAre(300, 600));
  EXPECT_EQ(settings->evaluation.passkey_depths, 4);
  EXPECT_EQ(settings->evaluation.passkey_tests, 3);
  EXPECT_EQ(settings->evaluation.passkey_prompts, "landmark");
  EXPECT_EQ(settings->evaluation.longbench, "bench");
  EXPECT_THAT(settings->evaluation.longbench_tasks, ElementsAre("trec", "lcc"));
  EXPECT_EQ(settings->evaluation.longbench_window, 3500);
  EXPECT_EQ(settings->evaluation.longbench_beams, 2);
  EXPECT_EQ(settings->evaluation.longbench_samples, 6);
  EXPECT_EQ(settings->evaluation.perplexity_protocol, trainer::PackSettings::Evaluation::PerplexityProtocol::kYarn);
}

TEST(SpecToSettingsTest, SizesThatAreNotGivenAreAFolders) {
  const absl::StatusOr<trainer::PackSettings> settings = SettingsOf(SpecOf("model { folder: 'tinyllama' layers: 22 attention_scale: 1.5 }"));
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->model.layers, 22);
  EXPECT_EQ(settings->model.heads, 0);
  EXPECT_EQ(settings->model.rope_theta, 0);
}

// A field that is added to a specification and forgotten here would be trained at its default, in silence. Numbers of
// fields, so that whoever adds one comes by.
TEST(SpecToSettingsTest, KnowsAllFieldsThereAre) {
  EXPECT_EQ(v1::Model::descriptor()->field_count(), 29);
  EXPECT_EQ(v1::Positions::descriptor()->field_count(), 12);
  EXPECT_EQ(v1::Training::descriptor()->field_count(), 14);
  EXPECT_EQ(v1::Evaluation::descriptor()->field_count(), 21);
}

TEST(SpecToSettingsTest, RefusesAWordWithoutAMeaning) {
  const absl::Status by = SettingsOf(SpecOf("positions { randomized_by: 'token' }")).status();
  const absl::Status pixels = SettingsOf(SpecOf("model { pixel_embedding: 'convolution' }")).status();
  const absl::Status norm = SettingsOf(SpecOf("model { norm: 'pre-norm' }")).status();
  const absl::Status shift = SettingsOf(SpecOf("positions { shift_at_test: 'never' }")).status();
  const absl::Status rate = SettingsOf(SpecOf("training { schedule: 'step' }")).status();

  EXPECT_EQ(by.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(by.message()), HasSubstr("positions.randomized_by is 'token'"));
  EXPECT_THAT(std::string(pixels.message()), HasSubstr("model.pixel_embedding is 'convolution'"));
  EXPECT_THAT(std::string(norm.message()), HasSubstr("model.norm is 'pre-norm'"));
  EXPECT_THAT(std::string(shift.message()), HasSubstr("positions.shift_at_test is 'never'"));
  EXPECT_THAT(std::string(rate.message()), HasSubstr("training.schedule is 'step'; it is one of 'constant', 'cosine', 'linear'"));
}

// Of a scheduler that is older than such schedules.
TEST(SpecToSettingsTest, AJobThatSaysNothingOfItsLearningRatesWayHasTheKindsOwn) {
  const absl::StatusOr<trainer::PackSettings> settings = SettingsOf(SpecOf("experiment: 'algorithmic' training { steps: 3 }"));
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_FALSE(settings->training.warmup_steps.has_value());
  EXPECT_FALSE(settings->training.schedule.has_value());
}

v1::StartPack PackOf(const std::string& first, const std::string& second) {
  v1::StartPack start;
  start.set_attempt(4);
  start.set_folder("/tmp/4");
  start.set_threads(3);
  start.set_memory_bytes(5e8);
  start.set_engine("lanes-bf16");
  start.set_checkpoint_every_s(2.5);
  for (const std::string& text : {first, second}) {
    v1::PackMember& member = *start.add_members();
    member.set_job(std::string(1, static_cast<char>('a' + start.members_size() - 1)));
    *member.mutable_spec() = SpecOf(text);
  }
  return start;
}

TEST(SpecToSettingsTest, MakesAPackOfJobsThatDifferInLearningRateAndSeed) {
  v1::StartPack start = PackOf("task: 'even_pairs' learning_rate: 0.001 seed: 1", "task: 'even_pairs' learning_rate: 0.01 seed: 2 inputs { name: 'weights' job: 'y' }");
  start.mutable_members(1)->mutable_weights()->set_path("/tmp/w");
  start.mutable_members(1)->mutable_weights()->set_member(6);
  start.mutable_members(0)->add_checkpoints()->set_path("/tmp/c");

  const absl::StatusOr<trainer::PackRequest> request = RequestOf(start);

  ASSERT_TRUE(request.ok()) << request.status();
  ASSERT_EQ(request->members.size(), 2u);
  EXPECT_EQ(request->members[0].job, "a");
  EXPECT_EQ(request->members[0].learning_rate, 0.001);
  EXPECT_EQ(request->members[1].learning_rate, 0.01);
  EXPECT_EQ(request->members[1].seed, 2u);
  ASSERT_EQ(request->members[0].checkpoints.size(), 1u);
  EXPECT_EQ(request->members[0].checkpoints[0].file, "/tmp/c");
  EXPECT_FALSE(request->members[0].weights.has_value());
  ASSERT_TRUE(request->members[1].weights.has_value());
  EXPECT_EQ(request->members[1].weights->member, 6);
  EXPECT_EQ(request->members[1].weights->job, "y");
  EXPECT_EQ(request->folder, "/tmp/4");
  EXPECT_EQ(request->threads, 3);
  EXPECT_EQ(request->memory_bytes, 5e8);
  EXPECT_EQ(request->engine, "lanes-bf16");
  EXPECT_EQ(request->checkpoint_every_s, 2.5);
}

TEST(SpecToSettingsTest, RefusesAJobWithoutWhatItNeedsOfAnother) {
  const auto refused = [](const v1::StartPack& start) { return std::string(RequestOf(start).status().message()); };
  v1::StartPack start = PackOf("seed: 1", "seed: 2 inputs { name: 'attention_scale' job: 'x' } inputs { name: 'weights' job: 'y' }");
  EXPECT_THAT(refused(start), HasSubstr("job b needs the input 'attention_scale'"));
  start.mutable_members(1)->set_attention_scale(1.5);
  EXPECT_THAT(refused(start), HasSubstr("job b needs the input 'weights'"));
  start.mutable_members(1)->mutable_weights()->set_path("/tmp/w");
  EXPECT_EQ(refused(start), "");

  v1::JobInput& newer = *start.mutable_members(0)->mutable_spec()->add_inputs();
  newer.set_name("of_a_later_version");
  EXPECT_THAT(refused(start), HasSubstr("job a needs the input 'of_a_later_version', which did not come with it or which this worker ("));
}

TEST(SpecToSettingsTest, NamesTheBytesOfAllDataSets) {
  v1::StartPack start = PackOf("task: 'tokens'", "task: 'tokens'");
  start.set_data_folder("/data");
  start.set_data_sha256("a");
  start.set_model_sha256("b");
  start.set_longbench_sha256("c");
  for (const char* sha256 : {"d", "e"}) start.add_mixture_sha256(sha256);
  for (const char* stamp : {"s", "t"}) start.add_verified_stamps(stamp);

  const absl::StatusOr<trainer::PackRequest> request = RequestOf(start);

  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->data.folder, "/data");
  EXPECT_EQ(request->data.sha256, "a");
  EXPECT_EQ(request->data.model_sha256, "b");
  EXPECT_EQ(request->data.longbench_sha256, "c");
  EXPECT_THAT(request->data.mixture_sha256, ElementsAre("d", "e"));
  EXPECT_THAT(request->data.verified_stamps, ElementsAre("s", "t"));
}

TEST(SpecToSettingsTest, RefusesAPackOfDifferentJobs) {
  const absl::Status status =
      RequestOf(PackOf("task: 'even_pairs' training { steps: 5 }", "task: 'even_pairs' training { steps: 6 }")).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_EQ(RequestOf(v1::StartPack()).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace longreach::agent
