// Defaults of every experiment kind. A job's identity leaves them out: were one to change, jobs that are stored would stand for other numbers than those they
// have, and what is computed today would be taken for the same job.
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proto/types/canonical.h"
#include "scheduler/experiments/registry.h"

namespace longreach::experiments {
namespace {

// A new setting adds its line. No line ever changes or goes.
const std::map<std::string, std::string> kReleasedDefaults = {
      {"algorithmic",
       "evaluation.dropout=false\nevaluation.examples=500\nevaluation.lengths=41..500\nevaluation.seed=0\nmodel.break_symmetry=false\n"
       "model.causal=false\nmodel.dropout=0.1\nmodel.embedding_dim=64\nmodel.fire_shared=false\nmodel.fire_threshold=16\nmodel.fire_width=32\n"
       "model.heads=8\nmodel.kerple_shared=false\nmodel.layers=5\nmodel.learned_rows=2048\nmodel.length_scaling=none\nmodel.length_scaling_from=0\n"
       "model.mlp_dim=256\nmodel.norm=post\n"
       "model.rope_theta=10000\nmodel.sandwich_dim=128\nmodel.t5_buckets=32\nmodel.t5_max_distance=128\npositions.max_position=2048\npositions.none_every=0\npositions.original_length=0\n"
       "positions.randomized_by=distance\n"
       "positions.relative_as_released=false\npositions.rope_factor=1\npositions.rope_scaling=none\npositions.rope_scaling_at=tests\n"
       "positions.shift_at_test=random\npositions.shift_max=0\nrevisions.encoding=1\nrevisions.model=1\n"
       "revisions.task=1\ntraining.batch_size=128\ntraining.clip_norm=1\ntraining.data_seed=0\ntraining.final_rate=0.1\ntraining.lengths=1..40\n"
       "training.schedule=constant\ntraining.steps=2000000\ntraining.warmup_steps=0\n"},
      {"images",
       "evaluation.dropout=false\nevaluation.examples=0\nevaluation.lengths=506,2025\nevaluation.seed=0\nmodel.break_symmetry=false\n"
       "model.classes=1000\nmodel.count_delimiters=true\nmodel.decoder_layers=8\nmodel.dropout=0.1\nmodel.embedding_dim=256\n"
       "model.fire_shared=false\nmodel.fire_threshold=128\nmodel.fire_width=32\nmodel.heads=8\nmodel.kerple_shared=false\nmodel.layers=8\n"
       "model.learned_rows=2048\nmodel.mlp_dim=1024\nmodel.pixel_embedding=lookup\nmodel.rope_theta=10000\nmodel.row_delimiter=true\nmodel.sandwich_dim=128\n"
       "model.t5_buckets=32\nmodel.t5_max_distance=128\npositions.max_position=2048\npositions.none_every=0\npositions.original_length=0\n"
       "positions.randomized_by=distance\n"
       "positions.relative_as_released=false\npositions.rope_factor=1\npositions.rope_scaling=none\npositions.rope_scaling_at=tests\n"
       "positions.shift_at_test=random\npositions.shift_max=0\nrevisions.encoding=1\nrevisions.model=1\n"
       "revisions.task=1\ntraining.batch_size=32\ntraining.clip_norm=1\ntraining.data_seed=0\ntraining.lengths=506\ntraining.steps=1000000\n"},
      {"language",
       "evaluation.dropout=false\nevaluation.examples=0\nevaluation.lengths=256,1024\nevaluation.seed=0\nmodel.break_symmetry=false\n"
       "model.dropout=0.1\nmodel.embedding_dim=256\nmodel.fire_shared=false\nmodel.fire_threshold=64\nmodel.fire_width=32\nmodel.heads=8\n"
       "model.kerple_shared=false\nmodel.layers=8\nmodel.learned_rows=2048\nmodel.length_scaling=none\nmodel.length_scaling_from=0\n"
       "model.mlp_dim=1024\nmodel.rope_theta=10000\nmodel.sandwich_dim=128\nmodel.t5_buckets=32\n"
       "model.t5_max_distance=128\npositions.max_position=2048\npositions.none_every=0\npositions.original_length=0\n"
       "positions.randomized_by=distance\npositions.relative_as_released=false\n"
       "positions.rope_factor=1\npositions.rope_scaling=none\npositions.rope_scaling_at=tests\n"
       "positions.shift_at_test=random\npositions.shift_max=0\nrevisions.encoding=1\nrevisions.model=1\nrevisions.task=1\ntraining.batch_size=64\n"
       "training.clip_norm=1\ntraining.data_seed=0\ntraining.lengths=256\ntraining.steps=1000000\n"},
      {"llama",
       "evaluation.dropout=false\nevaluation.examples=0\nevaluation.lengths=2048,4096,8192,16384\nevaluation.longbench_beams=5\n"
       "evaluation.longbench_samples=0\nevaluation.passkey_depths=10\nevaluation.passkey_prompts=nope\nevaluation.passkey_tests=10\n"
       "evaluation.position_bins=0\nevaluation.seed=0\nevaluation.stride=0\nmodel.attention_scale=1\nmodel.break_symmetry=false\nmodel.dropout=0\n"
       "model.embedding_dim=768\nmodel.fire_shared=false\nmodel.fire_threshold=64\nmodel.fire_width=32\nmodel.folder=\nmodel.heads=12\n"
       "model.kerple_shared=false\nmodel.kv_heads=1\nmodel.layers=12\nmodel.learned_rows=2048\nmodel.mlp_dim=2048\nmodel.rope_theta=10000\n"
       "model.sandwich_dim=128\nmodel.t5_buckets=32\nmodel.t5_max_distance=128\npositions.max_position=2048\npositions.none_every=0\npositions.original_length=0\n"
       "positions.randomized_by=distance\npositions.relative_as_released=false\npositions.rope_factor=1\npositions.rope_scaling=none\n"
       "positions.shift_at_test=random\npositions.shift_max=0\nrevisions.encoding=1\nrevisions.model=1\nrevisions.task=1\ntraining.batch_size=1024\n"
       "training.clip_norm=1\ntraining.data_seed=0\ntraining.final_rate=0.1\ntraining.lengths=2048\ntraining.scale_bound=clamp\n"
       "training.scale_lower_bound=1\ntraining.schedule=cosine\ntraining.steps=50000\ntraining.trainable=all\ntraining.warmup_steps=2000\n"
       "training.weight_decay=0.1\n"},
      {"noop",
       "revisions.encoding=1\nrevisions.model=1\nrevisions.task=1\n"},
      {"sequences",
       "evaluation.dropout=false\nevaluation.examples=0\nevaluation.seed=0\nmodel.break_symmetry=false\n"
       "model.causal=false\nmodel.dropout=0.1\nmodel.embedding_dim=64\nmodel.fire_shared=false\nmodel.fire_threshold=16\nmodel.fire_width=32\n"
       "model.heads=8\nmodel.kerple_shared=false\nmodel.layers=5\nmodel.learned_rows=2048\nmodel.length_scaling=none\nmodel.length_scaling_from=0\n"
       "model.mlp_dim=256\nmodel.norm=post\n"
       "model.rope_theta=10000\nmodel.sandwich_dim=128\nmodel.t5_buckets=32\nmodel.t5_max_distance=128\npositions.data_rows=0\npositions.data_shift=0\n"
       "positions.max_position=2048\npositions.none_every=0\npositions.original_length=0\n"
       "positions.randomized_by=distance\n"
       "positions.relative_as_released=false\npositions.rope_factor=1\npositions.rope_scaling=none\npositions.rope_scaling_at=tests\n"
       "positions.shift_at_test=random\npositions.shift_max=0\nrevisions.encoding=1\nrevisions.model=1\n"
       "revisions.task=1\ntraining.batch_size=128\ntraining.clip_norm=1\ntraining.data_seed=0\ntraining.final_rate=0.1\n"
       "training.schedule=constant\ntraining.steps=2000000\ntraining.warmup_steps=0\n"}};

TEST(DefaultsTest, AreThoseThatWereReleased) {
  std::vector<std::string> known;
  for (const auto& [kind, lines] : kReleasedDefaults) {
    known.push_back(kind);
    ASSERT_NE(FindKind(kind), nullptr) << kind;
    EXPECT_EQ(CanonicalText(FindKind(kind)->Defaults(), v1::JobSpec()), "longreach-job/1\n" + lines) << kind;
  }
  EXPECT_EQ(KindNames(), known);
}

}  // namespace
}  // namespace longreach::experiments
