// What the gain of randomized over plain encodings is made of, and its error, computed by hand: what counts as one draw.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "tests/scheduler/service/results_table_support.h"

namespace longreach::service {
namespace {

v1::TableSpec GainSpec(const std::string& rows, const std::string& columns) {
  v1::TableSpec spec;
  spec.set_rows(rows);
  spec.set_columns(columns);
  spec.set_gain(true);
  return spec;
}

TableJob InSystem(TableJob job, std::string system) {
  job.system = std::move(system);
  return job;
}

TableJob AtTestLength(TableJob job, int length) {
  job.length = length;
  job.again = length > 50;
  return job;
}

TEST(TableGainTest, PairsOfATaskAreOneDraw) {
  ResultsTable table = Make(GainSpec("task", "encoding"));
  table.Add(Done("even_pairs", "rope", 1e-4, 0, 0.25));
  table.Add(Done("even_pairs", "rope:randomized", 1e-4, 0, 0.75));
  table.Add(Done("even_pairs", "alibi", 1e-4, 0, 0.25));
  table.Add(Done("even_pairs", "alibi:randomized", 1e-4, 0, 0.5));
  EXPECT_FALSE(table.Build().has_gain_error()) << "of one draw there is none";

  table.Add(Done("parity_check", "rope", 1e-4, 0, 0.5));
  table.Add(Done("parity_check", "rope:randomized", 1e-4, 0, 0.25));
  table.Add(Done("parity_check", "alibi", 1e-4, 0, 0.5));
  // 50 and 25 of the one task, -25 of the other: a mean of 50 / 3. Two of three pairs are 125 / 6 above it, with 1/3 of the variance left,
  // and one is 125 / 3 below, with 2/3: (125 / 9)^2 * (3 + 3 / 2) = 125^2 / 18.
  const v1::Table uneven = table.Build();
  EXPECT_EQ(uneven.gain_pairs(), 3);
  EXPECT_NEAR(uneven.gain(), 50.0 / 3, 1e-12);
  EXPECT_NEAR(uneven.gain_error(), 125 / std::sqrt(18.0), 1e-12);

  table.Add(Done("parity_check", "alibi:randomized", 1e-4, 0, 0.5));
  // Means of 37.5 and -12.5. Four pairs taken for independent would have an error of 16.1.
  const v1::Table even = table.Build();
  EXPECT_EQ(even.gain_pairs(), 4);
  EXPECT_DOUBLE_EQ(even.gain(), 12.5);
  EXPECT_DOUBLE_EQ(even.gain_error(), 25);
}

TEST(TableGainTest, SystemsBesideATaskAreOfItsDraw) {
  ResultsTable table = Make(GainSpec("encoding", "task,system"));
  table.Add(InSystem(Done("even_pairs", "rope", 1e-4, 0, 0.25), "small"));
  table.Add(InSystem(Done("even_pairs", "rope:randomized", 1e-4, 0, 0.75), "small"));
  table.Add(InSystem(Done("even_pairs", "rope", 1e-4, 0, 0.25), "large"));
  table.Add(InSystem(Done("even_pairs", "rope:randomized", 1e-4, 0, 0.5), "large"));
  EXPECT_FALSE(table.Build().has_gain_error());
  table.Add(InSystem(Done("parity_check", "rope", 1e-4, 0, 0.5), "small"));
  table.Add(InSystem(Done("parity_check", "rope:randomized", 1e-4, 0, 0.25), "small"));
  table.Add(InSystem(Done("parity_check", "rope", 1e-4, 0, 0.5), "large"));
  table.Add(InSystem(Done("parity_check", "rope:randomized", 1e-4, 0, 0.5), "large"));
  EXPECT_DOUBLE_EQ(table.Build().gain_error(), 25);
}

TEST(TableGainTest, LengthsAreOfTheSameJobsAndEncodingsAreTheDraws) {
  ResultsTable table = Make(GainSpec("encoding", "length"));
  for (const int length : {50, 100}) {
    table.Add(AtTestLength(Done("even_pairs", "rope", 1e-4, 0, 0.25), length));
    table.Add(AtTestLength(Done("even_pairs", "rope:randomized", 1e-4, 0, 0.5), length));
    table.Add(AtTestLength(Done("even_pairs", "alibi", 1e-4, 0, length == 50 ? 0.5 : 0.75), length));
    table.Add(AtTestLength(Done("even_pairs", "alibi:randomized", 1e-4, 0, length == 50 ? 0.25 : 0), length));
  }
  // 25 twice, and -25 and -75: means of 25 and -50.
  const v1::Table built = table.Build();
  EXPECT_EQ(built.gain_pairs(), 4);
  EXPECT_DOUBLE_EQ(built.gain(), -12.5);
  EXPECT_DOUBLE_EQ(built.gain_error(), 37.5);
}

TEST(TableGainTest, DrawsThatAreTheSameLeaveNoError) {
  ResultsTable table = Make(GainSpec("task", "encoding"));
  for (const char* task : {"even_pairs", "parity_check", "bucket_sort"}) {
    for (const char* encoding : {"rope", "alibi", "sin_cos"}) {
      table.Add(Done(task, encoding, 1e-4, 0, 0.1));
      table.Add(Done(task, std::string(encoding) + ":randomized", 1e-4, 0, 0.3));
    }
  }
  const v1::Table built = table.Build();
  EXPECT_EQ(built.gain_pairs(), 9);
  EXPECT_EQ(built.gain_error(), 0);
}

}  // namespace
}  // namespace longreach::service
