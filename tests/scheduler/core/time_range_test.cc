#include "scheduler/core/time_range.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace longreach::core {
namespace {

const PackKind kKind{.task = "even_pairs", .encoding = "rope"};
constexpr int kMembers = 10;
constexpr int kSteps = 100;

// Packs of ten jobs of 100 steps that took ten seconds each.
std::vector<EndedPack> EndedAlike(int packs, const std::string& worker = "w") {
  return std::vector<EndedPack>(static_cast<size_t>(packs), {.kind = kKind, .worker = worker, .job_steps = kMembers * kSteps, .seconds = 10});
}

RunningPack Trains(int step, const std::string& worker = "w") {
  return {.kind = kKind, .worker = worker, .members = kMembers, .phase = AttemptPhase::kTraining, .step = step, .steps = kSteps, .steps_per_second = 10};
}

std::vector<OpenJobs> Open(double jobs) { return {{.kind = kKind, .steps = kSteps, .jobs = jobs}}; }

TimeRange RangeOf(const std::vector<EndedPack>& ended, const std::vector<RunningPack>& running, const std::vector<OpenJobs>& open) {
  return TimeRangeOf(ended, running, open, kMembers);
}

TEST(TimeRangeTest, IsNotKnownBeforeFivePacksHaveEndedOrWhileNoneRuns) {
  EXPECT_EQ(RangeOf(EndedAlike(4), {Trains(0)}, Open(30)).high, 0);
  EXPECT_EQ(RangeOf(EndedAlike(9), {}, Open(30)).high, 0);
  EXPECT_GT(RangeOf(EndedAlike(5), {Trains(0)}, Open(30)).high, 0);
}

TEST(TimeRangeTest, IsAroundWhatSuchPacksTook) {
  const TimeRange range = RangeOf(EndedAlike(30), {Trains(50)}, Open(30));

  EXPECT_NEAR(range.usual, 5 + 3 * 10, 3);
  EXPECT_LT(range.low, range.usual);
  EXPECT_LT(range.usual, range.high);
  EXPECT_LT(range.high, 1.5 * range.low);
}

TEST(TimeRangeTest, IsTheSameEachTimeThatItIsAsked) {
  const TimeRange one = RangeOf(EndedAlike(30), {Trains(50)}, Open(30));
  const TimeRange again = RangeOf(EndedAlike(30), {Trains(50)}, Open(30));

  EXPECT_EQ(one.usual, again.usual);
  EXPECT_EQ(one.low, again.low);
  EXPECT_EQ(one.high, again.high);
}

TEST(TimeRangeTest, TheLastPackIsNotSharedAmongWorkers) {
  std::vector<EndedPack> ended = EndedAlike(30, "v");
  const std::vector<EndedPack> others = EndedAlike(30, "w");
  ended.insert(ended.end(), others.begin(), others.end());

  // Two packs have just begun, and a third one waits: two of them in a row, though all three are only a pack and a half for each.
  const TimeRange range = RangeOf(ended, {Trains(0, "v"), Trains(0, "w")}, Open(kMembers));

  EXPECT_NEAR(range.usual, 20, 2.5);
  EXPECT_GT(range.low, 16);
}

TEST(TimeRangeTest, TestsCountThoughNoStepIsMadeMeanwhile) {
  // Each pack trains at 20 steps/s, so for five of its ten seconds.
  RunningPack trains = Trains(kSteps);
  trains.steps_per_second = 20;
  EXPECT_NEAR(RangeOf(EndedAlike(30), {trains}, Open(0)).usual, 5, 1.5) << "its tests are still to come";

  RunningPack tests = Trains(kSteps);
  tests.phase = AttemptPhase::kEvaluating;
  const TimeRange range = RangeOf(EndedAlike(30), {tests}, Open(30));
  EXPECT_GT(range.usual, 27);
  EXPECT_LT(range.usual, 37);
}

TEST(TimeRangeTest, AWorkerThatHandsInWhileItTrainsTheNextPackIsOneWorker) {
  std::vector<EndedPack> ended = EndedAlike(30);
  const std::vector<EndedPack> on_another = EndedAlike(30, "v");
  ended.insert(ended.end(), on_another.begin(), on_another.end());
  RunningPack handed_in = Trains(kSteps);
  handed_in.phase = AttemptPhase::kUploading;
  const TimeRange alone = RangeOf(ended, {Trains(50)}, Open(30));
  for (const std::vector<RunningPack>& held : {std::vector{handed_in, Trains(50)}, {Trains(50), handed_in}}) {
    const TimeRange range = RangeOf(ended, held, Open(30));
    EXPECT_EQ(range.usual, alone.usual);
    EXPECT_EQ(range.low, alone.low);
    EXPECT_EQ(range.high, alone.high);
    EXPECT_EQ(range.usual_with_another, alone.usual_with_another);
  }
  EXPECT_GT(RangeOf(ended, {handed_in}, Open(30)).low, 20) << "it is about to take the next";

  // Another's, or one that writes a checkpoint on its way, is at work.
  RunningPack others = handed_in;
  others.worker = "v";
  RunningPack saves = Trains(50);
  saves.phase = AttemptPhase::kUploading;
  for (const RunningPack& beside : {others, saves}) EXPECT_LT(RangeOf(ended, {beside, Trains(50)}, Open(30)).usual, 0.8 * alone.usual);
}

TEST(TimeRangeTest, WhatWasNotMeasuredMakesItWider) {
  const auto width = [](const PackKind& kind) {
    const TimeRange range = RangeOf(EndedAlike(30), {Trains(50)}, {{.kind = kind, .steps = kSteps, .jobs = 100}});
    return range.high / range.low;
  };

  EXPECT_GT(width({.task = "parity_check", .encoding = "rope"}), 1.5 * width(kKind));
  EXPECT_GT(width({.task = "even_pairs", .encoding = "alibi"}), 1.5 * width(kKind));
  EXPECT_GT(width({.task = "even_pairs", .encoding = "rope", .system = "wide"}), 1.5 * width(kKind));
}

TEST(TimeRangeTest, ManyPacksAndWorkersTakeWhatFewOfThemDo) {
  std::vector<RunningPack> running;
  for (int i = 0; i < 1000; ++i) running.push_back(Trains(50));

  const TimeRange range = RangeOf(EndedAlike(100), running, Open(50.0 * 1000 * kMembers));

  EXPECT_NEAR(range.usual, 5 + 50 * 10, 50);
  EXPECT_LT(range.low, range.usual);
}

TEST(TimeRangeTest, NeighboursOfAKindArePacksTogether) {
  const std::vector<OpenJobs> one_by_one(30, {.kind = kKind, .steps = kSteps, .jobs = 1});

  EXPECT_EQ(RangeOf(EndedAlike(30), {Trains(50)}, one_by_one).usual, RangeOf(EndedAlike(30), {Trains(50)}, Open(30)).usual);
}

TEST(TimeRangeTest, AnotherWorkerTakesWhatWaits) {
  // Alone: half a pack and three more. With another: it does two of the three.
  const TimeRange range = RangeOf(EndedAlike(30), {Trains(50)}, Open(30));

  EXPECT_EQ(range.fastest, "w");
  EXPECT_NEAR(range.usual_with_another, 20, 2);
  EXPECT_EQ(RangeOf(EndedAlike(30), {Trains(50)}, Open(0)).fastest, "") << "nothing waits";
}

TEST(TimeRangeTest, TheFastestWorkerIsTheOneThatDoesMostAtATime) {
  std::vector<EndedPack> ended = EndedAlike(30, "wide");
  for (const EndedPack& pack : EndedAlike(30, "quick")) {
    ended.push_back(pack);
    ended.back().seconds = 5;
  }
  const std::vector<RunningPack> one_each = {Trains(0, "quick"), Trains(0, "wide")};
  const std::vector<RunningPack> three = {Trains(0, "quick"), Trains(0, "wide"), Trains(0, "wide"), Trains(0, "wide")};

  EXPECT_EQ(RangeOf(ended, one_each, Open(100)).fastest, "quick");
  EXPECT_EQ(RangeOf(ended, three, Open(100)).fastest, "wide") << "three packs of ten seconds are more than one of five";
  EXPECT_EQ(RangeOf(ended, {Trains(0, "new"), Trains(0, "wide")}, Open(100)).fastest, "wide") << "of the other nothing is known";
}

// A sweep as it may be: tasks, encodings, systems and workers differ by factors that nobody knows, each pack has a rest of its own, and a part of its time is
// tests. Packs are taken in order by whoever is free. What is known at a moment, and how long it took from then on.
struct Moment {
  std::vector<EndedPack> ended;
  std::vector<RunningPack> running;
  std::vector<OpenJobs> open;
  double seconds_left = 0;
  bool all_measured = true;  // What is open is of tasks, encodings and systems of which some have ended.
};

class RandomSweep {
 public:
  explicit RandomSweep(uint64_t seed) : random_(seed) {}

  // Nothing: it is over too soon to ask.
  std::optional<Moment> Make() {
    const std::vector<double> tasks = Factors({1, 2, 3, 4, 5, 6, 7, 8}, {0.05, 0.2, 0.5});
    const std::vector<double> encodings = Factors({1, 2, 3, 4, 5, 6, 7, 8}, {0.02, 0.1, 0.3});
    const std::vector<double> systems = Factors({1, 1, 1, 2, 3}, {0.1, 0.5});
    const std::vector<double> workers = Factors({1, 2, 3, 4, 5, 6}, {0, 0.1, 0.7});
    const auto packs_a_kind = static_cast<int>(Among({1, 2, 3, 4}));
    const double of_kinds = Among({0, 0.05, 0.15});
    const double rest = Among({0.02, 0.05, 0.15});
    const double trained = 0.6 + 0.37 * Uniform();

    struct Pack {
      PackKind kind;
      double begin = 0;
      double end = 0;
      size_t worker = 0;
    };
    std::vector<Pack> packs;
    std::priority_queue<std::pair<double, size_t>, std::vector<std::pair<double, size_t>>, std::greater<>> free;
    for (size_t i = 0; i < workers.size(); ++i) free.emplace(0, i);
    for (size_t system = 0; system < systems.size(); ++system) {
      for (size_t task = 0; task < tasks.size(); ++task) {
        for (size_t encoding = 0; encoding < encodings.size(); ++encoding) {
          const double of_kind = of_kinds * Normal();
          for (int i = 0; i < packs_a_kind; ++i) {
            const auto [begin, worker] = free.top();
            free.pop();
            const double seconds = 90 * std::exp(tasks[task] + encodings[encoding] + systems[system] + workers[worker] + of_kind + rest * Normal());
            free.emplace(begin + seconds, worker);
            packs.push_back({.kind = {.task = Name('t', task), .encoding = Name('e', encoding), .system = systems.size() == 1 ? "" : Name('s', system)},
                             .begin = begin, .end = begin + seconds, .worker = worker});
          }
        }
      }
    }
    if (packs.size() < 12) return std::nullopt;

    std::vector<double> ends;
    for (const Pack& pack : packs) ends.push_back(pack.end);
    std::ranges::sort(ends);
    const double now = ends[4] + Uniform() * (ends[ends.size() - 2] - ends[4]);
    Moment moment{.ended = {}, .running = {}, .open = {}, .seconds_left = ends.back() - now};
    for (const Pack& pack : packs) {
      const std::string worker = Name('w', pack.worker);
      if (pack.end <= now) {
        moment.ended.push_back({.kind = pack.kind, .worker = worker, .job_steps = kMembers * kSteps, .seconds = pack.end - pack.begin});
      } else if (pack.begin > now) {
        moment.open.push_back({.kind = pack.kind, .steps = kSteps, .jobs = kMembers});
      } else {
        const double part = (now - pack.begin) / (pack.end - pack.begin) / trained;
        moment.running.push_back({.kind = pack.kind, .worker = worker, .members = kMembers, .phase = part < 1 ? AttemptPhase::kTraining : AttemptPhase::kEvaluating,
                                  .step = static_cast<int>(std::min(part, 1.0) * kSteps), .steps = kSteps,
                                  .steps_per_second = kSteps / (trained * (pack.end - pack.begin))});
      }
    }
    const PackPaces paces(moment.ended);
    for (const OpenJobs& jobs : moment.open) moment.all_measured &= paces.Knows(jobs.kind, moment.ended.front().worker);
    return moment;
  }

 private:
  // The standard's distributions are each library's own; these are the same everywhere.
  double Uniform() { return (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53; }
  double Normal() {
    const double size = std::sqrt(-2 * std::log(Uniform()));
    return size * std::cos(2 * std::numbers::pi * Uniform());
  }
  double Among(const std::vector<double>& values) { return values[static_cast<size_t>(Uniform() * static_cast<double>(values.size()))]; }
  // One of these counts of them, as logarithms.
  std::vector<double> Factors(const std::vector<double>& counts, const std::vector<double>& spreads) {
    std::vector<double> factors(static_cast<size_t>(Among(counts)));
    const double spread = Among(spreads);
    for (double& factor : factors) factor = spread * Normal();
    return factors;
  }
  static std::string Name(char what, size_t number) { return what + std::to_string(number); }

  std::mt19937_64 random_;
};

TEST(TimeRangeTest, HoldsInAboutNineOfTenSweeps) {
  constexpr int kSweeps = 200;
  int made = 0, held = 0;
  std::vector<double> widths, widths_measured;
  for (uint64_t seed = 1; made < kSweeps; ++seed) {
    SCOPED_TRACE(seed);
    const std::optional<Moment> moment = RandomSweep(seed).Make();
    if (!moment) continue;
    ++made;
    const TimeRange range = RangeOf(moment->ended, moment->running, moment->open);
    ASSERT_GT(range.low, 0);
    ASSERT_LE(range.low, range.usual);
    ASSERT_LE(range.usual, range.high);
    if (range.low <= moment->seconds_left && moment->seconds_left <= range.high) ++held;
    widths.push_back(range.high / range.low);
    if (moment->all_measured) widths_measured.push_back(widths.back());
  }

  const auto middle = [](std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
  };
  EXPECT_GE(held, 170) << "of " << kSweeps;
  EXPECT_LE(held, 198) << "of " << kSweeps << ": it could be narrower";
  ASSERT_GT(widths_measured.size(), 20U);
  EXPECT_LT(middle(widths), 4) << "it says something";
  EXPECT_LT(middle(widths_measured), 1.6) << "and more where all has been measured";
}

}  // namespace
}  // namespace longreach::core
