// The simulator itself: it repeats, it meets what it promises to meet, and it sees what is wrong.
#include "tests/simulation/simulation.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/store.h"
#include "tests/simulation/compare.h"
#include "tests/simulation/network.h"
#include "tests/simulation/plants.h"
#include "tests/simulation/scale.h"
#include "tests/simulation/universe.h"
#include "tests/support/temporary_folder.h"

namespace longreach::simulation {
namespace {

using ::testing::HasSubstr;

TEST(DiceTest, ASeedGivesTheSameNumbersEverywhere) {
  Dice dice(1);
  EXPECT_EQ(dice.Draw(), 6791897765849424158u);
  EXPECT_EQ(dice.Below(1000), 943);
  EXPECT_EQ(Dice(2).Below(1000), 392);
}

TEST(NetworkTest, MessagesAreLostRepeatedAndCutOff) {
  World world(1, false);
  Network network(world);
  int arrived = 0;
  const auto send = [&] {
    arrived = 0;
    network.Send(1, Network::Way::kToScheduler, [&] { ++arrived; });
    while (world.NextAt() != SteadyTime::max()) world.RunNext();
    return arrived;
  };
  EXPECT_EQ(send(), 1);
  network.Set({.loss = 1});
  EXPECT_EQ(send(), 0);
  network.Set({.repeat = 1});
  EXPECT_EQ(send(), 2);
  network.Set({});
  network.Cut(1, Network::Way::kToScheduler);
  EXPECT_EQ(send(), 0);
  network.Heal(1);
  EXPECT_EQ(send(), 1);
}

TEST(UniverseTest, HasPacksSharedJobsInputsAndEveryFate) {
  std::set<Fate> fates;
  for (int i = 0; i < kUniverses; ++i) {
    const Universe& universe = UniverseOf(i);
    std::set<std::string> packs;
    int shared = 0;
    int with_inputs = 0;
    for (const Job& job : universe.jobs) {
      packs.insert(job.pack_key);
      shared += (job.sweeps & (job.sweeps - 1)) != 0;
      with_inputs += !job.sources.empty();
      fates.insert(job.fate);
    }
    EXPECT_GE(packs.size(), 10u) << i;
    EXPECT_GE(shared, 2) << i;
    EXPECT_GE(with_inputs, 4) << i;
  }
  EXPECT_EQ(fates.size(), 5u);
}

TEST(UniverseTest, InTheLastOfThemJobsOfASweepShareAPrerequisite) {
  for (int i = 0; i < kUniverses; ++i) {
    const Universe& universe = UniverseOf(i);
    int shared = 0;
    for (const Sweep& sweep : universe.sweeps) {
      for (const int source : sweep.prerequisites) {
        const std::vector<int>& dependants = universe.jobs[static_cast<size_t>(source)].dependants;
        shared += std::ranges::count_if(dependants, [&](int job) { return std::ranges::find(sweep.order, job) != sweep.order.end(); }) > 1;
      }
    }
    EXPECT_EQ(shared, i < kUniversesWithoutSharedInputs ? 0 : 3) << i;
  }
  std::set<int> played;
  for (uint64_t seed = 1; seed <= 30; ++seed) played.insert(UniverseOfSeed(seed));
  EXPECT_EQ(played.size(), static_cast<size_t>(kUniverses));
}

TEST(ScaleTest, AFleetDoesAllJobsAndTheLedgerHolds) {
  const longreach::testing::TemporaryFolder folder;
  const absl::StatusOr<ScaleFigures> figures =
      RunAtScale({.workers = 200, .jobs = 1000, .job_s = 2, .played_s = 30, .folder = folder.path().string(), .check = true});

  ASSERT_TRUE(figures.ok()) << figures.status();
  EXPECT_EQ(figures->false_expiries, 0);
  EXPECT_GE(figures->finished, 200) << "beside those that were done while the fleet came";
  EXPECT_GE(figures->calls, 200 * 30 / 5);
  EXPECT_GT(figures->store_bytes_per_job, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "it leaves nothing";
}

class SimulationTest : public ::testing::TestWithParam<Kind> {};

TEST_P(SimulationTest, TheSameSeedGivesTheSameEventLog) {
  const Outcome one = Simulate({.kind = GetParam(), .seed = 7});
  const Outcome again = Simulate({.kind = GetParam(), .seed = 7});
  const Outcome other = Simulate({.kind = GetParam(), .seed = 8});

  EXPECT_EQ(one.violation, "");
  EXPECT_EQ(one.hash, again.hash);
  EXPECT_EQ(one.tally, again.tally);
  EXPECT_NE(one.hash, other.hash);
  EXPECT_GE(one.events, 300);
}

TEST_P(SimulationTest, AnUndisturbedRunMeetsNoFault) {
  const Outcome outcome = Simulate({.kind = GetParam(), .seed = 3, .disturbed = false});

  EXPECT_EQ(outcome.violation, "");
  for (const auto& [name, count] : outcome.tally) {
    EXPECT_FALSE(name.starts_with("hazard: ")) << name;
    // What is no fault at all: a call that waits is ended for one with news.
    EXPECT_TRUE(!name.starts_with("fault: ") || name == "fault: call ended for a newer one") << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, SimulationTest, ::testing::Values(Kind::kCore, Kind::kStore),
                         [](const auto& kind) { return kind.param == Kind::kCore ? "Core" : "Store"; });

// The simulator is not blind: each planted bug is found within a hundred seeds.
class PlantTest : public ::testing::TestWithParam<size_t> {};

TEST_P(PlantTest, IsFoundWithinAHundredSeeds) {
  const Plant& plant = Plants()[GetParam()];
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const Outcome outcome = Simulate({.kind = Kind::kStore, .seed = seed, .plant = std::string(plant.name)});
    if (outcome.violation.empty()) continue;
    RecordProperty("seed", static_cast<int>(seed));
    std::cout << "'" << plant.name << "' was found by seed " << seed << ": " << outcome.violation << std::endl;
    return;
  }
  FAIL() << "a scheduler that '" << plant.name << "' passes a hundred seeds";
}

INSTANTIATE_TEST_SUITE_P(Plants, PlantTest, ::testing::Range<size_t>(0, Plants().size()));

// Seeds that once failed: seeds.txt says what each of them found.
TEST(RegressionTest, SeedsThatOnceFailedPass) {
  std::ifstream in(LONGREACH_SEEDS_FILE);
  ASSERT_TRUE(in) << LONGREACH_SEEDS_FILE;
  int seeds = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string kind;
    Options options;
    words >> kind >> options.seed >> options.min_events;
    ASSERT_TRUE(!words.fail() && (kind == "core" || kind == "store")) << line;
    options.kind = kind == "core" ? Kind::kCore : Kind::kStore;
    EXPECT_EQ(Simulate(options).violation, "") << line;
    ++seeds;
  }
  EXPECT_GT(seeds, 0);
}

// A store beside a model that have nothing in common but the schema.
class CompareTest : public ::testing::Test {
 protected:
  CompareTest() : model_(UniverseOf(0)) {
    auto opened = store::Store::Open(":memory:");
    EXPECT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }
  std::string Compare() {
    World world(1, false);
    CompareAll(world, model_, store_->writer_connection());
    return world.violation();
  }
  Model model_;
  std::unique_ptr<store::Store> store_;
};

TEST_F(CompareTest, NothingIsAsTheModelOfNothing) { EXPECT_EQ(Compare(), ""); }

TEST_F(CompareTest, AMissingJobIsSeen) {
  model_.AddJobs(0, 1);
  EXPECT_THAT(Compare(), HasSubstr("the store has 0 jobs, the model"));
}

TEST_F(CompareTest, AWorkerInAnotherStateIsSeen) {
  v1::SynchronizeRequest request;
  request.set_worker("w");
  request.set_incarnation(5);
  ASSERT_TRUE(model_.Synchronize(request).ok());
  EXPECT_THAT(Compare(), HasSubstr("workers: the store has '', the model 'w 5 active'"));
}

TEST_F(CompareTest, AnAnswerWithAnotherLeaseIsSeen) {
  World world(1, false);
  v1::SynchronizeRequest request;
  v1::SynchronizeResponse given, expected;
  expected.add_leases()->set_attempt(1);
  CompareResponse(world, request, given, expected);
  EXPECT_THAT(world.violation(), HasSubstr("the model's is '; lease 1:'"));
}

}  // namespace
}  // namespace longreach::simulation
