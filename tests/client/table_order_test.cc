// Keys that a sweep file's table lists in order: which are refused, with what was meant, and what a grid makes of them.
#include "client/spec/table_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/errors.h"
#include "client/spec/spec_reader.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTwoSystems = "systems: [{name: layers-1, with: {model: {layers: 1}}}, {name: layers-2, with: {model: {layers: 2}}}]\n";

// Of a sweep of one task and one encoding, with these lines below it. Empty: it is read.
std::string TableRefusal(const std::string& lines) {
  const absl::StatusOr<SweepFile> file = ReadSweepFile("axes: {task: even_pairs, encoding: rope, learning_rate: 1e-3, seed: 0..2}\n" + lines, "sweep.yaml");
  return file.ok() ? "" : FormatError(file.status());
}

TEST(TableOrderTest, AKeyThatIsNoneIsRefusedWithItsPlaceAndWhatWasMeant) {
  EXPECT_EQ(TableRefusal("table:\n  row_order: [even_pairs, odd_first]\n"),
            "error: sweep.yaml:3:27: table.row_order: unknown task 'odd_first'\n  did you mean 'odds_first'? 'longreach list tasks' shows all of them\n");
  EXPECT_THAT(TableRefusal("table: {column_order: [rope_randomized]}\n"), HasSubstr("sweep.yaml:2:24: table.column_order: unknown encoding 'rope_randomized'\n  did you mean 'rope:randomized'?"));
  EXPECT_THAT(TableRefusal("table: {row_order: even_pairs, column_order: rope}\n"), "");
  EXPECT_THAT(TableRefusal("table: {row_order: [rope]}\n"), HasSubstr("table.row_order: unknown task 'rope'\n  it belongs into 'column_order': columns are encoding"));
  EXPECT_THAT(TableRefusal(std::string(kTwoSystems) + "table: {row_order: [layers-2, layer-1]}\n"),
              HasSubstr("sweep.yaml:3:31: table.row_order: unknown system 'layer-1'\n  did you mean 'layers-1'? there are: layers-1, layers-2"));
  EXPECT_THAT(TableRefusal(std::string(kTwoSystems) + "table: {rows: 'task,system', row_order: [layers-2, even_pair]}\n"),
              HasSubstr("table.row_order: 'even_pair' is a value of none of task, system\n  did you mean 'even_pairs'?"));
}

// The list of a preset serves a copy of it from which tasks were taken, and one that --set narrows.
TEST(TableOrderTest, ATaskThatTheSweepLacksMayBeListed) {
  EXPECT_EQ(TableRefusal("table: {row_order: [bucket_sort, even_pairs], column_order: [alibi, rope]}\n"), "");
}

TEST(TableOrderTest, ANumberIsListedAsTablesHaveIt) {
  EXPECT_THAT(TableRefusal("table: {rows: learning_rate, row_order: [1e-3]}\n"), HasSubstr("table.row_order: '1e-3' is not as tables have that number\n  did you mean '0.001'?"));
  EXPECT_EQ(TableRefusal("table: {rows: learning_rate, row_order: [0.001, 3e-05]}\n"), "");
  EXPECT_THAT(TableRefusal("table: {rows: seed, row_order: [1, 0..2]}\n"), HasSubstr("table.row_order: '0..2' is no number, as values of seed are"));
  EXPECT_EQ(TableRefusal("table: {rows: seed, row_order: [2, 10]}\n"), "");
  EXPECT_THAT(TableRefusal("table: {columns: model.causal, column_order: [yes]}\n"), HasSubstr("table.column_order: 'yes' is no value of model.causal"));
  EXPECT_EQ(TableRefusal("table: {columns: model.causal, column_order: [true, false]}\n"), "");
}

TEST(TableOrderTest, WhatIsNotKnownOfAFileAloneMayBeListed) {
  EXPECT_EQ(TableRefusal("table: {columns: layer, column_order: [all, 2]}\n"), "") << "layers are those that were measured";
  EXPECT_EQ(TableRefusal("table: {rows: data, row_order: [mine]}\n"), "");
  EXPECT_EQ(TableRefusal("table: {rows: system, row_order: [layers-2, layers-1]}\n"), "") << "--set may make systems of a sweep without any";
  EXPECT_EQ(TableRefusal("table: {column_order: [rope, pretrained], extra_columns: [{key: pretrained, sweep: other}]}\n"), "");
}

TEST(TableOrderTest, SystemsOfAGridAreListedByTheirNamesOrByWhatTheyAreMadeOf) {
  const std::string grid = std::string(kTwoSystems) + "training: {batch_size: [8, 32]}\ntable: {rows: system, row_order: ";
  EXPECT_EQ(TableRefusal(grid + "[layers-2_batch_size-32, layers-1]}\n"), "");
  EXPECT_THAT(TableRefusal(grid + "[layers-2_batch_size-16]}\n"), HasSubstr("unknown system 'layers-2_batch_size-16'\n  did you mean 'layers-2_batch_size-"));
}

TEST(TableOrderTest, AListedSystemStandsForAllThatAGridMakesOfIt) {
  const TempFolder folder;
  const std::string file = folder.Write("grid.yaml", "axes: {task: even_pairs, encoding: rope, learning_rate: 1e-3, seed: 0}\n" + std::string(kTwoSystems) +
                                                         "table: {rows: system, row_order: [layers-2, layers-1]}\n");
  const auto sweeps = LoadSweeps({.spec = file, .overrides = {"training.batch_size=8,32"}});
  ASSERT_TRUE(sweeps.ok()) << sweeps.status();
  EXPECT_THAT(sweeps->front().file.table.row_order(),
              ::testing::ElementsAre("layers-2_batch_size-8", "layers-2_batch_size-32", "layers-1_batch_size-8", "layers-1_batch_size-32"));

  const auto plain = LoadSweeps({.spec = file, .overrides = {}});
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_THAT(plain->front().file.table.row_order(), ::testing::ElementsAre("layers-2", "layers-1"));
}

}  // namespace
}  // namespace longreach::client
