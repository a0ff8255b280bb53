// The kind "llama": what it expands to, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "proto/catalog/longbench.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/experiments/registry.h"
#include "tests/scheduler/experiments/expanded.h"

namespace longreach::experiments {
namespace {

using ::testing::HasSubstr;

TEST(LlamaKindTest, AJobHasOnlyWhatItUses) {
  const v1::JobSpec nope = JobOf(LlamaSweep());
  EXPECT_EQ(nope.model().layers(), 12);
  EXPECT_EQ(nope.model().kv_heads(), 1);
  EXPECT_FALSE(nope.model().has_rope_theta());
  EXPECT_FALSE(nope.positions().has_rope_scaling());
  EXPECT_EQ(nope.training().warmup_steps(), 2000);
  EXPECT_FALSE(nope.training().has_scale_bound());
  EXPECT_EQ(nope.evaluation().lengths(3), 16384);

  v1::SweepSpec rope = LlamaSweep();
  rope.mutable_axes()->set_encoding(0, "rope");
  EXPECT_EQ(JobOf(rope).model().rope_theta(), 10000);
  // Said or not, it is the same job.
  rope.mutable_positions()->set_rope_scaling("none");
  v1::SweepSpec bare = LlamaSweep();
  bare.mutable_axes()->set_encoding(0, "rope");
  EXPECT_EQ(Expansion::Of(rope)->At(0).id, Expansion::Of(bare)->At(0).id);
}

TEST(LlamaKindTest, RefusesWhatNoDecoderComputes) {
  const auto refused = [](const std::function<void(v1::SweepSpec&)>& change) {
    v1::SweepSpec sweep = LlamaSweep();
    change(sweep);
    return Refused(sweep);
  };
  EXPECT_THAT(refused([](auto& s) { s.mutable_axes()->set_encoding(0, "alibi"); }), HasSubstr("axes.encoding: 'alibi'"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_positions()->set_rope_scaling("linear"); s.mutable_positions()->set_rope_factor(2); }),
              HasSubstr("the encoding 'none' has none"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_positions()->set_rope_scaling("yarm"); }), HasSubstr("did you mean 'yarn'?"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_positions()->set_rope_scaling("linear"); s.mutable_positions()->set_rope_factor(1e30); }),
              HasSubstr("positions.rope_factor: 1e+30 is above 1000000"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_positions()->set_rope_factor(2); }), HasSubstr("positions.rope_factor: 2 does not go with"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_model()->set_kv_heads(5); }), HasSubstr("model.kv_heads: 5 does not divide model.heads, 12"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_training()->set_trainable("head_scales"); }), HasSubstr("give an input 'weights'"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_training()->set_steps(10); }), HasSubstr("training.warmup_steps: 2000 do not fit into training.steps, 10"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_evaluation()->set_stride(2048); }), HasSubstr("evaluation.stride: 2048 bytes"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_evaluation()->add_attention_scales(1); }), HasSubstr("set evaluation.position_bins"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_evaluation()->add_attention_lengths(2048); }), HasSubstr("keeps no attention matrices"));
  // The other kinds know nothing of all this.
  EXPECT_THAT(refused([](auto& s) {
                s.set_experiment("language");
                s.mutable_axes()->set_task(0, "enwik8");
                s.mutable_model()->set_kv_heads(1);
              }),
              HasSubstr("model.kv_heads: is a setting of the kind 'llama', not of 'language'"));
}

// Of a published model.
v1::SweepSpec Folder() {
  v1::SweepSpec sweep = LlamaSweep();
  sweep.mutable_axes()->set_task(0, "tokens");
  sweep.mutable_model()->set_folder("tinyllama");
  sweep.mutable_training()->set_steps(0);
  return sweep;
}

TEST(LlamaKindTest, TheSizesOfAPublishedModelAreItsFolders) {
  const v1::JobSpec job = JobOf(Folder());
  EXPECT_EQ(job.model().folder(), "tinyllama");
  EXPECT_FALSE(job.model().has_layers());
  EXPECT_FALSE(job.model().has_rope_theta());
  EXPECT_EQ(job.model().attention_scale(), 1);
  EXPECT_FALSE(JobOf(LlamaSweep()).model().has_folder());
  // A job comes back from its text as it was.
  ExpandedJob expanded = Expansion::Of(Folder())->At(0);
  EXPECT_EQ(ReadJob(expanded.canonical)->SerializeAsString(), expanded.spec.SerializeAsString());
  EXPECT_EQ(FindKind("llama")->CostOf(job).flops, 0);

  // A plan counts where they are said.
  v1::SweepSpec said = Folder();
  v1::Model& model = *said.mutable_model();
  model.set_layers(22);
  model.set_embedding_dim(2048);
  model.set_heads(32);
  model.set_kv_heads(4);
  model.set_mlp_dim(5632);
  said.mutable_evaluation()->add_lengths(2048);
  said.mutable_evaluation()->set_examples(10);
  // A forward pass takes two operations for each parameter but the embedding's and each token, and attention.
  const double matrices = 1'100'048'384 - 32'000.0 * 2048, attention = 22 * 2 * 2048.0 * 2048;
  EXPECT_NEAR(FindKind("llama")->CostOf(JobOf(said)).flops / (10 * 2048 * (2 * matrices + attention)), 1, 1e-3);
}

TEST(LlamaKindTest, WhatIsSaidOfAPublishedModelIsKeptWhereItIsTheKindsDefault) {
  v1::SweepSpec folder = Folder();
  folder.mutable_axes()->set_encoding(0, "rope");
  v1::SweepSpec said = folder;
  said.mutable_model()->set_rope_theta(10'000);  // The folder's may be another.

  EXPECT_NE(IdOf(said), IdOf(folder));
  const ExpandedJob job = Expansion::Of(said)->At(0);
  EXPECT_EQ(ReadJob(job.canonical)->model().rope_theta(), 10'000);
  EXPECT_EQ(ReadJob(job.canonical)->SerializeAsString(), job.spec.SerializeAsString());
  EXPECT_FALSE(ReadJob(Expansion::Of(folder)->At(0).canonical)->model().has_rope_theta());
  // Said for all systems, and one of them has the folder.
  v1::SweepSpec systems = said;
  systems.mutable_model()->clear_folder();
  v1::System& published = *systems.add_systems();
  published.set_name("published");
  published.mutable_with()->mutable_model()->set_folder("tinyllama");
  EXPECT_EQ(Expansion::Of(systems)->At(0).id, job.id);
  v1::SweepSpec again = *ReadSweep(Expansion::Of(systems)->canonical());
  again.set_name("again");
  EXPECT_EQ(Expansion::Of(again)->At(0).id, job.id);
  // Elsewhere it says nothing.
  v1::SweepSpec bytes = LlamaSweep(), plain = LlamaSweep();
  for (v1::SweepSpec* sweep : {&bytes, &plain}) sweep->mutable_axes()->set_encoding(0, "rope");
  bytes.mutable_model()->set_rope_theta(10'000);
  EXPECT_EQ(IdOf(bytes), IdOf(plain));
}

TEST(LlamaKindTest, APlanCountsMomentsAndGradientsOfWhatIsTrained) {
  v1::SweepSpec sweep = Folder();
  for (const auto& [set, value] : {std::pair(&v1::Model::set_layers, 22), std::pair(&v1::Model::set_embedding_dim, 2048), std::pair(&v1::Model::set_heads, 32),
                                   std::pair(&v1::Model::set_kv_heads, 4), std::pair(&v1::Model::set_mlp_dim, 5632)}) {
    (sweep.mutable_model()->*set)(value);
  }
  const auto cost = [&] { return FindKind("llama")->CostOf(JobOf(sweep)); };
  const double weights = 4 * 1'100'048'384.0, scales = 4 * 22.0 * 32;
  // Only measured: the weights, which are in no file of the job.
  EXPECT_NEAR(cost().memory_bytes / weights, 1, 1e-4);
  EXPECT_EQ(cost().checkpoint_bytes, scales);
  // Head scales: these with all that belongs to them.
  sweep.mutable_training()->set_steps(200);
  sweep.mutable_training()->set_warmup_steps(20);
  sweep.mutable_training()->set_trainable("head_scales");
  sweep.mutable_training()->set_weight_decay(0);
  EXPECT_NEAR(cost().memory_bytes / weights, 1, 1e-4);
  EXPECT_EQ(cost().checkpoint_bytes, 3 * scales);
  sweep.mutable_training()->clear_trainable();
  EXPECT_NEAR(cost().memory_bytes / weights, 4, 1e-4);
  EXPECT_NEAR(cost().checkpoint_bytes / weights, 3, 1e-4);
  // The same of other kinds, and of other jobs' weights.
  sweep.mutable_training()->set_steps(0);
  *sweep.add_inputs() = Weights();
  sweep.mutable_inputs(0)->mutable_from()->mutable_training()->set_steps(1);
  sweep.mutable_inputs(0)->mutable_from()->mutable_training()->set_warmup_steps(0);
  EXPECT_NEAR(cost().checkpoint_bytes / weights, 1, 1e-4);
  // But where those are the folder's with other scales of heads, there are no more than these.
  const Cost tuned = FindKind("llama")->CostOf(JobOf(sweep), [](const std::string&) { return false; });
  EXPECT_EQ(tuned.checkpoint_bytes, scales);
  EXPECT_FALSE(tuned.stores_weights);
}

TEST(LlamaKindTest, PasskeysAreAskedForInTokensToo) {
  v1::SweepSpec sweep = Folder();
  sweep.mutable_evaluation()->add_passkey_lengths(512);
  EXPECT_EQ(JobOf(sweep).evaluation().passkey_lengths_size(), 1);
}

TEST(LlamaKindTest, APublishedModelReadsTokensAndBeginsWithItsWeights) {
  const auto refused = [](const std::function<void(v1::SweepSpec&)>& change) {
    v1::SweepSpec sweep = Folder();
    change(sweep);
    return Refused(sweep);
  };
  EXPECT_THAT(refused([](auto& s) { s.mutable_axes()->set_task(0, "bytes"); }), HasSubstr("the model of 'tinyllama' reads ids of its tokenizer"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_model()->clear_folder(); }), HasSubstr("model.folder: the task 'tokens' is for a published model"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_model()->set_folder("a b"); }), HasSubstr("model.folder: 'a b' cannot be a data set's name"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_axes()->add_seed(7); }), HasSubstr("axes.seed: 2 seeds, which draw initial weights"));
  EXPECT_THAT(refused([](auto& s) { s.set_data("a b"); }), HasSubstr("data: 'a b' cannot be a data set's name"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_evaluation()->set_stride(2048); }), HasSubstr("evaluation.stride: 2048 tokens of a window of 2048"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_model()->set_layers(22); }), HasSubstr("1 of layers, embedding_dim"));
  EXPECT_THAT(refused([](auto& s) {
                s.mutable_training()->set_steps(10);
                s.mutable_training()->set_warmup_steps(1);
                v1::Input input = Weights();
                input.mutable_from()->mutable_model()->set_folder("another");
                *s.add_inputs() = input;
              }),
              HasSubstr("inputs.weights.from.model.folder: 'another' there and 'tinyllama' here"));
  // Head scales need no other job, nor a scaling the training length, which is in config.json.
  v1::SweepSpec heads = Folder();
  heads.mutable_training()->set_steps(10);
  heads.mutable_training()->set_warmup_steps(1);
  heads.mutable_training()->set_trainable("head_scales");
  EXPECT_THAT(Refused(heads), HasSubstr("training.weight_decay: is not given, and this kind's 0.1 would shrink the scales of attention heads\n  set it to 0"));
  heads.mutable_training()->set_weight_decay(0);
  EXPECT_TRUE(Expansion::Of(heads).ok());
  v1::SweepSpec yarn = Folder();
  yarn.mutable_axes()->set_encoding(0, "rope");
  yarn.mutable_positions()->set_rope_scaling("yarn");
  yarn.mutable_positions()->set_rope_factor(2);
  EXPECT_TRUE(Expansion::Of(yarn).ok());
}

TEST(LlamaKindTest, APlanCountsWhatIsMeasuredAgainstPosition) {
  v1::SweepSpec sweep = LlamaSweep();
  sweep.mutable_training()->set_steps(1);
  sweep.mutable_training()->set_warmup_steps(0);
  v1::Evaluation& evaluation = *sweep.mutable_evaluation();
  evaluation.clear_lengths();
  evaluation.add_lengths(1024);
  evaluation.set_examples(10);
  const auto flops = [&sweep] { return FindKind("llama")->CostOf(JobOf(sweep)).flops; };
  const double without = flops();
  evaluation.set_examples(20);
  const double ten_windows = flops() - without;
  ASSERT_GT(ten_windows, 0);
  evaluation.set_examples(10);

  evaluation.set_position_bins(8);
  EXPECT_NEAR((flops() - without) / ten_windows, 1, 1e-6);
  for (const double scale : {1.0, 1.2, 1.5}) evaluation.add_attention_scales(scale);
  EXPECT_NEAR((flops() - without) / ten_windows, 1 + 3, 1e-6);
}

TEST(LlamaKindTest, ScalesAreAsFineAsThePapersAndTheBestOnesNoMoreThanAMetricMayHave) {
  v1::SweepSpec sweep = LlamaSweep();
  v1::Evaluation& evaluation = *sweep.mutable_evaluation();
  evaluation.add_lengths(16'000);
  evaluation.set_position_bins(250);
  for (int i = 0; i < 1000; ++i) evaluation.add_attention_scales(1 + i / 100.0);  // The losses of so many are in a file.
  EXPECT_EQ(JobOf(sweep).evaluation().attention_scales_size(), 1000);
  evaluation.add_attention_scales(20);
  EXPECT_THAT(Refused(sweep), HasSubstr("evaluation.attention_scales: 1001 scales; at most 1000 are tried"));
  evaluation.mutable_attention_scales()->Truncate(1);
  evaluation.set_attention_scales(0, 1e300);
  EXPECT_THAT(Refused(sweep), HasSubstr("evaluation.attention_scales: 1e+300 is not a finite number above 0 in float32"));
  evaluation.set_attention_scales(0, 1);
  evaluation.set_position_bins(1000);
  EXPECT_THAT(Refused(sweep), HasSubstr("evaluation.position_bins: the best scales of 1000 bins and that over the lengths are more than 1000 values"));
  evaluation.clear_attention_scales();
  EXPECT_EQ(JobOf(sweep).evaluation().position_bins(), 1000);
}

TEST(LlamaKindTest, YarnsProtocolIsAnotherJobAndTheAuthorsIsNot) {
  v1::SweepSpec sweep = LlamaSweep();
  sweep.mutable_evaluation()->set_stride(256);
  const std::string authors = IdOf(sweep);
  sweep.mutable_evaluation()->set_perplexity_protocol("nope");
  EXPECT_EQ(IdOf(sweep), authors);
  EXPECT_FALSE(JobOf(sweep).evaluation().has_perplexity_protocol());
  sweep.mutable_evaluation()->set_perplexity_protocol("yarn");
  EXPECT_NE(IdOf(sweep), authors);
  EXPECT_EQ(JobOf(sweep).evaluation().perplexity_protocol(), "yarn");

  sweep.mutable_evaluation()->set_perplexity_protocol("nope_in_order");
  EXPECT_EQ(JobOf(sweep).evaluation().perplexity_protocol(), "nope_in_order");
  sweep.mutable_evaluation()->set_perplexity_protocol("yam");
  EXPECT_THAT(Refused(sweep), HasSubstr("evaluation.perplexity_protocol: unknown word 'yam'"));
  sweep.mutable_evaluation()->set_perplexity_protocol("yarn");
  sweep.mutable_evaluation()->clear_stride();
  EXPECT_THAT(Refused(sweep), HasSubstr("set evaluation.stride, such as 256"));
}

TEST(LlamaKindTest, PasskeysAreAskedForWhereLengthsAreGiven) {
  v1::SweepSpec sweep = LlamaSweep();
  const std::string without = IdOf(sweep);
  EXPECT_FALSE(JobOf(sweep).evaluation().has_passkey_depths());
  // What nothing is done with makes no other job.
  sweep.mutable_evaluation()->set_passkey_tests(3);
  EXPECT_EQ(IdOf(sweep), without);

  sweep.mutable_evaluation()->add_passkey_lengths(1024);
  sweep.mutable_evaluation()->add_passkey_lengths(512);
  const v1::JobSpec job = JobOf(sweep);
  EXPECT_THAT(job.evaluation().passkey_lengths(), ::testing::ElementsAre(512, 1024));
  EXPECT_EQ(job.evaluation().passkey_depths(), 10);
  EXPECT_EQ(job.evaluation().passkey_tests(), 3);
  EXPECT_NE(IdOf(sweep), without);
  // Reading 30 prompts of each length is nearly all that it costs.
  const double flops = FindKind("llama")->CostOf(job).flops - FindKind("llama")->CostOf(JobOf(LlamaSweep())).flops;
  EXPECT_GT(flops, 30 * (512 + 1024) * 2 * 7.2e7);
  EXPECT_LT(flops, 30 * (512 + 1024) * 2 * 9e7);

  const auto refused = [&](const std::function<void(v1::Evaluation&)>& change) {
    v1::SweepSpec other = sweep;
    change(*other.mutable_evaluation());
    return Refused(other);
  };
  EXPECT_THAT(refused([](auto& e) { e.add_passkey_lengths(251); }),
              HasSubstr("evaluation.passkey_lengths: 251 bytes or tokens have no room for the text around a key and its question, which take 252"));
  EXPECT_THAT(refused([](auto& e) { e.add_passkey_lengths(512); }), HasSubstr("evaluation.passkey_lengths: 512 is there twice"));
  EXPECT_THAT(refused([](auto& e) { e.add_passkey_lengths(2'000'000); }), HasSubstr("is above 1000000"));
  EXPECT_THAT(refused([](auto& e) { e.set_passkey_depths(0); }), HasSubstr("evaluation.passkey_depths: 0 is below 1"));
  EXPECT_THAT(refused([](auto& e) {
                e.set_passkey_depths(250);
                e.add_passkey_lengths(2048);
              }),
              HasSubstr("evaluation.passkey_depths: 250 depths at 3 lengths are more than 1000 values"));
  EXPECT_THAT(refused([](auto& e) { e.set_passkey_tests(1001); }), HasSubstr("evaluation.passkey_tests: 1001 is above 1000"));
  v1::SweepSpec language = LlamaSweep();
  language.set_experiment("language");
  language.mutable_axes()->set_task(0, "enwik8");
  language.mutable_evaluation()->add_passkey_lengths(512);
  EXPECT_THAT(Refused(language), HasSubstr("evaluation.passkey_lengths: is a setting of the kind 'llama'"));
}

TEST(LlamaKindTest, LongBenchIsAskedOfAPublishedModel) {
  v1::SweepSpec sweep = Folder();
  const std::string without = IdOf(sweep);
  EXPECT_FALSE(JobOf(sweep).evaluation().has_longbench_beams());
  // What nothing is done with makes no other job.
  sweep.mutable_evaluation()->set_longbench_beams(1);
  EXPECT_EQ(IdOf(sweep), without);

  sweep = Folder();
  sweep.mutable_evaluation()->set_longbench("bench");
  sweep.mutable_evaluation()->set_longbench_window(3500);
  const std::string all = IdOf(sweep);
  EXPECT_NE(all, without);
  const v1::JobSpec job = JobOf(sweep);
  EXPECT_EQ(job.evaluation().longbench_beams(), 5);
  EXPECT_EQ(job.evaluation().longbench_samples(), 0);
  // One job for a set of tasks, in whatever order they are written.
  v1::SweepSpec named = sweep;
  for (const catalog::LongBenchTask& task : catalog::kLongBenchTasks) named.mutable_evaluation()->add_longbench_tasks(std::string(task.name));
  EXPECT_EQ(IdOf(named), all);
  named.mutable_evaluation()->clear_longbench_tasks();
  for (const char* task : {"lcc", "qasper"}) named.mutable_evaluation()->add_longbench_tasks(task);
  EXPECT_THAT(JobOf(named).evaluation().longbench_tasks(), ::testing::ElementsAre("qasper", "lcc"));

  // Reading 200 + 500 prompts of 3500 tokens, and answering with five beams, of a model whose sizes are known.
  v1::Model& model = *named.mutable_model();
  model.set_layers(22);
  model.set_embedding_dim(2048);
  model.set_heads(32);
  model.set_kv_heads(4);
  model.set_mlp_dim(5632);
  v1::SweepSpec untested = named;
  untested.clear_evaluation();
  const double flops = FindKind("llama")->CostOf(JobOf(named)).flops - FindKind("llama")->CostOf(JobOf(untested)).flops;
  const double tokens = 700.0 * 3500 + 5 * (200.0 * 128 + 500 * 64);
  EXPECT_GT(flops, tokens * 2 * 1.03e9);
  EXPECT_LT(flops, tokens * 2 * 1.3e9);
}

TEST(LlamaKindTest, LongBenchRefusesWhatCannotBeAsked) {
  const auto refused = [](const std::function<void(v1::SweepSpec&, v1::Evaluation&)>& change) {
    v1::SweepSpec sweep = Folder();
    sweep.mutable_evaluation()->set_longbench("bench");
    sweep.mutable_evaluation()->set_longbench_window(3500);
    change(sweep, *sweep.mutable_evaluation());
    return Refused(sweep);
  };
  EXPECT_THAT(refused([](auto&, auto& e) { e.add_longbench_tasks("qaspr"); }), HasSubstr("did you mean 'qasper'?"));
  EXPECT_THAT(refused([](auto&, auto& e) {
                e.add_longbench_tasks("lcc");
                e.add_longbench_tasks("lcc");
              }),
              HasSubstr("evaluation.longbench_tasks: 'lcc' is there twice"));
  EXPECT_THAT(refused([](auto&, auto& e) { e.clear_longbench_window(); }), HasSubstr("evaluation.longbench_window: is not given"));
  EXPECT_THAT(refused([](auto&, auto& e) { e.set_longbench_window(15); }), HasSubstr("evaluation.longbench_window: 15 is below 16"));
  EXPECT_THAT(refused([](auto&, auto& e) { e.set_longbench_beams(65); }), HasSubstr("evaluation.longbench_beams: 65 is above 64"));
  EXPECT_THAT(refused([](auto&, auto& e) { e.set_longbench_samples(-1); }), HasSubstr("evaluation.longbench_samples: -1 is below 0"));
  EXPECT_THAT(refused([](auto&, auto& e) { e.set_longbench("a b"); }), HasSubstr("evaluation.longbench: 'a b' cannot be a data set's name"));
  EXPECT_THAT(refused([](auto&, auto& e) { e.clear_longbench(); }), HasSubstr("evaluation.longbench: is not given, and settings for it are"));
  EXPECT_THAT(refused([](auto& s, auto&) {
                s.mutable_model()->clear_folder();
                s.mutable_axes()->set_task(0, "bytes");
              }),
              HasSubstr("evaluation.longbench: its texts are for a published model"));
  v1::SweepSpec language = LlamaSweep();
  language.set_experiment("language");
  language.mutable_axes()->set_task(0, "enwik8");
  language.mutable_evaluation()->set_longbench("bench");
  EXPECT_THAT(Refused(language), HasSubstr("evaluation.longbench: is a setting of the kind 'llama'"));
}

TEST(LlamaKindTest, AMeasuredScaleComesFromAJobThatTriesScales) {
  v1::SweepSpec sweep = LlamaSweep();
  sweep.mutable_training()->set_steps(0);
  *sweep.add_inputs() = Weights();
  *sweep.add_inputs() = Scale();
  EXPECT_EQ(JobOf(sweep).inputs_size(), 2);

  v1::SweepSpec other = sweep;
  other.mutable_inputs(1)->mutable_from()->mutable_evaluation()->clear_attention_scales();
  EXPECT_THAT(Refused(other), HasSubstr("inputs.attention_scale.from.evaluation.attention_scales: that job tries no scales"));
  other = sweep;
  other.mutable_inputs(1)->set_metric("perplexity");
  EXPECT_THAT(Refused(other), HasSubstr("'perplexity' is no scale of attention"));
  other = sweep;
  other.mutable_model()->set_attention_scale(1.2);
  EXPECT_THAT(Refused(other), HasSubstr("leave one of the two out"));
  // As a job's own specification has it: the same job.
  other.mutable_model()->set_attention_scale(1);
  v1::SweepSpec without = other;
  without.mutable_model()->clear_attention_scale();
  EXPECT_EQ(IdOf(other), IdOf(without));
}

TEST(LlamaKindTest, HeadScalesThatWereTunedBelowARectifierAreTestedBelowIt) {
  v1::SweepSpec sweep = LlamaSweep();
  sweep.mutable_training()->set_steps(0);
  *sweep.add_inputs() = Weights();
  v1::Training& tuning = *sweep.mutable_inputs(0)->mutable_from()->mutable_training();
  tuning.set_steps(10);
  tuning.set_warmup_steps(0);
  tuning.set_trainable("head_scales");
  tuning.set_weight_decay(0);
  tuning.set_scale_bound("relu");
  v1::Input pretrained = Weights();
  pretrained.mutable_from()->mutable_training()->set_steps(10);
  pretrained.mutable_from()->mutable_training()->set_warmup_steps(0);
  *sweep.mutable_inputs(0)->mutable_from()->add_inputs() = pretrained;

  EXPECT_THAT(Refused(sweep), HasSubstr("inputs.weights.from.training.scale_bound: 'relu' there and not here"));

  sweep.mutable_training()->set_scale_bound("relu");
  EXPECT_EQ(JobOf(sweep).training().scale_bound(), "relu");
  // Without tuning before it there is nothing below 0.
  tuning.set_scale_bound("clamp");
  EXPECT_EQ(JobOf(sweep).training().scale_bound(), "relu");
}

}  // namespace
}  // namespace longreach::experiments
