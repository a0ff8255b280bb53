// Sweeps that have jobs in common whatever they say, joined to one that the scheduler takes: held against the scheduler's own expansion.
#include "client/spec/joints.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "client/spec/joined_sweeps.h"
#include "client/spec/spec_reader.h"
#include "client/spec/sweep_writer.h"
#include "proto/catalog/encoding_name.h"
#include "scheduler/experiments/expansion.h"

namespace longreach::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// A sweep as a store has it, and its jobs as they are listed.
struct StoredSweep {
  v1::SweepSpec spec;
  std::vector<v1::Job> jobs;
};

// The sweep of a preset with what `--set` says; without jobs: the scheduler refuses it.
StoredSweep Stored(const std::string& preset, const std::vector<std::string>& overrides) {
  StoredSweep stored;
  const absl::StatusOr<std::vector<LoadedSweep>> loaded = LoadSweeps({.spec = preset, .overrides = overrides});
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  if (!loaded.ok()) return stored;
  const v1::SweepSpec& spec = loaded->front().file.spec;
  absl::StatusOr<experiments::Expansion> expansion = experiments::Expansion::Of(spec);
  if (!expansion.ok()) return stored;
  const absl::StatusOr<v1::SweepSpec> kept = experiments::ReadSweep(expansion->canonical());
  EXPECT_TRUE(kept.ok()) << kept.status();
  stored.spec = kept.value_or(v1::SweepSpec());
  stored.spec.set_name(spec.name());
  const std::vector<experiments::SystemRange> systems = experiments::SystemRanges(spec);
  for (int64_t i = 0; i < expansion->size(); ++i) {
    const experiments::ExpandedJob one = expansion->At(i);
    v1::Job& job = stored.jobs.emplace_back();
    job.set_id(one.id.value);
    job.set_task(one.spec.task());
    job.set_encoding(catalog::ToText({.name = one.spec.encoding(), .randomized = one.spec.randomized()}));
    if (const std::string system = experiments::SystemAt(systems, i); !system.empty()) job.add_systems(system);
  }
  return stored;
}

absl::StatusOr<JoinedSweep> JoinStored(const std::vector<StoredSweep>& sweeps) {
  std::vector<v1::SweepSpec> specs;
  std::vector<std::vector<v1::Job>> jobs;
  for (const StoredSweep& one : sweeps) {
    specs.push_back(one.spec);
    jobs.push_back(one.jobs);
  }
  return JoinSweeps(specs, "all", jobs);
}

std::set<std::string> IdsOf(const std::vector<StoredSweep>& sweeps) {
  std::set<std::string> ids;
  for (const StoredSweep& one : sweeps) {
    for (const v1::Job& job : one.jobs) ids.insert(job.id());
  }
  return ids;
}

// All jobs of the sweeps are the joined one's, and so many more as it says.
void ExpectTaken(const std::vector<StoredSweep>& sweeps, const JoinedSweep& joined) {
  // As it is printed, and read again.
  const absl::StatusOr<SweepFile> file = ReadSweepFile(ToYaml(joined.spec), "printed");
  ASSERT_TRUE(file.ok()) << file.status();
  absl::StatusOr<experiments::Expansion> expansion = experiments::Expansion::Of(file->spec);
  ASSERT_TRUE(expansion.ok()) << expansion.status() << "\n" << ToYaml(joined.spec);
  std::set<std::string> missing = IdsOf(sweeps);
  const auto wanted = static_cast<int64_t>(missing.size());
  for (int64_t i = 0; i < expansion->size(); ++i) missing.erase(expansion->At(i).id.value);
  EXPECT_THAT(missing, IsEmpty()) << ToYaml(joined.spec);
  EXPECT_EQ(static_cast<double>(expansion->size()), joined.jobs) << ToYaml(joined.spec);
  EXPECT_EQ(static_cast<double>(expansion->size() - wanted), joined.new_jobs) << ToYaml(joined.spec);
}

std::vector<std::string> SystemsOf(const JoinedSweep& joined) {
  std::vector<std::string> names;
  for (const v1::System& system : joined.spec.systems()) names.push_back(system.name());
  return names;
}

TEST(JointsTest, ASweepThatLeavesADefaultToItsKindIsTheSystemThatSaysIt) {
  const StoredSweep plain = Stored("quickstart", {"name=plain"});
  const StoredSweep grid = Stored("quickstart", {"name=grid", "model.layers=3,5"});
  ASSERT_THAT(IdsOf({plain, grid}), ::testing::SizeIs(48)) << "the encoder of this kind has five layers";

  const absl::StatusOr<JoinedSweep> joined = JoinStored({plain, grid});

  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_THAT(SystemsOf(*joined), ElementsAre("layers-3", "layers-5"));
  EXPECT_THAT(joined->notes, ElementsAre(HasSubstr("the system 'layers-5' has the jobs that it has in common with 'plain'")));
  ExpectTaken({plain, grid}, *joined);
}

TEST(JointsTest, SeedsOfTheOneAreTheSystemsSeedsToo) {
  const StoredSweep plain = Stored("quickstart", {"name=plain", "seed=2..4"});
  const StoredSweep grid = Stored("quickstart", {"name=grid", "model.layers=3,5"});

  const absl::StatusOr<JoinedSweep> joined = JoinStored({grid, plain});

  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_THAT(SystemsOf(*joined), ElementsAre("layers-3", "layers-5"));
  EXPECT_EQ(joined->new_jobs, 0);
  ExpectTaken({plain, grid}, *joined);
}

TEST(JointsTest, OtherEncodingsOfTheSweepKeepItsSettings) {
  // The system has a part of the sweep's encodings, and goes with it under its own name.
  const StoredSweep plain = Stored("quickstart", {"name=plain"});
  const StoredSweep grid = Stored("quickstart", {"name=grid", "model.layers=3,5", "encoding=rope"});

  const absl::StatusOr<JoinedSweep> joined = JoinStored({plain, grid});

  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_THAT(SystemsOf(*joined), UnorderedElementsAre("layers-3", "layers-5"));
  ExpectTaken({plain, grid}, *joined);
}

TEST(JointsTest, EncodingsThatDoNotUseWhatDiffersAreTheFirstOnes) {
  // A position's greatest value is nothing to those that are not randomized.
  const StoredSweep far = Stored("quickstart", {"name=far", "positions.max_position=2000"});
  const StoredSweep near = Stored("quickstart", {"name=near", "positions.max_position=100"});

  const absl::StatusOr<JoinedSweep> joined = JoinStored({far, near});

  ASSERT_TRUE(joined.ok()) << joined.status();
  ASSERT_THAT(SystemsOf(*joined), ElementsAre("far", "near"));
  EXPECT_THAT(joined->spec.systems(1).with().axes().encoding(), ElementsAre("rope:randomized", "sin_cos:randomized"));
  EXPECT_THAT(joined->notes, ElementsAre(HasSubstr("'far' has the jobs that it has in common with 'near'")));
  ExpectTaken({far, near}, *joined);
}

TEST(JointsTest, JobsThatAreAllSomeSystemsAreNoFurtherOne) {
  const StoredSweep grid = Stored("quickstart", {"name=grid", "model.layers=3,5"});
  // One of its systems is what the grid has, too, under another name.
  const StoredSweep other = Stored("quickstart", {"name=other", "model.layers=5", "training.steps=1000,2000"});

  const absl::StatusOr<JoinedSweep> joined = JoinStored({grid, other});

  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_THAT(SystemsOf(*joined), ElementsAre("layers-3", "layers-5", "steps-2000"));
  ExpectTaken({grid, other}, *joined);
}

TEST(JointsTest, ASweepWhoseJobsAreNotAllWrittenLosesNone) {
  const StoredSweep grid = Stored("quickstart", {"name=grid", "model.layers=3,5"});
  StoredSweep plain = Stored("quickstart", {"name=plain", "seed=0..5"});
  plain.jobs.resize(1);  // The grid has it.

  const absl::StatusOr<JoinedSweep> joined = JoinStored({grid, plain});

  // One job tells of one task and encoding alone: the scheduler will refuse it, which loses nothing.
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_THAT(SystemsOf(*joined), ElementsAre("layers-3", "layers-5", "plain"));
  EXPECT_FALSE(experiments::Expansion::Of(joined->spec).ok());
}

TEST(JointsTest, WhatRandomJoinsMakeHasAllJobsAndIsTaken) {
  const std::vector<std::vector<std::string>> choices = {
      {"", "model.layers=5", "model.layers=3", "model.layers=3,5", "model.layers=5,6"},
      {"", "positions.max_position=2048", "positions.max_position=100", "positions.max_position=300"},
      {"", "encoding=rope", "encoding=rope:randomized", "encoding=rope,rope:randomized", "encoding=alibi,rope"},
      {"", "seed=0", "seed=1..3", "seed=7"},
      {"", "learning_rate=5e-4", "learning_rate=1e-3", "learning_rate=1e-4,5e-4"},
      {"", "training.batch_size=64", "training.batch_size=128"},
      {"", "task=even_pairs", "task=even_pairs,bucket_sort"},
  };
  const auto seed = static_cast<uint32_t>(::testing::UnitTest::GetInstance()->random_seed());
  SCOPED_TRACE(fmt::format("--gtest_random_seed={}", seed));
  std::mt19937 generator(seed);
  const auto draw = [&generator](size_t count) { return static_cast<size_t>(generator() % count); };
  int taken = 0;
  for (int round = 0; round < 150; ++round) {
    std::vector<StoredSweep> sweeps;
    std::string told;
    for (size_t i = 0, count = 2 + draw(3); i < count; ++i) {
      std::vector<std::string> overrides = {fmt::format("name=sweep{}", i)};
      for (const std::vector<std::string>& choice : choices) {
        const std::string& one = choice[draw(choice.size())];
        if (!one.empty() && draw(2) == 0) overrides.push_back(one);
      }
      for (const std::string& one : overrides) told += one + " ";
      StoredSweep stored = Stored("quickstart", overrides);
      if (!stored.jobs.empty()) sweeps.push_back(std::move(stored));  // A grid over what an encoding does not use is refused.
    }
    if (sweeps.size() < 2) continue;
    SCOPED_TRACE(told);
    const absl::StatusOr<JoinedSweep> joined = JoinStored(sweeps);
    ASSERT_TRUE(joined.ok()) << joined.status();
    // Where a job stays in two systems, the sweep is refused before it is printed, and nobody submits less than there was.
    const absl::StatusOr<experiments::Expansion> expansion = experiments::Expansion::Of(joined->spec);
    if (!expansion.ok()) {
      EXPECT_THAT(std::string(expansion.status().message()), HasSubstr("has a job that the system"));
      continue;
    }
    ++taken;
    ExpectTaken(sweeps, *joined);
  }
  EXPECT_GT(taken, 75) << "most are joined";
}

TEST(JointsTest, EveryPresetIsJoinedWithItselfAtOtherSeedsAndSettings) {
  for (const char* preset : {"table-b1", "table-1", "ruoss-2023", "quickstart-language", "quickstart-images", "noop"}) {
    SCOPED_TRACE(preset);
    const StoredSweep whole = Stored(preset, {"name=whole"});
    const StoredSweep seeds = Stored(preset, {"name=seeds", "seed=1,17"});
    const StoredSweep steps = std::string(preset) == "noop" ? Stored(preset, {"name=steps", "seed=20"}) : Stored(preset, {"name=steps", "training.steps=7,9"});
    ASSERT_FALSE(whole.jobs.empty() || seeds.jobs.empty() || steps.jobs.empty());
    for (const std::vector<StoredSweep>& sweeps : {std::vector<StoredSweep>{whole, seeds}, {seeds, steps}, {steps, whole, seeds}}) {
      const absl::StatusOr<JoinedSweep> joined = JoinStored(sweeps);
      ASSERT_TRUE(joined.ok()) << joined.status();
      ExpectTaken(sweeps, *joined);
    }
  }
}

}  // namespace
}  // namespace longreach::client
