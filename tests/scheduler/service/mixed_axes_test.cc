// What a table's cells are over that the sweep compares.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/service/results_table_support.h"

namespace longreach::service {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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
