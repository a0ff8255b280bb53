// Tables whose rows or columns are what slices of measurements name, and the published tables of systems beside them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "proto/base/text.h"
#include "scheduler/service/published_cells.h"
#include "scheduler/service/query_table.h"
#include "tests/scheduler/service/query_fixture.h"

namespace longreach::service {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Two systems over the corpus pg19, a seed each.
v1::SweepSpec Systems(const std::string& data = "pg19") {
  v1::SweepSpec spec;
  spec.set_name("systems");
  spec.set_experiment("llama");
  spec.set_data(data);
  spec.mutable_axes()->add_task("bytes");
  spec.mutable_axes()->add_learning_rate(1e-4);
  spec.mutable_axes()->add_seed(0);
  for (const int length : {2048, 4096}) spec.mutable_evaluation()->add_lengths(length);
  for (const auto& [name, encoding] : {std::pair("rope-dynamic", "rope"), std::pair("nope", "none")}) {
    v1::System& system = *spec.add_systems();
    system.set_name(name);
    system.mutable_with()->mutable_axes()->add_encoding(encoding);
  }
  return spec;
}

class SliceTableTest : public QueryFixture {
 protected:
  // In order of names: nope, rope-dynamic.
  Made Succeeded(const v1::SweepSpec& spec, const std::vector<std::vector<store::Measurement>>& measurements) {
    AddWorker("w1", "box");
    Made made = AddSweep(spec);
    for (size_t i = 0; i < measurements.size(); ++i) {
      const auto job = std::span(made.jobs).subspan(i, 1);
      const int64_t attempt = Lease("w1", job);
      Write([&](sql::Transaction& tx) {
        store::JobResult result;
        result.measurements = measurements[i];
        return store::CompleteJob(tx, job[0], attempt, result);
      });
      End(attempt, Outcome::kSucceeded);
    }
    return made;
  }
  v1::Table Table(const v1::TableSpec& spec) {
    store::Snapshot snapshot = Read();
    v1::GetTableRequest request;
    request.set_sweep("systems");
    *request.mutable_table() = spec;
    absl::StatusOr<v1::Table> table = GetTable(snapshot.db(), request);
    EXPECT_TRUE(table.ok()) << table.status();
    return table.ok() ? *std::move(table) : v1::Table();
  }
  std::string Refused(const v1::TableSpec& spec) {
    store::Snapshot snapshot = Read();
    v1::GetTableRequest request;
    request.set_sweep("systems");
    *request.mutable_table() = spec;
    return std::string(GetTable(snapshot.db(), request).status().message());
  }
};

v1::TableSpec ByMetric(const std::string& rows, const std::string& columns, const std::string& metric) {
  v1::TableSpec spec;
  spec.set_rows(rows);
  spec.set_columns(columns);
  spec.set_metric(metric);
  spec.set_aggregate("mean");
  return spec;
}

std::vector<std::string> Keys(const google::protobuf::RepeatedPtrField<v1::TableAxisEntry>& entries) {
  std::vector<std::string> keys;
  for (const v1::TableAxisEntry& entry : entries) keys.push_back(entry.key());
  return keys;
}

// Row by row; "-" where there is none.
std::vector<std::string> Values(const v1::Table& table) {
  std::vector<std::string> values;
  for (const v1::TableCell& cell : table.cells()) values.push_back(cell.has_measured() ? std::to_string(cell.measured()).substr(0, 4) : "-");
  return values;
}

// Two layers of two heads, of one job; the other has no scales.
const std::vector<std::vector<store::Measurement>> kHeads = {{{"head_scale", 0, "layer=0,head=0", 1.0},
                                                             {"head_scale", 0, "layer=0,head=1", 1.5},
                                                             {"head_scale", 0, "layer=1,head=0", 2.0},
                                                             {"head_scale", 0, "layer=1,head=10", 3.0}},
                                                            {{"perplexity", 0, "", 9.0}}};

TEST_F(SliceTableTest, CoordinatesOfASliceAreRowsAndColumns) {
  Succeeded(Systems(), kHeads);

  const v1::Table table = Table(ByMetric("layer", "head", "head_scale"));

  EXPECT_THAT(Keys(table.rows()), ElementsAre("0", "1"));
  EXPECT_THAT(Keys(table.columns()), ElementsAre("0", "1", "10"));
  EXPECT_EQ(table.columns(2).label(), "head 10");
  EXPECT_THAT(Values(table), ElementsAre("1.00", "1.50", "-", "2.00", "-", "3.00"));
  // A job is one job, however many slices it has.
  EXPECT_EQ(table.cells(0).jobs(), 2);
  // Of the other system; that layer 0 has no head 10 is nothing that a job lacks.
  EXPECT_THAT(table.notes(), ElementsAre("1 job succeeded without a value of head_scale at some head and layer"));
}

TEST_F(SliceTableTest, WhatIsNeitherRowNorColumnIsAggregatedOver) {
  Succeeded(Systems(), kHeads);

  const v1::Table table = Table(ByMetric("system", "layer", "head_scale"));

  EXPECT_THAT(Keys(table.rows()), ElementsAre("nope", "rope-dynamic"));
  EXPECT_THAT(Values(table), ElementsAre("1.25", "2.50", "-", "-"));
  EXPECT_EQ(table.cells(0).jobs(), 1);
  EXPECT_EQ(table.cells(0).succeeded(), 1);
}

TEST_F(SliceTableTest, WhereAMetricIsIsSaidOfTheSystemThatHasIt) {
  Succeeded(Systems(), {{{"perplexity", 0, "", 9.0}, {"perplexity", 2048, "", 9.0}}, {{"perplexity", 0, "", 8.0}, {"scale_growth", 0, "", 0.3}}});

  const v1::Table table = Table(ByMetric("system", "length", "scale_growth"));

  EXPECT_THAT(Values(table), ::testing::Each("-"));
  EXPECT_THAT(table.notes(), Contains("there are values of scale_growth over all lengths"));
  EXPECT_THAT(Table(ByMetric("system", "length", "loss")).notes(), Contains("there are values of perplexity")) << "of the first, where none has it";
}

TEST_F(SliceTableTest, OnlySomeOfASliceAreTaken) {
  Succeeded(Systems(), kHeads);
  v1::TableSpec spec = ByMetric("layer", "head", "head_scale");
  spec.add_only("head=0");
  spec.add_only("system=nope");

  const v1::Table table = Table(spec);

  EXPECT_THAT(Keys(table.columns()), ElementsAre("0"));
  EXPECT_THAT(Values(table), ElementsAre("1.00", "2.00"));
  EXPECT_THAT(table.notes(), ElementsAre("only head 0", "only jobs with system nope"));
  ASSERT_EQ(table.typed_notes_size(), 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(table.typed_notes(i).kind(), v1::TableNote::KIND_ONLY);
    EXPECT_EQ(table.typed_notes(i).text(), table.notes(i));
  }
  EXPECT_EQ(table.typed_notes(0).axis(), "head");
  EXPECT_EQ(table.typed_notes(1).axis(), "system");
  *spec.mutable_only(0) = "head=7";
  EXPECT_THAT(Refused(spec), ::testing::AllOf(HasSubstr("table.only: unknown head '7'"), HasSubstr("known are 0, 1, 10"), ::testing::Not(HasSubstr("did you mean"))));
}

TEST_F(SliceTableTest, ACellCountsAJobOnceHoweverManySlicesAreAskedFor) {
  Succeeded(Systems(), kHeads);
  v1::TableSpec spec = ByMetric("system", "task", "head_scale");
  spec.add_only("layer=0,1");
  spec.add_only("head=0,1");

  const v1::Table table = Table(spec);

  EXPECT_THAT(Values(table), ElementsAre("1.50", "-"));
  EXPECT_EQ(table.cells(0).jobs(), 1);
  EXPECT_EQ(table.cells(0).succeeded(), 1);
  EXPECT_THAT(table.notes(), Contains("1 job succeeded without a value of head_scale at some head and layer"));
}

TEST_F(SliceTableTest, DepthsByLengthAndTheWholeWhereItIsAskedFor) {
  Succeeded(Systems(), {{{"passkey_accuracy", 256, "depth=0", 1.0},
                         {"passkey_accuracy", 256, "depth=0.5", 0.5},
                         {"passkey_accuracy", 256, "", 0.75},
                         {"passkey_accuracy", 512, "depth=0", 0.25},
                         {"passkey_accuracy", 512, "", 0.25},
                         {"passkey_accuracy", 0, "depth=0", 0.6}},
                        {{"perplexity", 0, "", 9.0}}});
  v1::TableSpec spec = ByMetric("depth", "length", "passkey_accuracy");

  const v1::Table depths = Table(spec);
  EXPECT_THAT(Keys(depths.rows()), ElementsAre("0", "0.5"));
  EXPECT_THAT(Keys(depths.columns()), ElementsAre("256", "512"));
  EXPECT_THAT(Values(depths), ElementsAre("100.", "25.0", "50.0", "-"));

  spec.add_row_order(std::string("all"));
  const v1::Table with_all = Table(spec);
  EXPECT_THAT(Keys(with_all.rows()), ElementsAre("all", "0", "0.5"));
  EXPECT_THAT(Values(with_all), ElementsAre("75.0", "25.0", "100.", "25.0", "50.0", "-"));

  // At one length depths are columns beside systems.
  v1::TableSpec at = ByMetric("system", "depth", "passkey_accuracy");
  at.set_length(512);
  EXPECT_THAT(Values(Table(at)), ElementsAre("25.0", "-"));
}

TEST_F(SliceTableTest, CountsTheJobsWhereNothingIsMeasuredYet) {
  AddWorker("w1", "box");
  AddSweep(Systems());

  const v1::Table table = Table(ByMetric("depth", "head", "head_scale"));

  EXPECT_THAT(table.cells(), IsEmpty());
  EXPECT_THAT(table.notes(), ElementsAre("2 jobs are not finished (2 queued): the table will change",
                                         "no job has a value of head_scale by depth and head over all lengths"));
  ASSERT_EQ(table.typed_notes_size(), 1);
  EXPECT_EQ(table.typed_notes(0).kind(), v1::TableNote::KIND_NO_VALUE);
  EXPECT_EQ(table.typed_notes(0).text(), table.notes(1));
}

TEST_F(SliceTableTest, SaysWhatThereIsWhereNothingWasMeasuredSo) {
  Succeeded(Systems(), kHeads);

  EXPECT_THAT(Table(ByMetric("depth", "head", "head_scale")).notes(),
              ElementsAre("no job has a value of head_scale by depth and head over all lengths; there are values by head and layer"));
}

TEST_F(SliceTableTest, WhatHasNoSlicesIsSaidToHaveNone) {
  // Passkeys whose depths are drawn.
  const std::vector<store::Measurement> lengths = {{"passkey_accuracy", 512, "", 0.25}, {"passkey_accuracy", 0, "", 0.25}};
  Succeeded(Systems(), {lengths, lengths});

  const v1::Table table = Table(ByMetric("depth", "length", "passkey_accuracy"));

  EXPECT_THAT(table.cells(), IsEmpty());
  EXPECT_THAT(table.notes(), Contains("no job has a value of passkey_accuracy by depth at a length; there are values without slices"));
  EXPECT_THAT(Values(Table(ByMetric("system", "length", "passkey_accuracy"))), ElementsAre("25.0", "25.0"));
}

// Two depths at each of three lengths, and what is over all of them; of the other system nothing at the longest.
const std::vector<std::vector<store::Measurement>> kPasskeys = {{{"passkey_accuracy", 0, "", 0.1},
                                                                {"passkey_accuracy", 512, "", 1.0},
                                                                {"passkey_accuracy", 512, "depth=0", 1.0},
                                                                {"passkey_accuracy", 512, "depth=1", 1.0},
                                                                {"passkey_accuracy", 1024, "", 0.5},
                                                                {"passkey_accuracy", 1024, "depth=0", 0.25},
                                                                {"passkey_accuracy", 1024, "depth=1", 0.75},
                                                                {"passkey_accuracy", 2048, "", 0.0}},
                                                               {{"passkey_accuracy", 0, "", 0.1},
                                                                {"passkey_accuracy", 512, "", 0.5},
                                                                {"passkey_accuracy", 1024, "", 0.25}}};

TEST_F(SliceTableTest, WhereSlicesAreOfOtherLengthsTheseAreNamed) {
  Succeeded(Systems(), kPasskeys);
  v1::TableSpec spec = ByMetric("depth", "system", "passkey_accuracy");

  EXPECT_THAT(Table(spec).notes(),
              Contains("no job has a value of passkey_accuracy by depth over all lengths; there are values at lengths 512, 1024: choose one with --length N"));
  spec.set_length(2048);
  EXPECT_THAT(Table(spec).notes(),
              Contains("no job has a value of passkey_accuracy by depth at length 2048; there are values at lengths 512, 1024: choose one with --length N"));
  spec.set_length(1024);
  EXPECT_THAT(Table(spec).notes(), Not(Contains(HasSubstr("no job has a value"))));
}

TEST_F(SliceTableTest, SlicesThatAreOverAllLengthsHaveNoneToChoose) {
  Succeeded(Systems(), kHeads);

  EXPECT_THAT(Table(ByMetric("head", "length", "head_scale")).notes(), Contains("no job has a value of head_scale by head at a length; there are values over all lengths"));
}

TEST_F(SliceTableTest, OfLengthsThatAreAskedForAJobHasTheMean) {
  Succeeded(Systems(), kPasskeys);
  v1::TableSpec spec = ByMetric("system", "task", "passkey_accuracy");
  spec.add_only("length=0..1024");  // Never what is over all lengths, which stands at 0.

  const v1::Table table = Table(spec);

  EXPECT_THAT(Values(table), ElementsAre("75.0", "37.5"));
  EXPECT_EQ(table.cells(0).jobs(), 1);
  EXPECT_EQ(table.cells(0).succeeded(), 1);
  EXPECT_EQ(table.cells(0).measured_jobs(), 1);
  EXPECT_FALSE(table.cells(0).has_deviation()) << "of one job there is none";
  EXPECT_THAT(table.notes(), ElementsAre("only length 1 to 1024: of each job the mean over the 2 of them that it has values at"));
  for (const char* aggregate : {"min", "max"}) {
    spec.set_aggregate(aggregate);
    EXPECT_THAT(Values(Table(spec)), ElementsAre("75.0", "37.5")) << aggregate << " is over jobs, not over lengths";
  }
  // Both jobs in a cell: the better one's mean, as the score over all lengths is one.
  spec = ByMetric("task", "seed", "passkey_accuracy");
  spec.set_aggregate("max");
  spec.add_only("length=512..2048");
  const v1::Table together = Table(spec);
  EXPECT_THAT(Values(together), ElementsAre("50.0"));
  EXPECT_EQ(together.cells(0).jobs(), 2);
  EXPECT_THAT(together.notes(), Contains("some jobs have values at fewer of these lengths than others, 2 to 3: their means are of other tests"));
}

TEST_F(SliceTableTest, AJobWithoutAValueAtTheLengthsThatAreAskedForIsNoted) {
  Succeeded(Systems(), kPasskeys);
  v1::TableSpec spec = ByMetric("system", "task", "passkey_accuracy");
  spec.add_only("length=2000..4000");

  const v1::Table table = Table(spec);

  EXPECT_THAT(Values(table), ElementsAre("0.00", "-"));
  EXPECT_THAT(table.notes(), ElementsAre("only length 2000 to 4000: of each job the mean over the one of them that it has values at", "1 job succeeded without a value of passkey_accuracy at length 2000 to 4000"));
}

TEST_F(SliceTableTest, LengthsThatAreAxesAreThoseThatAreAskedFor) {
  Succeeded(Systems(), kPasskeys);
  v1::TableSpec spec = ByMetric("system", "length", "passkey_accuracy");
  spec.add_only("length=512,2000..4000");

  const v1::Table table = Table(spec);

  EXPECT_THAT(Keys(table.columns()), ElementsAre("512", "2048"));
  EXPECT_THAT(Values(table), ElementsAre("100.", "0.00", "50.0", "-"));
}

TEST_F(SliceTableTest, SlicesAreTakenAtTheLengthsThatAreAskedFor) {
  Succeeded(Systems(), kPasskeys);
  v1::TableSpec spec = ByMetric("system", "depth", "passkey_accuracy");
  spec.add_only("length=512..1024");

  const v1::Table table = Table(spec);

  EXPECT_THAT(Keys(table.columns()), ElementsAre("0", "1"));
  EXPECT_THAT(Values(table), ElementsAre("62.5", "87.5", "-", "-"));
  spec.set_aggregate("max");
  EXPECT_THAT(Values(Table(spec)), ElementsAre("62.5", "87.5", "-", "-")) << "over jobs, not over lengths";
  spec.add_only("depth=0.5..1");
  EXPECT_THAT(Keys(Table(spec).columns()), ElementsAre("1"));
}

TEST_F(SliceTableTest, ALengthThatNothingWasMeasuredAtIsRefused) {
  Succeeded(Systems(), {kPasskeys[0]});
  for (const char* columns : {"task", "length", "depth"}) {
    v1::TableSpec spec = ByMetric("system", columns, "passkey_accuracy");
    spec.add_only("length=512,9999");
    EXPECT_THAT(Refused(spec), HasSubstr("table.only: unknown length '9999'\n  known are ")) << columns;
    spec.set_only(0, "length=3000..9999");
    EXPECT_THAT(Refused(spec), HasSubstr("table.only: unknown length '3000..9999'\n  known are 512, 1024")) << columns;
  }
  // Of what has not been measured yet nobody knows where it will be.
  v1::TableSpec later = ByMetric("system", "task", "scale_growth");
  later.add_only("length=9999");
  EXPECT_EQ(Refused(later), "");
}

v1::TableSpec NopeTable1() {
  v1::TableSpec spec = ByMetric("system", "length", "perplexity");
  spec.set_published("nope_table_1");
  return spec;
}

// By row and column.
std::map<std::string, std::string> Published(const v1::Table& table) {
  std::map<std::string, std::string> texts;
  for (int i = 0; i < table.cells_size(); ++i) {
    if (!table.cells(i).has_published()) continue;
    texts[table.rows(i / table.columns_size()).key() + "@" + table.columns(i % table.columns_size()).key()] = ShortestNumber(table.cells(i).published());
  }
  return texts;
}

TEST_F(SliceTableTest, PublishedValuesOfASystemStandBesideTheSameCorpusAlone) {
  Succeeded(Systems("proof-pile"), {{{"perplexity", 2048, "", 3.6}}, {{"perplexity", 2048, "", 3.4}}});

  const v1::Table table = Table(NopeTable1());

  EXPECT_THAT(table.notes(), Contains("2 jobs succeeded without a value of perplexity at some length")) << "4096, which they were to be tested at";
  EXPECT_EQ(Published(table), (std::map<std::string, std::string>{
                                  {"nope@2048", "3.5"}, {"nope@4096", "117.4"}, {"rope-dynamic@2048", "3.5"}, {"rope-dynamic@4096", "3.5"}}));
  EXPECT_THAT(table.notes(), Contains(::testing::AllOf(HasSubstr("1 published value is no plain number"),
                                                     ::testing::EndsWith("garbled): rope-dynamic / length 4096 (3.5?)"))));
}

TEST_F(SliceTableTest, PublishedSystemsThatAreNoRowAreNamed) {
  Succeeded(Systems(), {{{"perplexity", 2048, "", 14.6}}, {{"perplexity", 2048, "", 14.5}}});

  // Twenty of the published 22, at the two lengths of this table and on its corpus.
  EXPECT_THAT(Table(NopeTable1()).notes(), Contains("40 published values stand beside no row: linear-fair-16k, linear-fair-4k, linear-fair-8k, linear-raw-16k, linear-raw-4k"
                                                    " and 15 more"));
  // Which systems there are has been asked for.
  v1::TableSpec one = NopeTable1();
  one.add_only("system=nope");
  EXPECT_THAT(Table(one).notes(), Not(Contains(HasSubstr("beside no row"))));
}

TEST_F(SliceTableTest, AnotherCorpusHasNothingPublishedBesideIt) {
  Succeeded(Systems("debian-text"), {{{"perplexity", 2048, "", 3.6}}, {{"perplexity", 2048, "", 3.4}}});

  const v1::Table table = Table(NopeTable1());

  EXPECT_THAT(Published(table), IsEmpty());
  EXPECT_THAT(table.notes(), Contains("no value of the published table 'nope_table_1' belongs to a cell of this one"));
}

TEST_F(SliceTableTest, PublishedValuesStandNotBesideOtherAxesOrSomeSlices) {
  v1::SweepSpec sweep = Systems();
  Succeeded(sweep, {{{"perplexity", 2048, "", 14.0}}, {{"perplexity", 2048, "", 15.0}}});
  EXPECT_EQ(Published(Table(NopeTable1())).at("nope@2048"), "14.6");

  v1::TableSpec by_seed = NopeTable1();
  by_seed.set_columns("seed");
  by_seed.set_length(2048);
  EXPECT_THAT(Published(Table(by_seed)), IsEmpty());
  v1::TableSpec some = NopeTable1();
  some.set_slice("layer=0");
  EXPECT_THAT(Published(Table(some)), IsEmpty());
}

TEST_F(SliceTableTest, APublishedTableIsThereBeforeAnythingIsMeasured) {
  AddSweep(Systems());
  v1::TableSpec spec = ByMetric("system", "longbench_task", "longbench");
  EXPECT_THAT(Table(spec).columns(), IsEmpty()) << "of tasks that nobody has named";
  spec.set_published("nope_table_2");
  EXPECT_EQ(Table(spec).columns_size(), 16) << "all tasks together are a column where they are asked for";
  for (const char* task : {"all", "narrativeqa"}) spec.add_column_order(task);

  const v1::Table table = Table(spec);

  EXPECT_THAT(Keys(table.rows()), ElementsAre("nope", "rope-dynamic"));
  ASSERT_EQ(table.columns_size(), 17);
  EXPECT_EQ(table.columns(0).key(), "all");
  EXPECT_EQ(table.columns(1).key(), "narrativeqa");
  EXPECT_EQ(Values(table), std::vector<std::string>(34, "-"));
  EXPECT_EQ(table.cells(0).jobs(), 1);
  const std::map<std::string, std::string> published = Published(table);
  EXPECT_EQ(published.size(), 17u) << "of one of the systems";
  EXPECT_EQ(published.at("nope@all"), "18.3");
  EXPECT_THAT(table.notes(), Contains("no job has a value of longbench by longbench_task over all lengths"));

  spec.add_only("longbench_task=qasper,trec");
  EXPECT_THAT(Keys(Table(spec).columns()), ElementsAre("qasper", "trec"));
  spec.set_only(0, "longbench_task=of_my_own");
  EXPECT_THAT(Table(spec).columns(), IsEmpty()) << "which a job may have all the same";
}

TEST_F(SliceTableTest, ColumnsAreOfWhatIsMeasuredAsSoonAsThereIsAny) {
  Succeeded(Systems(), {{{"longbench", 0, "longbench_task=qasper", 0.5}, {"longbench", 0, "longbench_task=mine", 0.25}}});
  v1::TableSpec spec = ByMetric("system", "longbench_task", "longbench");
  spec.set_published("nope_table_2");
  EXPECT_THAT(Keys(Table(spec).columns()), ElementsAre("mine", "qasper"));
}

TEST(PublishedCellsTest, TheWholeOfASliceIsOneOfItsKeys) {
  v1::TableSpec spec = ByMetric("system", "longbench_task", "longbench");
  spec.set_published("nope_table_2");
  const absl::StatusOr<PublishedCells> tasks = PublishedCells::Of(spec);
  ASSERT_TRUE(tasks.ok()) << tasks.status();
  EXPECT_EQ(tasks->Find("nope", "all", "")->text, "18.3");
  EXPECT_EQ(tasks->Find("nope", "repobench-p", "any corpus")->text, "46.6");
  EXPECT_EQ(tasks->Find("nope", "repobench", ""), nullptr);

  // Beside the mean over tasks the published mean.
  spec.set_columns("task");
  EXPECT_EQ(PublishedCells::Of(spec)->Find("rope", "tokens", "")->text, "16.5");
}

// Tests while a job was trained, of which each step is a place of its own.
TEST_F(SliceTableTest, ScoresByStepAreInTheOrderOfSteps) {
  std::vector<store::Measurement> measured = {{"loss", 0, "", 1}};
  for (const auto& [step, loss] : {std::pair(500, 3.0), std::pair(1000, 2.0), std::pair(10'000, 1.0)}) {
    measured.push_back({"loss", 0, fmt::format("step={}", step), loss});
    measured.push_back({"loss", 2048, fmt::format("step={}", step), loss + 0.5});
  }
  Succeeded(Systems(), {measured, measured});
  v1::TableSpec spec;
  spec.set_metric("loss");
  spec.set_rows("step");
  spec.set_columns("system");
  spec.set_aggregate("mean");
  spec.set_step_bins(2);  // Of losses of training alone.

  const v1::Table over_all = Table(spec);
  spec.set_length(2048);
  const v1::Table at_one = Table(spec);

  EXPECT_THAT(Keys(over_all.rows()), ElementsAre("500", "1000", "10000"));
  ASSERT_EQ(over_all.cells_size(), 6);
  EXPECT_EQ(over_all.cells(0).measured(), 3);
  std::vector<double> at_length;
  for (const v1::TableCell& cell : at_one.cells()) at_length.push_back(cell.measured());
  EXPECT_THAT(at_length, ElementsAre(3.5, 3.5, 2.5, 2.5, 1.5, 1.5));

  spec.clear_length();
  spec.clear_step_bins();
  spec.set_rows("length");
  spec.set_slice("step=500");
  const v1::Table by_length = Table(spec);
  EXPECT_THAT(Keys(by_length.rows()), ElementsAre("2048"));
  EXPECT_THAT(by_length.notes(), IsEmpty());
}

}  // namespace
}  // namespace longreach::service
