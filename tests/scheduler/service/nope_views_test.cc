// The views of the NoPE paper's tables and figures, beside the tables that the service makes of the same store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "proto/base/text.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/service/query_table.h"
#include "store/given_up.h"
#include "tests/scheduler/service/query_fixture.h"

namespace longreach::service {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

void AddSystemTo(v1::SweepSpec& spec, const std::string& name, const std::vector<std::string>& encodings, const std::vector<double>& rates,
                 const std::vector<uint32_t>& seeds) {
  v1::System& system = *spec.add_systems();
  system.set_name(name);
  v1::Axes& axes = *system.mutable_with()->mutable_axes();
  for (const std::string& encoding : encodings) axes.add_encoding(encoding);
  for (const double rate : rates) axes.add_learning_rate(rate);
  for (const uint32_t seed : seeds) axes.add_seed(seed);
}

// Systems of all sizes, with lists and ranges of seeds, and names that have in them what stands between the parts of a line of the sweep's text.
v1::SweepSpec OddSystems(const std::string& name) {
  v1::SweepSpec spec;
  spec.set_name(name);
  spec.set_experiment("llama");
  spec.set_data("pg19");
  v1::Axes& axes = *spec.mutable_axes();
  axes.add_task("bytes");
  axes.add_encoding("none");
  axes.add_learning_rate(1e-4);
  for (const uint32_t seed : {0u, 3u, 5u, 6u, 7u, 9u}) axes.add_seed(seed);
  for (const int length : {2048, 4096}) spec.mutable_evaluation()->add_lengths(length);
  AddSystemTo(spec, "b", {"rope"}, {}, {});
  AddSystemTo(spec, "a.with.b", {}, {2e-4}, {1, 4, 5, 6, 7});
  AddSystemTo(spec, "A_1.axes.seed", {"rope", "none"}, {3e-4, 4e-4, 0.5}, {8});
  AddSystemTo(spec, "a-b", {}, {}, {});
  return spec;
}

// What a job with this number in its sweep measures. Two jobs of a system succeed, and these are binary fractions, so that means are the same to the last bit
// however they are made.
std::vector<store::Measurement> MeasuredBy(size_t i) {
  const double x = static_cast<double>(i);
  std::vector<store::Measurement> all = {{"perplexity", 0, "", x}, {"perplexity", 2048, "", 2 + x / 2}, {"perplexity", 2048, "some=slice", 99}};
  if (i % 4 != 0) all.push_back({"perplexity", 4096, "", 4 + x / 4});
  for (const std::string slice : {"", "longbench_task=lcc", "longbench_task=qasper"}) all.push_back({"longbench", 0, slice, (x + static_cast<double>(slice.size())) / 64});
  const int step = i % 2 == 0 ? 256 : 512;
  for (const int length : {0, step, 2 * step}) {
    for (const std::string slice : {"", "depth=0", "depth=0.5"}) {
      all.push_back({"passkey_accuracy", length, slice, static_cast<double>((i + static_cast<size_t>(length / 256) + slice.size()) % 9) / 8});
    }
  }
  for (const int end : {1024, 2048}) {
    for (const std::string slice : {"", "attention_scale=1", "attention_scale=1.5"}) {
      all.push_back({"position_loss", end, slice, x / 8 + static_cast<double>(end + static_cast<int>(slice.size())) / 1024});
    }
    all.push_back({"attention_entropy", end, "", 3 + x / 2});
    if (i % 2 == 0) all.push_back({"best_attention_scale", end, "", 1 + x / 16});
  }
  all.push_back({"best_attention_scale", 0, "", 77});
  for (const int layer : {0, 1}) {
    for (const int head : {0, 9, 10}) {
      const std::string slice = fmt::format("layer={},head={}", layer, head);
      all.push_back({"attention_entropy", 2048, slice, x + layer + static_cast<double>(head) / 2});
      if (i % 3 != 0) all.push_back({"head_scale", 0, slice, 1 + x / 4 + layer + static_cast<double>(head) / 4});
    }
  }
  return all;
}

// By row and column, what a cell says.
using SaidCells = std::map<std::pair<std::string, std::string>, std::string>;

class NopeViewsTest : public QueryFixture {
 protected:
  NopeViewsTest() { AddWorker("w1", "box"); }

  // Each fifth job stays queued, the next has failed, the next diverged; the others succeed.
  Made AddMeasured(const v1::SweepSpec& spec) {
    Made made = AddSweep(spec);
    for (size_t i = 0; i < made.jobs.size(); ++i) {
      if (i % 5 == 0) continue;
      const auto job = std::span(made.jobs).subspan(i, 1);
      const int64_t attempt = Lease("w1", job);
      if (i % 5 == 1) {
        Fail(attempt, job[0], "it broke");
        End(attempt, Outcome::kFailed);
        continue;
      }
      if (i % 5 == 2) {
        Diverge(attempt, job[0], 7);
      } else {
        Write([&](sql::Transaction& tx) {
          store::JobResult result;
          result.measurements = MeasuredBy(i);
          return store::CompleteJob(tx, job[0], attempt, result);
        });
      }
      End(attempt, Outcome::kSucceeded);
    }
    return made;
  }

  v1::Table TableOf(const std::string& sweep, const std::string& rows, const std::string& columns, const std::string& metric, const std::string& only, int length) {
    v1::GetTableRequest request;
    request.set_sweep(sweep);
    v1::TableSpec& spec = *request.mutable_table();
    spec.set_rows(rows);
    spec.set_columns(columns);
    spec.set_metric(metric);
    spec.set_aggregate("mean");
    spec.set_length(length);
    if (columns == "longbench_task") spec.add_column_order("all");
    if (!only.empty()) spec.add_only(only);
    store::Snapshot snapshot = Read();
    absl::StatusOr<v1::Table> table = GetTable(snapshot.db(), request);
    EXPECT_TRUE(table.ok()) << table.status();
    return table.ok() ? *std::move(table) : v1::Table();
  }

  // All cells of a table, with their jobs.
  SaidCells AllOf(const v1::Table& table) {
    SaidCells said;
    for (int i = 0; i < table.cells_size(); ++i) {
      const v1::TableCell& cell = table.cells(i);
      said[PlaceOf(table, i)] = fmt::format("{}, {} jobs, {} succeeded, {} diverged", cell.has_measured() ? ShortestNumber(cell.measured()) : "-", cell.jobs(),
                                            cell.succeeded(), cell.diverged());
    }
    return said;
  }
  // Those with a value.
  SaidCells MeasuredOf(const v1::Table& table) {
    SaidCells said;
    for (int i = 0; i < table.cells_size(); ++i) {
      const v1::TableCell& cell = table.cells(i);
      if (cell.has_measured()) said[PlaceOf(table, i)] = fmt::format("{} of {}", ShortestNumber(cell.measured()), cell.measured_jobs());
    }
    return said;
  }
  static std::pair<std::string, std::string> PlaceOf(const v1::Table& table, int cell) {
    return {table.rows(cell / table.columns_size()).key(), table.columns(cell % table.columns_size()).key()};
  }

  // Rows of a query: row, column, value, and then jobs, succeeded and diverged, or `measured`.
  SaidCells AllIn(const std::string& query, double factor = 1) { return Said(query, factor, true); }
  SaidCells MeasuredIn(const std::string& query, double factor = 1) { return Said(query, factor, false); }

  std::vector<std::string> Firsts(const std::string& query) {
    store::Snapshot snapshot = Read();
    absl::StatusOr<std::vector<std::string>> all = snapshot.db().All<std::string>(query);
    EXPECT_TRUE(all.ok()) << all.status();
    return all.ok() ? *std::move(all) : std::vector<std::string>();
  }

 private:
  SaidCells Said(const std::string& query, double factor, bool all) {
    store::Snapshot snapshot = Read();
    absl::StatusOr<sql::Rows> rows = snapshot.db().Query(query);
    EXPECT_TRUE(rows.ok()) << rows.status();
    SaidCells said;
    while (rows.ok() && rows->Next()) {
      const std::string value = rows->IsNull(2) ? "-" : ShortestNumber(rows->Get<double>(2) * factor);
      std::string& cell = said[{KeyAt(*rows, 0), KeyAt(*rows, 1)}];
      EXPECT_EQ(cell, "") << "twice in " << query;
      cell = all ? fmt::format("{}, {} jobs, {} succeeded, {} diverged", value, rows->Get<int>(3), rows->Get<int>(4), rows->Get<int>(5))
                 : fmt::format("{} of {}", value, rows->Get<int>(3));
    }
    EXPECT_TRUE(!rows.ok() || rows->status().ok()) << rows->status();
    return said;
  }
  // As a table has it: 0.0 of a view is its 0.
  static std::string KeyAt(const sql::Rows& rows, int column) {
    const std::string text = rows.Get<std::string>(column);
    return text.find('.') != std::string::npos && text.find_first_not_of("0123456789.") == std::string::npos ? ShortestNumber(rows.Get<double>(column)) : text;
  }
};

TEST_F(NopeViewsTest, ASystemsJobsAreThoseThatTablesGiveIt) {
  const v1::SweepSpec spec = OddSystems("odd");
  const Made made = AddSweep(spec);

  std::vector<std::string> expected;
  int64_t first = 0;
  for (const experiments::SystemRange& range : experiments::SystemRanges(spec)) {
    expected.push_back(fmt::format("{} {} {}", range.name, first, range.end));
    first = range.end;
  }
  EXPECT_EQ(first, static_cast<int64_t>(made.jobs.size()));
  EXPECT_THAT(expected, ElementsAre("A_1.axes.seed 0 6", "a-b 6 12", "a.with.b 12 17", "b 17 23"));
  EXPECT_EQ(Firsts("SELECT system || ' ' || first || ' ' || past FROM sweep_systems ORDER BY first"), expected);
  EXPECT_EQ(Firsts("SELECT count(DISTINCT job) FROM system_jobs WHERE experiment = 'llama'"), std::vector<std::string>{"23"});
}

TEST_F(NopeViewsTest, Tables1And2AreThoseOfTheService) {
  const Made made = AddMeasured(OddSystems("odd"));
  // Another one that has its jobs too, at other places; one of them it has given up.
  v1::SweepSpec more = OddSystems("more");
  AddSystemTo(more, "0", {"rope"}, {}, {8});
  const Made other = AddSweep(more);
  ASSERT_EQ(other.jobs[1], made.jobs[0]);
  Write([&](sql::Transaction& tx) { return store::GiveUpJobs(tx, other.num, std::span(made.jobs).first(1)).status(); });

  for (const std::string sweep : {"odd", "more"}) {
    const SaidCells perplexities = AllOf(TableOf(sweep, "system", "length", "perplexity", "", 0));
    EXPECT_EQ(AllIn(fmt::format("SELECT system, length, score, jobs, succeeded, diverged FROM nope_table_1 WHERE sweep = '{}'", sweep)), perplexities);
    EXPECT_EQ(perplexities.size(), sweep == "odd" ? 8U : 10U);
    EXPECT_EQ(AllIn(fmt::format("SELECT system, longbench_task, score, jobs, succeeded, diverged FROM nope_table_2 WHERE sweep = '{}'", sweep), 100),
              AllOf(TableOf(sweep, "system", "longbench_task", "longbench", "", 0)));
  }
  EXPECT_THAT(Firsts("SELECT DISTINCT data FROM nope_table_1"), ElementsAre("pg19"));
  EXPECT_EQ(Firsts("SELECT DISTINCT sweep_id FROM nope_table_1 WHERE sweep = 'odd'"), std::vector<std::string>{made.id.substr(0, 8)});
}

TEST_F(NopeViewsTest, FiguresAreOfWhatIsMeasured) {
  AddMeasured(OddSystems("odd"));

  EXPECT_EQ(MeasuredIn("SELECT length, system, score, measured FROM nope_passkeys WHERE depth IS NULL", 100),
            MeasuredOf(TableOf("odd", "length", "system", "passkey_accuracy", "", 0)));
  for (const auto& [column, metric] : {std::pair("loss", "position_loss"), std::pair("entropy", "attention_entropy")}) {
    EXPECT_EQ(MeasuredIn(fmt::format("SELECT system, position, {}, measured FROM nope_positions WHERE attention_scale IS NULL", column)),
              MeasuredOf(TableOf("odd", "system", "length", metric, "", 0)));
  }
  for (const std::string system : {"A_1.axes.seed", "a.with.b"}) {
    const std::string of = fmt::format("WHERE system = '{}'", system), only = "system=" + system;
    const SaidCells depths = MeasuredOf(TableOf("odd", "length", "depth", "passkey_accuracy", only, 0));
    EXPECT_THAT(depths, Not(IsEmpty()));
    EXPECT_EQ(MeasuredIn(fmt::format("SELECT length, depth, score, measured FROM nope_passkeys {} AND depth IS NOT NULL", of), 100), depths);
    const SaidCells scales = MeasuredOf(TableOf("odd", "length", "attention_scale", "position_loss", only, 0));
    EXPECT_THAT(scales, Not(IsEmpty()));
    EXPECT_EQ(MeasuredIn(fmt::format("SELECT position, attention_scale, loss, measured FROM nope_positions {} AND attention_scale IS NOT NULL", of)), scales);
    const SaidCells entropies = MeasuredOf(TableOf("odd", "layer", "head", "attention_entropy", only, 2048));
    EXPECT_EQ(entropies.size(), 6U);
    EXPECT_EQ(MeasuredIn(fmt::format("SELECT layer, head, entropy, measured FROM nope_heads {} AND position = 2048", of)), entropies);
  }
}

TEST_F(NopeViewsTest, WhatSomeJobsOfASystemDoNotHaveIsTheMeanOverTheOthers) {
  v1::SweepSpec spec = OddSystems("odd");
  spec.mutable_systems()->DeleteSubrange(1, 3);
  AddMeasured(spec);  // Six jobs, of which the fourth and the fifth succeed. Only the fifth has scales of heads and a best scale, only the fourth length 4096.

  const std::string at_1024 = " FROM nope_positions WHERE position = 1024 AND attention_scale IS NULL";
  EXPECT_THAT(Firsts("SELECT best_attention_scale" + at_1024), ElementsAre("1.25"));
  EXPECT_THAT(Firsts("SELECT loss" + at_1024), ElementsAre("1.4375"));
  EXPECT_THAT(Firsts("SELECT measured" + at_1024), ElementsAre("2"));
  EXPECT_THAT(Firsts("SELECT score FROM nope_table_1 WHERE length = 4096"), ElementsAre("4.75"));
  EXPECT_THAT(Firsts("SELECT scale FROM nope_heads WHERE layer = 0 AND head = 9"), ElementsAre("4.25"));
  EXPECT_THAT(Firsts("SELECT entropy FROM nope_heads WHERE layer = 1 AND head = 10"), ElementsAre("9.5"));
}

TEST_F(NopeViewsTest, WithoutAnyMeasurementThereIsALineForEachSystem) {
  AddSweep(OddSystems("odd"));

  EXPECT_THAT(Firsts("SELECT system || ' ' || ifnull(length, '-') || ' ' || ifnull(score, '-') || ' ' || jobs FROM nope_table_1 ORDER BY system"),
              ElementsAre("A_1.axes.seed - - 6", "a-b - - 6", "a.with.b - - 5", "b - - 6"));
  EXPECT_THAT(Firsts("SELECT system || ' ' || ifnull(longbench_task, '-') || ' ' || jobs FROM nope_table_2 ORDER BY system"),
              ElementsAre("A_1.axes.seed - 6", "a-b - 6", "a.with.b - 5", "b - 6"));
  for (const std::string view : {"nope_passkeys", "nope_positions", "nope_heads"}) EXPECT_THAT(Firsts("SELECT system FROM " + view), IsEmpty()) << view;
}

TEST_F(NopeViewsTest, OtherKindsAndSweepsWithoutSystemsAreNotThere) {
  v1::SweepSpec plain = OddSystems("plain");
  plain.clear_systems();
  AddMeasured(plain);
  v1::SweepSpec grid = SmallSweep("grid");
  for (const int layers : {1, 2}) {
    v1::System& system = *grid.add_systems();
    system.set_name(fmt::format("layers-{}", layers));
    system.mutable_with()->mutable_model()->set_layers(static_cast<uint32_t>(layers));
  }
  const Made made = AddSweep(grid);

  EXPECT_THAT(Firsts("SELECT sweep FROM nope_table_1 UNION ALL SELECT sweep FROM nope_table_2 UNION ALL SELECT sweep FROM nope_passkeys "
                     "UNION ALL SELECT sweep FROM nope_positions UNION ALL SELECT sweep FROM nope_heads"),
              IsEmpty());
  EXPECT_THAT(Firsts(fmt::format("SELECT experiment || ' ' || system || ' ' || count(*) FROM system_jobs WHERE sweep = {} GROUP BY system ORDER BY system", made.num)),
              ElementsAre("algorithmic layers-1 16", "algorithmic layers-2 16"));
}

}  // namespace
}  // namespace longreach::service
