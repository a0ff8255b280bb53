// What the scheduler says that a job costs is what the trainer counts of it: plans and 'bench' speak of the same operations.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "client/spec/spec_reader.h"
#include "proto/catalog/catalog.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/experiments/registry.h"
#include "worker/agent/spec_to_settings.h"
#include "worker/trainer/train.h"

namespace longreach::agent {
namespace {

// FLOP of one update at this length, as the scheduler counts them: those of a job of one update less those of one without.
double Planned(v1::JobSpec job, int length) {
  job.mutable_training()->clear_lengths();
  job.mutable_training()->add_lengths(length);
  const auto cost = [&job](int steps) {
    job.mutable_training()->set_steps(steps);
    return experiments::FindKind(job.experiment())->CostOf(job).flops;
  };
  const double none = cost(0);
  return cost(1) - none;
}

double Counted(const v1::JobSpec& job, int length) {
  const absl::StatusOr<trainer::PackSettings> settings = SettingsOf(job);
  EXPECT_TRUE(settings.ok()) << settings.status();
  return settings.ok() ? trainer::MatmulFlops(*settings, length) : 0;
}

TEST(CostsTest, SchedulerAndTrainerCountTheSameOfEveryPresetsUpdates) {
  std::set<std::string> kinds;
  for (const catalog::File& preset : catalog::Presets()) {
    const absl::StatusOr<client::SweepFile> file = client::LoadSweep(std::string(preset.name));
    ASSERT_TRUE(file.ok()) << preset.name << file.status();
    if (!file->parts.empty()) continue;  // They are presets themselves.
    absl::StatusOr<experiments::Expansion> jobs = experiments::Expansion::Of(file->spec);
    ASSERT_TRUE(jobs.ok()) << preset.name << jobs.status();
    std::set<std::pair<std::string, std::string>> seen;
    for (int64_t i = 0; i < jobs->size(); ++i) {
      const v1::JobSpec job = jobs->At(i).spec;
      // Of a published model, and of jobs that train nothing, only workers know; seeds and learning rates make no difference.
      if (job.training().lengths().empty() || job.training().steps() == 0 || !job.model().folder().empty()) continue;
      if (!seen.emplace(job.task(), job.encoding()).second) continue;
      for (const int length : {*job.training().lengths().begin(), *job.training().lengths().rbegin()}) {
        EXPECT_NEAR(Planned(job, length) / Counted(job, length), 1, 1e-9) << preset.name << " " << job.task() << " " << job.encoding() << " at " << length;
      }
      kinds.insert(job.experiment());
    }
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"algorithmic", "images", "language", "llama"}));
}

TEST(CostsTest, SchedulerAndTrainerCountTheSameOfADecoderOfAlgorithmicTasks) {
  const absl::StatusOr<client::SweepFile> file = client::LoadSweep("quickstart");
  ASSERT_TRUE(file.ok()) << file.status();
  v1::SweepSpec sweep = file->spec;
  const v1::JobSpec encoder = experiments::Expansion::Of(sweep)->At(0).spec;
  sweep.mutable_model()->set_causal(true);
  const v1::JobSpec decoder = experiments::Expansion::Of(sweep)->At(0).spec;
  for (const int length : {1, 7, 40}) {
    EXPECT_NEAR(Planned(decoder, length) / Counted(decoder, length), 1, 1e-9) << length;
    EXPECT_NE(Planned(decoder, length), Planned(encoder, length));
  }
}

// Of pairs whose data set neither has looked at.
TEST(CostsTest, SchedulerAndTrainerCountTheSameOfPairsOfSequences) {
  const absl::StatusOr<client::SweepFile> file = client::LoadSweep("quickstart");
  ASSERT_TRUE(file.ok()) << file.status();
  v1::SweepSpec sweep = file->spec;
  sweep.set_experiment("sequences");
  sweep.mutable_axes()->clear_task();
  sweep.mutable_axes()->add_task("pairs");
  for (const bool causal : {false, true}) {
    sweep.mutable_model()->set_causal(causal);
    absl::StatusOr<experiments::Expansion> jobs = experiments::Expansion::Of(sweep);
    ASSERT_TRUE(jobs.ok()) << jobs.status();
    for (const int length : {1, 7, 40}) EXPECT_NEAR(Planned(jobs->At(0).spec, length) / Counted(jobs->At(0).spec, length), 1, 1e-9) << length;
  }
}

}  // namespace
}  // namespace longreach::agent
