// What a table's cells are over that the sweep compares.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/service/results_table_support.h"

namespace longreach::service {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

v1::TableSpec By(const std::string& rows, const std::string& columns, const std::string& aggregate) {
  v1::TableSpec spec;
  spec.set_rows(rows);
  spec.set_columns(columns);
  spec.set_aggregate(aggregate);
  return spec;
}

TableJob OfSystem(const std::string& system, const std::string& encoding) {
  TableJob job = Done("even_pairs", encoding, 1e-4, 0, 0.5);
  job.system = system;
  return job;
}

TEST(MixedAxesTest, ANoteSaysWhatIsNeitherRowNorColumn) {
  ResultsTable table = Make(By("task", "learning_rate", "max"));
  table.Add(Done("even_pairs", "rope", 1e-4, 0, 0.5));
  table.Add(Done("parity_check", "alibi", 1e-4, 0, 0.5));
  EXPECT_THAT(table.Build().notes(), IsEmpty()) << "each cell is of one encoding";
  table.Add(Done("even_pairs", "rope:randomized", 1e-4, 0, 0.5));
  table.Add(Done("even_pairs", "none", 1e-4, 0, 0.5));

  ASSERT_EQ(table.Build().typed_notes_size(), 1);
  EXPECT_EQ(table.Build().typed_notes(0).kind(), v1::TableNote::KIND_MIXED);
  EXPECT_THAT(table.Build().notes(),
              ElementsAre("cells are the maximum over 3 encodings (none, rope, rope:randomized); --columns learning_rate,encoding tells them apart"));
}

TEST(MixedAxesTest, CellsThatHaveSomeOfThemEachAreNotSaidToBeOverAll) {
  ResultsTable table = Make(By("task", "learning_rate", "mean"));
  for (const char* encoding : {"rope", "alibi"}) table.Add(Done("even_pairs", encoding, 1e-4, 0, 0.5));
  for (const char* encoding : {"none", "sandwich"}) table.Add(Done("parity_check", encoding, 1e-4, 0, 0.5));

  EXPECT_THAT(table.Build().notes(),
              ElementsAre("cells are the mean over up to 2 of 4 encodings (alibi, none, rope, sandwich); --columns learning_rate,encoding tells them apart"));
}

TEST(MixedAxesTest, LearningRatesAndSeedsAreWhatACellIsUsuallyOver) {
  ResultsTable table = Make({});
  table.Add(Done("even_pairs", "rope", 1e-4, 0, 0.5));
  table.Add(Done("even_pairs", "rope", 3e-4, 1, 0.5));

  EXPECT_THAT(table.Build().notes(), IsEmpty());
}

TEST(MixedAxesTest, SystemsThatAnAxisOfSettingsDoesNotTellApartAreNamed) {
  const SettingValues two = {{"model.layers", "2"}}, four = {{"model.layers", "4"}};
  ResultsTable table = Make(By("model.layers", "task", "mean"));
  const auto add = [&table](const std::string& system, const std::string& encoding, const SettingValues& settings) {
    TableJob job = OfSystem(system, encoding);
    job.settings = &settings;
    table.Add(job);
  };
  add("layers-2", "rope", two);
  add("layers-4", "rope", four);
  EXPECT_THAT(table.Build().notes(), IsEmpty()) << "the setting tells them apart";
  for (const char* system : {"a", "b", "c", "d", "e"}) add(system, "none", four);

  EXPECT_THAT(table.Build().notes(), ElementsAre("cells are the mean over 2 encodings (none, rope) and 6 systems (a, b, c, d, e and 1 more); "
                                                 "--rows model.layers,system --columns task,encoding tells them apart"));
}

// Systems of a grid over two settings, a job of each: one setting is a column, the other is what a cell has the best of.
TEST(MixedAxesTest, ACellIsOfTheSystemsAtItsBestValueAlone) {
  v1::TableSpec spec = By("task", "model.layers", "mean");
  spec.add_best_of("training.batch_size");
  ResultsTable table = Make(spec);
  const auto add = [&table](const std::string& system, const SettingValues& settings, double value) {
    TableJob job = OfSystem(system, "rope");
    job.settings = &settings;
    job.value = value;
    table.Add(job);
  };
  const SettingValues small = {{"model.layers", "2"}, {"training.batch_size", "8"}}, large = {{"model.layers", "2"}, {"training.batch_size", "32"}};
  const SettingValues deep = {{"model.layers", "4"}, {"training.batch_size", "8"}};
  add("2_8", small, 0.5);
  add("2_32", large, 0.6);
  add("4_8", deep, 0.5);
  EXPECT_THAT(table.Build().notes(), Not(Contains(HasSubstr("tells them apart")))) << "each cell is of one system";

  add("2_8_wide", small, 0.1);
  EXPECT_THAT(table.Build().notes(), Not(Contains(HasSubstr("tells them apart")))) << "that is not at the best value";
  add("2_32_wide", large, 0.6);
  EXPECT_THAT(table.Build().notes(), Contains("cells are the mean over 2 systems (2_32, 2_32_wide); --rows task,system tells them apart"));
}

TEST(MixedAxesTest, AJobWithoutAValueIsNotThrownTogetherWithAnother) {
  ResultsTable table = Make(By("task", "seed", "max"));
  table.Add(Done("even_pairs", "rope", 1e-4, 0, 0.5));
  TableJob diverged = Done("even_pairs", "alibi", 1e-4, 0, 0);
  diverged.value.reset();
  diverged.diverged = true;
  table.Add(diverged);

  EXPECT_THAT(table.Build().notes(), ElementsAre("1 job diverged and counts in no cell (the loss was not finite)"));
}

}  // namespace
}  // namespace longreach::service
