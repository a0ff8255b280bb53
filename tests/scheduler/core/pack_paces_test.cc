#include "scheduler/core/pack_paces.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

namespace longreach::core {
namespace {

EndedPack EndedOf(const std::string& task, const std::string& worker, double seconds_per_step, const std::string& encoding = "rope") {
  return {.kind = {.task = task, .encoding = encoding}, .worker = worker, .job_steps = 100, .seconds = 100 * seconds_per_step};
}

TEST(PackPacesTest, TellsWhatTheTaskDoesFromWhatTheWorkerDoes) {
  const std::vector<EndedPack> ended = {EndedOf("short", "fast", 1), EndedOf("long", "fast", 2), EndedOf("short", "slow", 3)};

  const PackPaces paces(ended);

  EXPECT_NEAR(std::exp(paces.Usual({.task = "short", .encoding = "rope"}, "fast")), 1, 1e-6);
  EXPECT_NEAR(std::exp(paces.Usual({.task = "long", .encoding = "rope"}, "slow")), 6, 1e-6) << "which it has not trained";
}

TEST(PackPacesTest, OfWhatWasNotMeasuredLessIsKnown) {
  const std::vector<EndedPack> ended = {EndedOf("a", "w", 1), EndedOf("a", "w", 1), EndedOf("b", "w", 1), EndedOf("b", "w", 1)};
  const PackPaces paces(ended);

  EXPECT_TRUE(paces.Knows({.task = "a", .encoding = "rope"}, "w"));
  EXPECT_FALSE(paces.Knows({.task = "c", .encoding = "rope"}, "w"));
  EXPECT_FALSE(paces.Knows({.task = "a", .encoding = "alibi"}, "w"));
  EXPECT_FALSE(paces.Knows({.task = "a", .encoding = "rope"}, "v"));
  EXPECT_GT(paces.Of(PackPaces::kOfTask, "c").spread, 3 * paces.Of(PackPaces::kOfTask, "a").spread);
  EXPECT_EQ(paces.Of(PackPaces::kOfTask, "a").freedom, 0);
  EXPECT_GT(paces.Of(PackPaces::kOfTask, "c").freedom, 0) << "its spread is a guess itself";
}

TEST(PackPacesTest, TasksThatAreFarApartMakeAnUnknownOneLessKnown) {
  const auto spread = [](double ratio) {
    std::vector<EndedPack> ended;
    double seconds = 1;
    for (const char* task : {"a", "b", "c", "d"}) ended.push_back(EndedOf(task, "w", seconds *= ratio));
    return PackPaces(ended).Of(PackPaces::kOfTask, "e").spread;
  };

  EXPECT_LT(spread(1), spread(2));
  EXPECT_LT(spread(2), spread(4));
}

TEST(PackPacesTest, WhatAKindHasOfItsOwnIsSurerTheMorePacksOfItHaveEnded) {
  // A task and an encoding that take twice as long together than each does to the other, and hardly any difference between packs of one kind.
  std::vector<EndedPack> ended;
  for (const double off : {0.999, 1.001}) {
    for (const auto& [task, encoding, seconds] : {std::tuple("a", "rope", 1.0), std::tuple("a", "none", 1.0), std::tuple("b", "rope", 1.0), std::tuple("b", "none", 2.0)}) {
      ended.push_back(EndedOf(task, "w", off * seconds, encoding));
    }
  }
  const PackPaces twice(ended);
  for (int i = 0; i < 6; ++i) ended.push_back(EndedOf("b", "w", 2.0, "none"));
  const PackPaces often(ended);
  const PackKind together{.task = "b", .encoding = "none"};

  EXPECT_GT(twice.OfKind(together).mean, 0);
  EXPECT_LT(twice.OfKind(together).spread, twice.OfKind({.task = "c", .encoding = "none"}).spread);
  EXPECT_LT(often.OfKind(together).spread, twice.OfKind(together).spread);
  EXPECT_EQ(twice.OfKind({.task = "c", .encoding = "none"}).mean, 0);
}

TEST(PackPacesTest, OnePackIsEnoughToBegin) {
  const std::vector<EndedPack> ended = {EndedOf("a", "w", 2)};

  const PackPaces paces(ended);

  EXPECT_NEAR(std::exp(paces.Usual({.task = "a", .encoding = "rope"}, "w")), 2, 1e-9);
  EXPECT_GT(paces.rest(), 0);
}

}  // namespace
}  // namespace longreach::core
