// Columns of a table that come from the jobs of another sweep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scheduler/service/results_table.h"
#include "tests/scheduler/service/results_table_support.h"

namespace longreach::service {
namespace {

using store::State;
using ::testing::ElementsAre;

// With one job of its own, and none of the column yet.
ResultsTable WithColumnOfAnotherSweep() {
  v1::TableSpec spec;
  v1::ExtraColumn& extra = *spec.add_extra_columns();
  extra.set_key("best");
  extra.set_label("Best of [1]");
  extra.set_sweep("ruoss-2023");
  ResultsTable table = Make(spec);
  table.Add(Done("even_pairs", "rope", 1e-4, 0, 0.5));
  return table;
}

TEST(ExtraColumnTest, TakesAllJobsOfARowFromTheOtherSweep) {
  v1::TableSpec spec;
  v1::ExtraColumn& extra = *spec.add_extra_columns();
  extra.set_key("rope");  // As a column of the sweep itself: the two stay apart.
  extra.set_label("Best of [1]");
  extra.set_sweep("ruoss-2023");
  ResultsTable table = Make(spec);
  table.Add(Done("even_pairs", "rope", 1e-4, 0, 0.5));
  table.AddExtra(0, Done("even_pairs", "alibi", 1e-4, 0, 0.7));
  table.AddExtra(0, Done("even_pairs", "sin_cos:randomized", 1e-4, 0, 0.9));
  table.AddExtra(0, Done("parity_check", "alibi", 1e-4, 0, 0.7));  // No row of this table.

  const v1::Table built = table.Build();

  ASSERT_EQ(built.rows_size(), 1);
  ASSERT_EQ(built.columns_size(), 2);
  EXPECT_DOUBLE_EQ(built.cells(0).measured(), 50);
  EXPECT_DOUBLE_EQ(built.cells(1).measured(), 90);
  EXPECT_EQ(built.cells(1).jobs(), 2);
  EXPECT_FALSE(built.cells(0).best());
  EXPECT_TRUE(built.cells(1).best());
}

TEST(ExtraColumnTest, JobsToComeAreOnlyCountedWhereAllAreWanted) {
  struct Case {
    std::string only;
    bool cancelled = false;
    std::string note;
  };
  // Columns are encodings, and the other sweep is one of its own.
  for (const Case& c : std::vector<Case>{{"task=even_pairs", false, "Other: 1 job of the sweep 'other' still to come, which may be asked for"},
                                         {"encoding=rope", false, "Other: 1 job of the sweep 'other' not finished yet"},
                                         {"task=even_pairs", true, "Other: 1 job of the sweep 'other' cancelled before it was there, which may be asked for"},
                                         {"encoding=rope", true, "Other: 1 job of the sweep 'other' cancelled and in no cell"}}) {
    v1::TableSpec spec;
    spec.add_only(c.only);
    v1::ExtraColumn& extra = *spec.add_extra_columns();
    extra.set_key("other");
    extra.set_label("Other");
    extra.set_sweep("other");
    ResultsTable table = Make(spec);
    table.Add(Done("even_pairs", "rope", 1e-4, 0, 0.5));
    table.AddExtraToCome(0, 1, c.cancelled);
    std::vector<std::string> of_other;
    const v1::Table built = table.Build();
    for (const std::string& note : built.notes()) {
      if (note.starts_with("Other: ")) of_other.push_back(note);
    }
    EXPECT_THAT(of_other, ElementsAre(c.note)) << c.only;
  }
}

TEST(ExtraColumnTest, CancelledJobsAreNoted) {
  ResultsTable table = WithColumnOfAnotherSweep();
  TableJob cancelled = Done("even_pairs", "alibi", 1e-4, 0, 0);
  cancelled.state = State::kCancelled;
  cancelled.value.reset();
  table.AddExtra(0, cancelled);

  EXPECT_THAT(table.Build().notes(), ElementsAre("Best of [1]: 1 job of the sweep 'ruoss-2023' cancelled and in no cell"));
}

TEST(ExtraColumnTest, JobsThatAreInNoCellAreNotThoseOfTheSweep) {
  ResultsTable table = WithColumnOfAnotherSweep();
  TableJob job = Done("even_pairs", "alibi", 1e-4, 0, 0.5);
  job.value.reset();
  table.AddExtra(0, job);
  job.diverged = true;
  table.AddExtra(0, job);
  table.AddExtra(0, job);
  job.state = State::kFailed;
  table.AddExtra(0, job);

  EXPECT_THAT(table.Build().notes(), ElementsAre("Best of [1]: 1 job of the sweep 'ruoss-2023' failed and in no cell",
                                                 "Best of [1]: 2 jobs of the sweep 'ruoss-2023' diverged and in no cell (the loss was not finite)",
                                                 "Best of [1]: 1 job of the sweep 'ruoss-2023' without a value of accuracy over all lengths"));
}

}  // namespace
}  // namespace longreach::service
