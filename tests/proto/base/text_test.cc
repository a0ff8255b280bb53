#include "proto/base/text.h"

#include <gtest/gtest.h>

namespace longreach {
namespace {

TEST(ClosestWordTest, ATypoComesBeforeWhatAWordMayBeShortFor) {
  EXPECT_EQ(ClosestWord("roep", {"alibi", "rope", "roepstorff"}), "rope");
  EXPECT_EQ(ClosestWord("completely_else", {"alibi", "rope"}), "");
  EXPECT_EQ(ClosestWord("3", {"1", "2"}), "") << "nothing of it is the same";
  EXPECT_EQ(ClosestWord("30", {"10", "32"}), "10");
}

TEST(ClosestWordTest, OfWordsAsNearOneThatGoesOnAsTheWordBeganComesFirst) {
  EXPECT_EQ(ClosestWord("table-b", {"table-1", "table-2", "table-b1"}), "table-b1");
  EXPECT_EQ(ClosestWord("table-b", {"table-b1", "table-1"}), "table-b1");
  EXPECT_EQ(ClosestWord("table-b", {"table-1", "table-2"}), "table-1") << "else the first";
}

TEST(ClosestWordTest, WhatJoinsWordsMakesNoOtherWord) {
  EXPECT_EQ(ClosestWord("tableb1", {"table-1", "table-2", "table-b1"}), "table-b1");
  EXPECT_EQ(ClosestWord("Table_B1", {"table-1", "table-b1"}), "table-b1");
}

TEST(ClosestWordTest, CapitalsMakeNoOtherWord) {
  EXPECT_EQ(ClosestWord("RUNNING", {"queued", "running"}), "running");
  EXPECT_EQ(ClosestWord("table-B1", {"table-1", "Table-b1"}), "Table-b1") << "rather than one that is as near";
  EXPECT_EQ(ClosestWord("LAYERS", {"heads"}), "");
}

TEST(ClosestWordTest, NobodyKnowsWhatNothingWasMeantFor) {
  EXPECT_EQ(ClosestWord("", {"js", "laptop"}), "");
  EXPECT_EQ(ClosestWord("", {"laptop"}), "");
}

TEST(ClosestWordTest, AShortWordIsTakenForTheOnlyOneThatItIsShortFor) {
  const std::vector<std::string> known = {"learning_rate", "parity_check", "training.batch_size", "long_list", "long_listing"};
  EXPECT_EQ(ClosestWord("lr", known), "learning_rate");
  EXPECT_EQ(ClosestWord("bs", known), "training.batch_size");
  EXPECT_EQ(ClosestWord("parity", known), "parity_check");
  EXPECT_EQ(ClosestWord("check", known), "parity_check");
  EXPECT_EQ(ClosestWord("long", known), "") << "of two, neither is meant more than the other";
  EXPECT_EQ(ClosestWord("parity", {"parity_check", "parity_check"}), "parity_check") << "twice the same";
  EXPECT_EQ(ClosestWord("p", known), "");
  EXPECT_EQ(ClosestWord("", known), "");
}

TEST(JoinWordsTest, HasTheLastAsASentence) {
  EXPECT_EQ(JoinWords({}, "and"), "");
  EXPECT_EQ(JoinWords({"a"}, "and"), "a");
  EXPECT_EQ(JoinWords({"a", "b"}, "or"), "a or b");
  EXPECT_EQ(JoinWords({"a", "b", "c"}, "and"), "a, b and c");
}

TEST(JoinSomeTest, NamesTheFirstAndCountsTheOthers) {
  EXPECT_EQ(JoinSome({}), "");
  EXPECT_EQ(JoinSome({"a", "b", "c", "d", "e"}), "a, b, c, d, e");
  EXPECT_EQ(JoinSome({"a", "b", "c", "d", "e", "f", "g"}), "a, b, c, d, e and 2 more");
  EXPECT_EQ(JoinSome({"a", "b", "c", "d"}, 3), "a, b, c and 1 more");
}

}  // namespace
}  // namespace longreach
