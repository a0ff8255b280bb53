// What tables of all pairs of positions take, by hand.
#include "proto/catalog/pair_tables.h"

#include <gtest/gtest.h>

namespace longreach::catalog {
namespace {

constexpr double kGiB = 1 << 30;

TEST(PairTablesTest, ABatchHasAGroupForEachSixteenSequencesAndAtMostSixteen) {
  EXPECT_EQ(GroupsOf(1), 1);
  EXPECT_EQ(GroupsOf(16), 1);
  EXPECT_EQ(GroupsOf(17), 2);
  EXPECT_EQ(GroupsOf(128), 8);
  EXPECT_EQ(GroupsOf(256), 16);
  EXPECT_EQ(GroupsOf(257), 9);
  EXPECT_EQ(GroupsOf(1'000'000), 16);
}

TEST(PairTablesTest, APackHasTablesOfItsLongestTapeAndAGradientForEachGroupOfItsBatches) {
  const PairTables tables{.tables = 40, .trained = 80, .tested = 200, .batch_size = 128};
  EXPECT_EQ(tables.BytesOfPack(1), 4.0 * 40 * (8 * 80 * 80 + 200 * 200));
  EXPECT_EQ(tables.BytesOfPack(9), 9 * tables.BytesOfPack(1));
  const PairTables short_tests{.tables = 40, .trained = 80, .tested = 2, .batch_size = 16};
  EXPECT_EQ(short_tests.BytesOfPack(1), 4.0 * 40 * 2 * 80 * 80);
  const PairTables tests_alone{.tables = 40, .tested = 200};
  EXPECT_EQ(tests_alone.BytesOfPack(2), 2 * 4.0 * 40 * 200 * 200);
  EXPECT_EQ(PairTables{}.BytesOfPack(9), 0) << "another encoding";
}

TEST(PairTablesTest, NoMoreThanAGibibyteOfEachIsThereAtATime) {
  const PairTables tables{.tables = 40, .trained = 80, .tested = 2590, .batch_size = 128};
  EXPECT_EQ(tables.TapeBeyond(), 0);
  EXPECT_EQ(tables.BytesOfPack(9), kGiB + 9 * 4.0 * 40 * 8 * 80 * 80);
  EXPECT_EQ(tables.BytesOfPack(1024), 2 * kGiB);
}

TEST(PairTablesTest, ATapeOfTooManyPairsIsNamedAndTakesNothing) {
  const PairTables tested{.tables = 40, .trained = 80, .tested = 2591, .batch_size = 128};
  EXPECT_EQ(tested.TapeBeyond(), 2591);
  EXPECT_EQ(tested.BytesOfPack(1), 0);
  EXPECT_EQ((PairTables{.tables = 40, .trained = 915, .tested = 915, .batch_size = 128}.TapeBeyond()), 0);
  EXPECT_EQ((PairTables{.tables = 40, .trained = 916, .tested = 3000, .batch_size = 128}.TapeBeyond()), 916);
  EXPECT_EQ((PairTables{.tables = 1000.0 * 65'536, .trained = 0, .tested = 3'000'000'000, .batch_size = 1}.TapeBeyond()), 3'000'000'000) << "int64 has no room for its pairs";
}

}  // namespace
}  // namespace longreach::catalog
