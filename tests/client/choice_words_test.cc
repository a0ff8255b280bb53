// What a shell offers behind --only and --between, by what is known of a sweep.
#include "client/commands/choice_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longreach::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<ValuesOfAxis> SomeValues() {
  return {{"task", {"bucket_sort", "even_pairs"}},
          {"encoding", {"alibi", "rope", "rope:randomized"}},
          {"learning_rate", {"0.0003"}},
          {"system", {"one value", "a,b", "plain"}}};
}

TEST(ChoiceWordsTest, OnlyBeginsWithAnAxis) {
  EXPECT_THAT(OnlyWords("", SomeValues(), {"length"}), ElementsAre("task=", "encoding=", "learning_rate=", "system=", "length="));
  EXPECT_THAT(OnlyWords("l", SomeValues(), {"length"}), ElementsAre("learning_rate=", "length="));
  EXPECT_THAT(OnlyWords("x", SomeValues(), {"length"}), IsEmpty());
}

TEST(ChoiceWordsTest, OnlyGoesOnWithTheValuesThatAreNotThereYet) {
  EXPECT_THAT(OnlyWords("task=", SomeValues(), {}), ElementsAre("task=bucket_sort", "task=even_pairs"));
  EXPECT_THAT(OnlyWords("task=ev", SomeValues(), {}), ElementsAre("task=even_pairs"));
  EXPECT_THAT(OnlyWords("encoding=rope,", SomeValues(), {}), ElementsAre("encoding=rope,alibi", "encoding=rope,rope:randomized"));
  EXPECT_THAT(OnlyWords("encoding=rope,al", SomeValues(), {}), ElementsAre("encoding=rope,alibi"));
  EXPECT_THAT(OnlyWords("learning_rate=3e-4,", SomeValues(), {}), IsEmpty()) << "it is there, by another spelling";
  EXPECT_THAT(OnlyWords("length=", SomeValues(), {"length"}), IsEmpty());
}

TEST(ChoiceWordsTest, AValueThatAShellOrAListWouldTakeApartIsNotOffered) {
  EXPECT_THAT(OnlyWords("system=", SomeValues(), {}), ElementsAre("system=plain"));
}

TEST(ChoiceWordsTest, OfManyValuesSomeAreOffered) {
  std::vector<ValuesOfAxis> many = {{"seed", {}}};
  for (int seed = 0; seed < 1000; ++seed) many[0].values.push_back(std::to_string(seed));
  EXPECT_THAT(OnlyWords("seed=", many, {}), SizeIs(100));
  EXPECT_THAT(OnlyWords("seed=99", many, {}), SizeIs(11)) << "of those that begin so, all";
}

TEST(ChoiceWordsTest, BetweenIsOfWhatHasTwoValues) {
  EXPECT_THAT(BetweenWords("", SomeValues()), ElementsAre("task=", "encoding=", "randomized", "system="));
  EXPECT_THAT(BetweenWords("r", {{"encoding", {"rope", "alibi"}}}), IsEmpty()) << "there are no randomized ones";
  EXPECT_THAT(BetweenWords("r", {{"encoding", {"rope:randomized", "alibi:randomized"}}}), IsEmpty()) << "nor plain ones";
}

TEST(ChoiceWordsTest, BetweenTakesOneValueAfterTheOther) {
  EXPECT_THAT(BetweenWords("encoding=ro", SomeValues()), ElementsAre("encoding=rope,", "encoding=rope:randomized,"));
  EXPECT_THAT(BetweenWords("encoding=rope,", SomeValues()), ElementsAre("encoding=rope,alibi", "encoding=rope,rope:randomized"));
  EXPECT_THAT(BetweenWords("encoding=rope,alibi,", SomeValues()), IsEmpty());
  EXPECT_THAT(BetweenWords("task=", SomeValues()), ElementsAre("task=bucket_sort,even_pairs", "task=even_pairs,bucket_sort")) << "there are no others";
  EXPECT_THAT(BetweenWords("learning_rate=", SomeValues()), IsEmpty());
}

TEST(ChoiceWordsTest, SeveralSweepsHaveTheValuesOfAll) {
  std::vector<ValuesOfAxis> known = {{"seed", {"0", "2"}}};
  AddKnownValues({{"seed", {"1", "2", "10"}}, {"model.layers", {"1", "2"}}}, known);
  ASSERT_THAT(known, SizeIs(2));
  EXPECT_THAT(known[0].values, ElementsAre("0", "1", "2", "10"));
  EXPECT_EQ(known[1].axis, "model.layers");
}

}  // namespace
}  // namespace longreach::client
