// Tables whose rows or columns are lengths, and those of some jobs alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/service/results_table_support.h"

namespace longreach::service {
namespace {

using store::State;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A job at one of its test lengths, as a table with lengths is given it: `again` from the second length on.
TableJob At(int length, bool again, std::string encoding, uint32_t seed, State state, std::optional<double> value) {
  TableJob job{"enwik8", std::move(encoding), 1e-4, seed, state, false, value, "1.0"};
  job.length = length;
  job.again = again;
  return job;
}

v1::TableSpec Table1() {
  v1::TableSpec spec;
  spec.set_rows("encoding");
  spec.set_columns("length");
  spec.set_metric("cross_entropy");
  spec.set_aggregate("min");
  spec.set_published("table_1");
  return spec;
}

TEST(ResultsTableTest, LengthsAreColumnsAndEachHasItsPublishedValue) {
  ResultsTable table = Make(Table1());
  ASSERT_TRUE(table.ByLength());
  for (const int length : {256, 1024}) {
    const bool again = length == 1024;
    table.Add(At(length, again, "rope", 0, State::kSucceeded, length + 3.0));
    table.Add(At(length, again, "rope", 1, State::kSucceeded, length + 1.0));
    table.Add(At(length, again, "alibi:randomized", 0, State::kQueued, std::nullopt));
    table.Add(At(length, again, "alibi:randomized", 1, State::kFailed, std::nullopt));
  }

  const v1::Table built = table.Build();

  EXPECT_THAT(Keys(built.columns()), ElementsAre("256", "1024"));
  EXPECT_EQ(built.columns(0).label(), "length 256");
  EXPECT_DOUBLE_EQ(CellAt(built, "rope", "256").measured(), 257);
  EXPECT_DOUBLE_EQ(CellAt(built, "rope", "1024").measured(), 1025);
  EXPECT_DOUBLE_EQ(CellAt(built, "rope", "256").published(), 218.8);
  EXPECT_DOUBLE_EQ(CellAt(built, "rope", "1024").published(), 4259.9);
  EXPECT_DOUBLE_EQ(CellAt(built, "alibi:randomized", "1024").published(), 1603.4);
  // Lower at 256 says nothing about the encoding.
  EXPECT_FALSE(CellAt(built, "rope", "256").best());
  // A job has a value at each length, and is one job.
  EXPECT_THAT(built.notes(), ElementsAre("1 job is not finished (1 queued): the table will change",
                                         "1 job failed and counts in no cell"));
}

TEST(ResultsTableTest, AColumnMayComeFromTheJobsThatMakeAnInput) {
  v1::TableSpec spec;
  spec.set_rows("length");
  spec.set_columns("encoding");
  spec.set_metric("cross_entropy");
  spec.set_aggregate("min");
  spec.set_published("table_2");
  v1::ExtraColumn& extra = *spec.add_extra_columns();
  extra.set_key("pretrained");
  extra.set_input("weights");
  ResultsTable table = Make(spec);
  for (const int length : {256, 1024}) {
    table.Add(At(length, length == 1024, "alibi", 0, State::kSucceeded, 2.0 * length));
    table.Add(At(length, length == 1024, "rope", 0, State::kSucceeded, 1.0 * length));
    table.AddExtra(0, At(length, length == 1024, "rope", 0, State::kSucceeded, 3.0 * length));
    table.AddExtra(0, At(length, length == 1024, "rope", 1, State::kLeased, std::nullopt));
  }

  const v1::Table built = table.Build();

  EXPECT_THAT(Keys(built.columns()), ElementsAre("alibi", "rope", "pretrained"));
  EXPECT_DOUBLE_EQ(CellAt(built, "1024", "pretrained").measured(), 3072);
  EXPECT_DOUBLE_EQ(CellAt(built, "1024", "pretrained").published(), 4259.9);
  EXPECT_DOUBLE_EQ(CellAt(built, "256", "alibi").published(), 217.4);
  EXPECT_TRUE(CellAt(built, "256", "rope").best());
  EXPECT_THAT(built.notes(), ElementsAre("pretrained: 1 job behind the input 'weights' not finished yet"));
}

TEST(ResultsTableTest, ByLengthAJobWithoutAValueIsNotedOnce) {
  v1::TableSpec spec;
  spec.set_columns("length");
  ResultsTable table = Make(spec);
  for (const int length : {50, 100}) {
    for (const uint32_t seed : {0u, 1u}) {
      TableJob job = Done("even_pairs", "rope", 1e-4, seed, 0.8);
      if (seed == 1) job.value.reset();
      job.length = length;
      job.again = length != 50;
      table.Add(job);
    }
  }

  EXPECT_THAT(table.Build().notes(), ElementsAre("1 job succeeded without a value of accuracy at some length"));
}

TEST(ResultsTableTest, ByLengthASystemLacksNothingAtLengthsOfOtherSystems) {
  // Seeds 0 and 1 of two systems; `lacking` has no value at 100, where the other job of its system has one.
  const auto notes = [](const std::string& rows, const std::string& lacking) {
    v1::TableSpec spec;
    spec.set_rows(rows);
    spec.set_columns("length");
    ResultsTable table = Make(spec);
    for (const std::string& system : std::vector<std::string>{"long", "short"}) {
      for (const uint32_t seed : {0u, 1u}) {
        for (const int length : {50, 100, 200}) {
          TableJob job = Done("even_pairs", "rope", 1e-4, seed, 0.8);
          job.system = system;
          job.length = length;
          job.again = length != 50;
          if (length == (system == "long" ? 50 : 200) || (length == 100 && seed == 1 && system == lacking)) job.value.reset();
          table.Add(job);
        }
      }
    }
    const v1::Table built = table.Build();
    return std::vector<std::string>(built.notes().begin(), built.notes().end());
  };
  const std::string one_lacks = "1 job succeeded without a value of accuracy at some length";
  EXPECT_THAT(notes("system", "none"), ElementsAre());
  EXPECT_THAT(notes("system", "short"), ElementsAre(one_lacks));
  // Both systems in one row. Which cells are of several is another note's.
  EXPECT_THAT(notes("encoding", "none"), Not(Contains(HasSubstr("succeeded without"))));
  EXPECT_THAT(notes("encoding", "long"), Contains(one_lacks));
}

TEST(ResultsTableTest, ByLengthASystemLacksWhatItWasToBeTestedAt) {
  // No job of "short" has a value at 100 and 200; it was to be tested at 50 and 100.
  const auto notes = [](const std::string& rows, const std::string& columns) {
    v1::TableSpec spec;
    spec.set_rows(rows);
    spec.set_columns(columns);
    ResultsTable table = Make(spec);
    table.SetTestLengths({{"long", {50, 100, 200}}, {"short", {50, 100}}});
    for (const std::string& system : std::vector<std::string>{"long", "short"}) {
      for (const uint32_t seed : {0u, 1u}) {
        for (const int length : {50, 100, 200}) {
          TableJob job = Done("even_pairs", "rope", 1e-4, seed, 0.8);
          job.system = system;
          job.length = length;
          job.again = length != 50;
          if (system == "short" && length > 50) job.value.reset();
          table.Add(job);
        }
      }
    }
    const v1::Table built = table.Build();
    return std::vector<std::string>(built.notes().begin(), built.notes().end());
  };
  const std::string lacking = "2 jobs succeeded without a value of accuracy at some length";
  EXPECT_THAT(notes("system", "length"), ElementsAre(lacking));
  EXPECT_THAT(notes("system,length", "task"), ElementsAre(lacking));
}

TEST(ResultsTableTest, ByLengthASystemWithoutAnyValueIsNoted) {
  v1::TableSpec spec;
  spec.set_rows("system");
  spec.set_columns("length");
  ResultsTable table = Make(spec);
  for (const std::string& system : std::vector<std::string>{"asked", "not-asked"}) {
    for (const int length : {50, 100}) {
      TableJob job = Done("even_pairs", "rope", 1e-4, 0, 0.8);
      job.system = system;
      job.length = length;
      job.again = length != 50;
      if (system == "not-asked") job.value.reset();
      table.Add(job);
    }
  }

  EXPECT_THAT(table.Build().notes(), ElementsAre("1 job succeeded without a value of accuracy at some length"));
}

TEST(ResultsTableTest, MeansOverTheTestsOfSystemsWithOtherTestsAreNoted) {
  const auto notes = [](const v1::TableSpec& spec, const std::vector<std::string>& systems) {
    ResultsTable table = Make(spec);
    table.SetTestLengths({{"long", {11, 12, 30, 31, 32, 60}}, {"longer", {11, 12, 30, 31, 32, 60}}, {"short", {11, 12, 13}}});
    for (const std::string& system : systems) {
      TableJob job = Done("even_pairs", "rope", 1e-4, 0, 0.8);
      job.system = system;
      table.Add(job);
    }
    const v1::Table built = table.Build();
    return std::vector<std::string>(built.notes().begin(), built.notes().end());
  };
  v1::TableSpec spec;
  spec.set_rows("system");
  spec.set_columns("task");
  EXPECT_THAT(notes(spec, {"long", "longer", "short"}),
              ElementsAre("values over all lengths are of different tests, as systems were tested at different lengths (short at 11..13; long, longer at 11..12,30..32,60); "
                          "--only length=11..12 compares them"));
  EXPECT_THAT(notes(spec, {"long", "longer"}), ElementsAre()) << "none of the others is in the table";
  v1::TableSpec other = spec;
  other.set_metric("position_loss");
  EXPECT_THAT(notes(other, {"long", "short"}), ElementsAre()) << "bins of positions are no tests";
  other.set_metric("exact_match");
  EXPECT_THAT(notes(other, {"long", "short"}), Contains(HasSubstr("values over all lengths are of different tests")));
  other = spec;
  other.set_length(11);
  EXPECT_THAT(notes(other, {"long", "short"}), ElementsAre());
  // Where they are in one cell as well.
  spec.set_rows("encoding");
  EXPECT_THAT(notes(spec, {"long", "short"}), Contains(HasSubstr("values over all lengths are of different tests")));
}

TEST(ResultsTableTest, MeansOverAsManyOtherLengthsAreNoted) {
  v1::TableSpec spec;
  spec.add_only("length=11..60");
  ResultsTable table = Make(spec);
  for (const uint32_t seed : {0u, 1u}) {
    TableJob job = Done("even_pairs", "rope", 1e-4, seed, 0.8);
    job.lengths = seed == 0 ? std::vector<int>{11, 12} : std::vector<int>{11, 60};
    table.Add(job);
  }

  EXPECT_THAT(table.Build().notes(), Contains("only length 11 to 60: of each job the mean over them"));
  EXPECT_THAT(table.Build().notes(), Contains("some jobs have values at other ones of these lengths than others: their means are of other tests"));
}

TEST(ResultsTableTest, OnlyLeavesOutTheJobsOfOtherValues) {
  v1::TableSpec spec;
  spec.set_aggregate("mean");
  spec.add_only("learning_rate=1e-3,0.0001");  // However they are written.
  spec.add_only("task=even_pairs");
  ResultsTable table = Make(spec);
  table.Add(Done("even_pairs", "rope", 1e-3, 0, 0.8));
  table.Add(Done("even_pairs", "rope", 1e-4, 0, 0.6));
  table.Add(Done("even_pairs", "rope", 3e-4, 0, 0.1));
  table.Add(Done("parity_check", "rope", 1e-4, 0, 0.1));
  EXPECT_TRUE(table.CheckOnly().ok());

  const v1::Table built = table.Build();

  EXPECT_THAT(Keys(built.rows()), ElementsAre("even_pairs"));
  EXPECT_DOUBLE_EQ(built.cells(0).measured(), 70);
  EXPECT_EQ(built.cells(0).jobs(), 2);
  EXPECT_THAT(built.notes(), ElementsAre("only jobs with learning_rate 0.0001 or 0.001", "only jobs with task even_pairs"));
}

TEST(ResultsTableTest, OnlyHoldsForExtraColumnsToo) {
  v1::TableSpec spec;
  spec.add_only("seed=1");
  spec.add_only("system=a");  // Other sweeps' jobs are of none of this sweep's systems.
  v1::ExtraColumn& extra = *spec.add_extra_columns();
  extra.set_key("other");
  extra.set_sweep("other");
  ResultsTable table = Make(spec);
  TableJob member = Done("even_pairs", "rope", 1e-4, 1, 0.5);
  member.system = "a";
  table.Add(member);
  table.AddExtra(0, Done("even_pairs", "rope", 1e-4, 0, 0.9));
  table.AddExtra(0, Done("even_pairs", "rope", 1e-4, 1, 0.7));

  EXPECT_DOUBLE_EQ(CellAt(table.Build(), "even_pairs", "other").measured(), 70);
}

TEST(ResultsTableTest, OnlyRefusesWhatItCannotMean) {
  const auto why = [](const std::vector<std::string>& only) {
    v1::TableSpec spec;
    for (const std::string& one : only) spec.add_only(one);
    absl::StatusOr<ResultsTable> table = ResultsTable::Of(spec, "accuracy");
    if (!table.ok()) return std::string(table.status().message());
    table->Add(Done("even_pairs", "rope", 1e-4, 0, 0.8));
    return std::string(table->CheckOnly().message());
  };
  EXPECT_EQ(why({"task=even_pairs"}), "");
  EXPECT_THAT(why({"task"}), HasSubstr("'task' is not AXIS=VALUE; write task=even_pairs"));
  EXPECT_THAT(why({"seed="}), HasSubstr("'seed=' is not AXIS=VALUE"));
  EXPECT_THAT(why({"tsk=even_pairs"}), HasSubstr("unknown axis 'tsk'\n  did you mean 'task'?"));
  EXPECT_THAT(why({"seed=0", "seed=1"}), HasSubstr("'seed' is there twice; write all its values into one: seed=VALUE,VALUE"));
  EXPECT_THAT(why({"task=even_pair"}), HasSubstr("unknown task 'even_pair'\n  did you mean 'even_pairs'?"));
  EXPECT_THAT(why({"seed=0,7"}), HasSubstr("unknown seed '7'"));
  EXPECT_EQ(why({"system=small"}), "table.only: unknown system 'small'\n  no job is of a system");
}

TEST(ResultsTableTest, OnlyTakesRangesOfNumbersWithBothEnds) {
  v1::TableSpec spec;
  spec.set_aggregate("mean");
  spec.add_only("learning_rate=1e-4..5e-4");
  spec.add_only("seed=1,3..4");
  ResultsTable table = Make(spec);
  for (const uint32_t seed : {0u, 1u, 2u, 3u, 4u, 5u}) table.Add(Done("even_pairs", "rope", 1e-4, seed, 0.1 * seed));
  table.Add(Done("even_pairs", "rope", 5e-4, 1, 0.6));
  table.Add(Done("even_pairs", "rope", 6e-4, 1, 1));
  EXPECT_TRUE(table.CheckOnly().ok()) << table.CheckOnly();

  const v1::Table built = table.Build();

  EXPECT_EQ(built.cells(0).jobs(), 4);
  EXPECT_DOUBLE_EQ(built.cells(0).measured(), 35);
  EXPECT_THAT(built.notes(), ElementsAre("only jobs with learning_rate 0.0001 to 0.0005", "only jobs with seed 1 or 3 to 4"));
}

TEST(ResultsTableTest, OnlyRefusesRangesOfNothing) {
  const auto why = [](const std::string& only) {
    v1::TableSpec spec;
    spec.add_only(only);
    absl::StatusOr<ResultsTable> table = ResultsTable::Of(spec, "accuracy");
    if (!table.ok()) return std::string(table.status().message());
    table->Add(Done("even_pairs", "rope", 1e-4, 0, 0.8));
    return std::string(table->CheckOnly().message());
  };
  EXPECT_EQ(why("seed=0..4"), "");
  EXPECT_EQ(why("seed=7..9"), "table.only: unknown seed '7..9'\n  known are 0");
  EXPECT_EQ(why("seed=4..0"), "table.only: '4..0' ends before it begins; write seed=0..4");
  EXPECT_THAT(why("seed=4.."), HasSubstr("table.only: '4..' is no range of numbers"));
  EXPECT_EQ(why("task=a..b"), "table.only: unknown task 'a..b'\n  ranges are of numbers, as seed=0..4; known are even_pairs");
  EXPECT_THAT(why("length=0"), HasSubstr("table.only: '0' is no test length"));
}

TEST(ResultsTableTest, LengthsThatAreAskedForStandNotBesideALength) {
  const auto why = [](v1::TableSpec spec) {
    spec.add_only("length=10..20");
    return std::string(ResultsTable::Of(spec, "accuracy").status().message());
  };
  v1::TableSpec spec;
  EXPECT_EQ(why(spec), "");
  spec.set_length(15);
  EXPECT_EQ(why(spec), "table.length: 15, and table.only names lengths; leave one of them out");
  spec.clear_length();
  spec.set_metric("training_loss");
  EXPECT_THAT(why(spec), HasSubstr("losses of training have no test length"));
}

}  // namespace
}  // namespace longreach::service
