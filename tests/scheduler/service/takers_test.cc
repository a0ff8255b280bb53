// To whom an attempt goes whose worker is gone, and that of each worker and each kind of work is asked once.
#include "scheduler/service/takers.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "tests/store/fixture.h"
#include "tests/support/status.h"

namespace longreach::service {
namespace {

using Asking = std::map<std::string, Room>;

constexpr char kAble[] =
    R"({"experiments": ["algorithmic"], "tasks": [{"name": "even_pairs", "revision": 1}], )"
    R"("encodings": [{"name": "rope", "revision": 1}], "model_revision": 1})";
constexpr char kUnable[] = R"({"experiments": ["language"], "model_revision": 1})";

class TakersTest : public ::testing::Test {
 protected:
  void Put(const std::string& id, const std::string& abilities, WorkerState state = WorkerState::kActive) {
    ASSERT_OK(test_.Write([&](sql::Transaction& tx) {
      return store::PutWorker(tx, {.id = id, .name = id, .abilities = abilities, .state = state, .first_seen_at = store::At(1), .seen_at = store::At(1)});
    }));
  }
  static store::Requirement Work() { return {.experiment = "algorithmic", .task = "even_pairs", .encoding = "rope"}; }
  static std::string Next(Takers& takers, const store::Requirement& work = Work(), bool noop = false) {
    const absl::StatusOr<std::optional<std::string>> taker = takers.Next(work, noop);
    EXPECT_OK(taker);
    return taker.ok() && taker->has_value() ? **taker : "nobody";
  }

  store::TestStore test_;
};

TEST_F(TakersTest, TheFirstGoesFirstUntilItHasNoMoreRoom) {
  for (const char* id : {"a", "b", "c"}) Put(id, kAble);
  Takers takers(test_.db(), Asking{{"a", {.packs = 1}}, {"b", {.packs = 2, .noops = 1}}, {"c", {.noops = 1}}});

  EXPECT_EQ(Next(takers), "a");
  EXPECT_EQ(Next(takers), "b");
  EXPECT_EQ(Next(takers), "b");
  EXPECT_EQ(Next(takers), "nobody");
}

TEST_F(TakersTest, RoomForNoopsIsARoomOfItsOwn) {
  Put("a", R"({"experiments": ["noop"], "tasks": [{"name": "even_pairs", "revision": 1}], "encodings": [{"name": "rope", "revision": 1}], "model_revision": 1})");
  store::Requirement work = Work();
  work.experiment = "noop";
  Takers takers(test_.db(), Asking{{"a", {.packs = 7, .noops = 1}}});

  EXPECT_EQ(Next(takers, work, true), "a");
  EXPECT_EQ(Next(takers, work, true), "nobody");
}

TEST_F(TakersTest, RoomThatWorkOfOneKindTookIsGoneForThatOfAnother) {
  Put("a", kAble);
  Put("b", R"({"experiments": ["algorithmic"], "tasks": [{"name": "even_pairs", "revision": 1}, {"name": "bucket_sort", "revision": 1}], )"
           R"("encodings": [{"name": "rope", "revision": 1}], "model_revision": 1})");
  store::Requirement other = Work();
  other.task = "bucket_sort";
  Takers takers(test_.db(), Asking{{"a", {.packs = 1}}, {"b", {.packs = 1}}});

  EXPECT_EQ(Next(takers, other), "b");
  EXPECT_EQ(Next(takers), "a");
  EXPECT_EQ(Next(takers), "nobody");
  EXPECT_EQ(Next(takers, other), "nobody");
}

TEST_F(TakersTest, WhoCannotDoItGetsNoWorkOrIsNotThereTakesNothing) {
  Put("a", kUnable);
  Put("b", kAble, WorkerState::kDraining);
  Put("c", "no JSON");
  Takers takers(test_.db(), Asking{{"a", {.packs = 1}}, {"b", {.packs = 1}}, {"c", {.packs = 1}}, {"d", {.packs = 1}}});

  EXPECT_EQ(Next(takers), "nobody");
}

TEST_F(TakersTest, EachWorkerIsReadOnce) {
  Put("a", kAble);
  Put("b", kUnable);
  Takers takers(test_.db(), Asking{{"a", {.packs = 2}}, {"b", {.packs = 2}}});
  EXPECT_EQ(Next(takers), "a");

  // Which cannot happen within an event: whoever asked again would notice.
  Put("a", kUnable);
  EXPECT_EQ(Next(takers), "a");
  EXPECT_EQ(Next(takers), "nobody");
  Put("b", kAble);
  EXPECT_EQ(Next(takers), "nobody");

  Takers next_event(test_.db(), Asking{{"a", {.packs = 1}}, {"b", {.packs = 1}}});
  EXPECT_EQ(Next(next_event), "b");
}

}  // namespace
}  // namespace longreach::service
