// What `compare` says of rows of pairs: marks, p-values and the number of pairs that are needed. How pairs are made is in paired_values_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CompareTest : public WithFakeScheduler {
 protected:
  CompareTest() {
    scheduler_.sweep.set_name("mine");
    scheduler_.sweep.mutable_spec()->set_experiment("algorithmic");
  }
  // Jobs of a task, a seed after the other, with plain positions and with randomized ones, whose accuracy is so much higher.
  void AddPairs(const std::string& task, double first, const std::vector<double>& differences) {
    for (size_t seed = 0; seed < differences.size(); ++seed) {
      Add(task, "rope", static_cast<uint32_t>(seed), first);
      Add(task, "rope:randomized", static_cast<uint32_t>(seed), first + differences[seed]);
    }
  }
  Outcome Compared(const std::vector<std::string>& more = {}) {
    std::vector<std::string> line = {"compare", "last", "--between", "randomized"};
    line.insert(line.end(), more.begin(), more.end());
    Outcome outcome = Run(line);
    EXPECT_EQ(outcome.code, kDone) << outcome.err;
    return outcome;
  }
  void Add(const std::string& task, const std::string& encoding, uint32_t seed, double accuracy) {
    v1::JobMeasurements& of_job = *scheduler_.measurements.add_jobs();
    of_job.mutable_job()->set_id(std::to_string(scheduler_.measurements.jobs_size()));
    of_job.mutable_job()->set_task(task);
    of_job.mutable_job()->set_encoding(encoding);
    of_job.mutable_job()->set_learning_rate(1e-3);
    of_job.mutable_job()->set_seed(seed);
    v1::Measurement& value = *of_job.add_measurements();
    value.set_metric("accuracy");
    value.set_value(accuracy);
  }
};

// Expected numbers are those of scipy 1.17 and statsmodels 0.15.
class RowsOfComparisonTest : public CompareTest {
 protected:
  RowsOfComparisonTest() {
    AddPairs("bucket_sort", 0.3, {0.2, 0.201, 0.199});
    AddPairs("even_pairs", 0.5, {0.01, 0.02, 0.03});
    AddPairs("parity_check", 0.5, {-0.3, 0.35});
  }
};

TEST_F(RowsOfComparisonTest, TheTableMarksThoseThatHoldAndSaysHowManyPairsOthersNeed) {
  const Outcome outcome = Compared();
  EXPECT_EQ(outcome.out,
            "mine, plain and randomized: accuracy (%) over all test lengths, by pairs of jobs\n"
            "they differ in randomized\n"
            "\n"
            "TASK          PAIRS  DRAWS  FIRST  SECOND  DIFFERENCE  95 % FROM      TO  NEEDED\n"
            "bucket_sort       3      3   30.0    50.0      +20.0*      +19.8   +20.2       -\n"
            "even_pairs        3      3   50.0    52.0       +2.0        -0.5    +4.5       4\n"
            "parity_check      2      2   50.0    52.5       +2.5      -410.5  +415.5   >1000\n"
            "all               8      3   42.5    51.4       +8.9       -24.4   +42.2      30\n");
  EXPECT_EQ(outcome.err, "note: *: the difference holds when corrected for 4 rows by Holm's method (p_holm of at most 0.05)\n");
}

TEST_F(CompareTest, WhatRoundsToZeroHasNoSignInAnyFormatForPeople) {
  AddPairs("even_pairs", 0.5, {-0.0001, -0.0002, -0.0003});
  const Outcome outcome = Compared();
  EXPECT_THAT(outcome.out, HasSubstr(" 50.0    50.0         0.0        0.0  0.0"));
  EXPECT_THAT(Compared({"-o", "markdown"}).out, HasSubstr("| 50.0 | 50.0 | 0.0 | 0.0 | 0.0 |"));
  EXPECT_THAT(Compared({"-o", "latex"}).out, HasSubstr("& 50.0 & 50.0 & 0.0 & 0.0 & 0.0 &"));
  for (const char* format : {"table", "markdown", "latex"}) {
    const std::string out = Compared({"-o", format}).out;
    for (const char* sign : {"-0.0", "+0.0"}) EXPECT_THAT(out, Not(HasSubstr(sign))) << format;
  }
  EXPECT_LT(nlohmann::json::parse(Compared({"-o", "json"}).out)["rows"][0]["difference"].get<double>(), 0) << "programs have it as it is";
}

TEST_F(RowsOfComparisonTest, ProgramsGetPValuesAndNumbers) {
  const nlohmann::json document = nlohmann::json::parse(Compared({"-o", "json"}).out);
  ASSERT_EQ(document["rows"].size(), 4u);
  const std::vector<std::vector<double>> expected = {{8.333229168113419e-06, 3.333291667245368e-05}, {0.07417990022744855, 0.22253970068234565}, {0.9511254960556056, 0.9511254960556056}, {0.35986447455274534, 0.7197289491054907}};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(document["rows"][i]["p"].get<double>(), expected[i][0], 1e-9 * expected[i][0]) << i;
    EXPECT_NEAR(document["rows"][i]["p_holm"].get<double>(), expected[i][1], 1e-9 * expected[i][1]) << i;
  }
  EXPECT_TRUE(document["rows"][0]["needed"].is_null()) << "there are enough";
  EXPECT_EQ(document["rows"][1]["needed"], 4);
  EXPECT_TRUE(document["rows"][2]["needed"].is_null()) << "more than a thousand";
  EXPECT_EQ(document["rows"][3]["needed"], 30);
  EXPECT_EQ(document["rows"][0]["draws"], 3);
  EXPECT_EQ(document["rows"][3]["draws"], 3) << "eight pairs, of three seeds";
  EXPECT_EQ(document["notes"].size(), 1u);

  const std::string csv = Compared({"-o", "csv"}).out;
  EXPECT_THAT(csv, StartsWith("task,pairs,draws,first,second,difference,low,high,p,p_holm,needed\nbucket_sort,3,3,"));
  EXPECT_THAT(csv, Not(HasSubstr("*")));
  EXPECT_THAT(csv, Not(HasSubstr(">")));
  EXPECT_THAT(csv, ::testing::ContainsRegex("\n,8,3,[^\n]*\n$")) << "the row of all pairs, whose axes are empty";
  EXPECT_TRUE(document["rows"][3]["task"].is_null());
}

TEST_F(CompareTest, AnIntervalOfOneSeedIsSaidToBeOfTasks) {
  for (const char* task : {"bucket_sort", "even_pairs", "parity_check"}) AddPairs(task, 0.25, {*task == 'b' ? 0.5 : 0.25});
  const std::string told = "note: an interval of one seed takes tasks for draws: it is of tasks like these, and says nothing of other seeds\n";
  const Outcome outcome = Compared();
  EXPECT_EQ(outcome.err, told);
  EXPECT_THAT(outcome.out, Not(HasSubstr("DRAWS"))) << "as many as pairs";
  AddPairs("even_pairs", 0.25, {0.25, 0.5});  // The first of these is there already.
  EXPECT_THAT(Compared().err, Not(HasSubstr("one seed")));
  EXPECT_THAT(Compared({"--by", "seed"}).err, HasSubstr(told)) << "each row";
  EXPECT_EQ(Compared({"--by", "task, seed"}).out, Compared({"--by", "task,seed"}).out) << "as --only and --rows take blanks";
}

TEST_F(CompareTest, WhereSeedsOfOneSweepAreComparedAnIntervalIsNotSaidToBeOfOneSeed) {
  AddPairs("bucket_sort", 0.25, {0.5, 0.25});
  AddPairs("even_pairs", 0.25, {0.25, 0.5});
  const Outcome outcome = Run({"compare", "last", "--between", "seed=0,1", "-o", "json"});
  ASSERT_EQ(outcome.code, kDone) << outcome.err;
  const nlohmann::json document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document["title"], "mine, seed 0 and 1: accuracy (%) over all test lengths, by pairs of jobs");
  EXPECT_EQ(document["second"], "seed 1");
  const nlohmann::json& all = document["rows"].back();
  EXPECT_EQ(all["pairs"], 4);
  EXPECT_EQ(all["draws"], 2) << "tasks";
  EXPECT_FALSE(all["low"].is_null());
  EXPECT_THAT(document["notes"].dump(), Not(HasSubstr("one seed takes")));
}

TEST_F(CompareTest, PairsThatAreOneDrawAreSaidToHaveNoInterval) {
  for (const char* encoding : {"alibi", "rope", "sin_cos"}) {
    Add("even_pairs", encoding, 0, 0.5);
    Add("even_pairs", std::string(encoding) + ":randomized", 0, *encoding == 'a' ? 0.75 : 0.625);
  }
  const Outcome outcome = Compared();
  EXPECT_THAT(outcome.out, HasSubstr("\nENCODING  PAIRS  DRAWS  FIRST  SECOND"));
  EXPECT_THAT(outcome.out, HasSubstr("\nall           3      1   50.0    66.7"));
  EXPECT_EQ(outcome.err, "note: pairs of one seed and one task begin with the same weights and are one draw: a row of them alone has no interval\n");
  const nlohmann::json all = nlohmann::json::parse(Compared({"-o", "json"}).out)["rows"][3];
  for (const char* key : {"low", "high", "p", "needed"}) EXPECT_TRUE(all[key].is_null()) << key;
}

TEST_F(CompareTest, ProgramsAreToldWhatStandsBesideWhat) {
  AddPairs("even_pairs", 0.5, {0.1, 0.12});
  const auto sides = [this](const std::vector<std::string>& line) { return nlohmann::json::parse(Run(line).out)["sides"]; };
  const std::string id(64, 'a'), other_id(64, 'c');
  v1::Sweep& other = scheduler_.other_sweeps.emplace_back(scheduler_.sweep);
  other.set_id(other_id);
  other.set_name("theirs");

  EXPECT_EQ(sides({"compare", "last", "--between", "randomized", "-o", "json"}),
            nlohmann::json::parse(R"([{"sweep":")" + id + R"(","name":"mine","choice":"plain"},{"sweep":")" + id + R"(","name":"mine","choice":"randomized"}])"));
  EXPECT_EQ(sides({"compare", "last", "--between", "seed=1,0", "-o", "json"}),
            nlohmann::json::parse(R"([{"sweep":")" + id + R"(","name":"mine","choice":"seed=1"},{"sweep":")" + id + R"(","name":"mine","choice":"seed=0"}])"));
  EXPECT_EQ(sides({"compare", "last", other_id, "-o", "json"}),
            nlohmann::json::parse(R"([{"sweep":")" + id + R"(","name":"mine","choice":""},{"sweep":")" + other_id + R"(","name":"theirs","choice":""}])"));
}

TEST_F(CompareTest, PairsOfOneJobAreSaidToBeSo) {
  AddPairs("even_pairs", 0.5, {0.1, 0.12});
  v1::Sweep& other = scheduler_.other_sweeps.emplace_back(scheduler_.sweep);
  other.set_id(std::string(64, 'c'));
  // Every sweep is answered with the same four jobs.
  const Outcome outcome = Run({"compare", "last", other.id()});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("note: 4 of 4 pairs are one job that both have, which says nothing of how they differ"));
  EXPECT_THAT(Compared().err, Not(HasSubstr("one job"))) << "of other jobs";
}

TEST_F(CompareTest, ABaselineIsNotAskedForEncodingsOrSystemsThatTheOtherHas) {
  scheduler_.sweep.mutable_spec()->mutable_axes()->add_encoding("none");
  v1::Sweep& other = scheduler_.other_sweeps.emplace_back(scheduler_.sweep);
  other.set_id(std::string(64, 'c'));
  const auto asked_of_second = [&](const std::string& first, const std::string& second, const std::string& only) {
    const Outcome outcome = Run({"compare", first, second, "--only", only, "--only", "seed=0"});
    EXPECT_EQ(outcome.code, kDone) << outcome.err;
    return std::vector<std::string>(scheduler_.measurements_request.only().begin(), scheduler_.measurements_request.only().end());
  };
  other.mutable_spec()->mutable_axes()->clear_encoding();
  for (const char* encoding : {"rope", "sin_cos"}) other.mutable_spec()->mutable_axes()->add_encoding(encoding);
  EXPECT_THAT(asked_of_second("last", other.id(), "encoding=rope"), ::testing::ElementsAre("encoding=rope", "seed=0"));
  EXPECT_THAT(asked_of_second(other.id(), "last", "encoding=rope"), ::testing::ElementsAre("seed=0"));
  EXPECT_THAT(asked_of_second(other.id(), "last", "task=even_pairs"), ::testing::ElementsAre("task=even_pairs", "seed=0")) << "which both have";
  for (const char* system : {"small", "large"}) other.mutable_spec()->add_systems()->set_name(system);
  EXPECT_THAT(asked_of_second(other.id(), "last", "system=small"), ::testing::ElementsAre("seed=0"));
  EXPECT_THAT(asked_of_second(other.id(), "last", "model.layers=2"), ::testing::ElementsAre("seed=0")) << "which tells those systems apart";
  EXPECT_THAT(asked_of_second("last", other.id(), "model.layers=2"), ::testing::ElementsAre("model.layers=2", "seed=0"));
}

TEST_F(CompareTest, ASettingThatOneOfTwoAlikeLacksIsRefusedWithWhatToDo) {
  v1::Sweep& other = scheduler_.other_sweeps.emplace_back(scheduler_.sweep);
  other.set_id(std::string(64, 'c'));
  scheduler_.refusals["ListMeasurements"] = {grpc::StatusCode::INVALID_ARGUMENT, "--only: unknown model.layers '2'\n  known are 1"};
  const Outcome outcome = Run({"compare", "last", other.id(), "--only", "model.layers=2"});
  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_THAT(outcome.err, HasSubstr("unknown model.layers '2'"));
  EXPECT_THAT(outcome.err, HasSubstr("known are 1"));
  EXPECT_THAT(outcome.err, HasSubstr("leave it out where they differ in it"));
}

TEST_F(CompareTest, WhatABaselineIsNotAskedIsSaidOfTheOtherSweepAlone) {
  scheduler_.sweep.mutable_spec()->mutable_axes()->add_encoding("none");
  v1::Sweep& other = scheduler_.other_sweeps.emplace_back(scheduler_.sweep);
  other.set_id(std::string(64, 'c'));
  other.set_name("theirs");
  other.mutable_spec()->mutable_axes()->clear_encoding();
  for (const char* encoding : {"rope", "sin_cos"}) other.mutable_spec()->mutable_axes()->add_encoding(encoding);
  const auto told = [this](const std::string& first, const std::string& second, const std::string& only) { return Run({"compare", first, second, "--only", only}).err; };
  EXPECT_THAT(told("last", other.id(), "encoding=rope"), HasSubstr("only jobs of theirs with encoding rope\n"));
  EXPECT_THAT(told(other.id(), "last", "encoding=rope"), HasSubstr("only jobs of theirs with encoding rope\n"));
  EXPECT_THAT(told("last", other.id(), "task=even_pairs"), HasSubstr("only jobs with task even_pairs\n")) << "which both were asked";
  for (const char* system : {"small", "large"}) other.mutable_spec()->add_systems()->set_name(system);
  EXPECT_THAT(told(other.id(), "last", "model.layers=2"), HasSubstr("only jobs of theirs with model.layers 2\n"));
}

TEST_F(CompareTest, TheDocumentHasTheTitleAndWhatOnlyLeaves) {
  AddPairs("even_pairs", 0.5, {0.1, 0.12});
  const nlohmann::json all = nlohmann::json::parse(Compared({"-o", "json"}).out);
  EXPECT_EQ(all["title"], "mine, plain and randomized: accuracy (%) over all test lengths, by pairs of jobs");
  EXPECT_EQ(all["only"], nlohmann::json::array());
  const nlohmann::json some = nlohmann::json::parse(Compared({"--length", "50", "--only", "seed=0,1", "--only", "task=even_pairs", "-o", "json"}).out);
  EXPECT_EQ(some["title"], "mine, plain and randomized: accuracy (%) at length 50, by pairs of jobs");
  EXPECT_EQ(some["only"], nlohmann::json({"seed=0,1", "task=even_pairs"}));
}

TEST_F(CompareTest, ThatNoneHoldsIsSaidWhereAnIntervalIsWithoutZero) {
  AddPairs("even_pairs", 0.5, {0.1, 0.12, 0.16});
  AddPairs("parity_check", 0.5, {-0.3, 0.4, 0});
  const Outcome outcome = Compared();
  EXPECT_THAT(outcome.out, Not(HasSubstr("*")));
  EXPECT_EQ(outcome.err, "note: no difference holds when corrected for 3 rows by Holm's method (p_holm of at most 0.05): an interval without 0 may be chance\n");
}

TEST_F(CompareTest, ARowAloneNeedsNoCorrection) {
  AddPairs("even_pairs", 0.5, {0.2, 0.201, 0.199});
  const Outcome outcome = Compared();
  EXPECT_THAT(outcome.out, Not(HasSubstr("*")));
  EXPECT_THAT(outcome.out, Not(HasSubstr("NEEDED"))) << "its interval leaves 0";
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(Compared({"-o", "csv"}).out, StartsWith("pairs,draws,first,second,difference,low,high,p,p_holm,needed\n3,3,0.5,")) << "columns that a program may count on";
}

TEST_F(CompareTest, RowsWithoutSpreadOrOfOnePairAreNotCountedAmongThoseThatAreCorrected) {
  AddPairs("bucket_sort", 0.25, {0.25, 0.25, 0.25});
  AddPairs("even_pairs", 0.5, {0.2, 0.201, 0.199});
  AddPairs("parity_check", 0.5, {0.25});
  AddPairs("stack_manipulation", 0.5, {0, 0});
  const nlohmann::json rows = nlohmann::json::parse(Compared({"-o", "json"}).out)["rows"];
  ASSERT_EQ(rows.size(), 5u);
  for (const size_t i : {0u, 2u, 3u}) {
    for (const char* key : {"p", "p_holm", "needed"}) EXPECT_TRUE(rows[i][key].is_null()) << i << key;
  }
  EXPECT_DOUBLE_EQ(rows[1]["p_holm"].get<double>(), 2 * rows[1]["p"].get<double>());
  EXPECT_THAT(Compared().err, HasSubstr("when corrected for 2 rows"));
}

TEST_F(CompareTest, MarksAreInEveryFormatForPeople) {
  AddPairs("bucket_sort", 0.3, {0.2, 0.201, 0.199});
  AddPairs("even_pairs", 0.5, {0.01, 0.02, 0.03});
  const Outcome markdown = Compared({"-o", "markdown"}), latex = Compared({"-o", "latex"});
  EXPECT_THAT(markdown.out, HasSubstr("| bucket\\_sort | 3 | 3 | 30.0 | 50.0 | +20.0\\* |"));
  EXPECT_THAT(latex.out, HasSubstr("bucket\\_sort & 3 & 3 & 30.0 & 50.0 & +20.0* &"));
  // With what they mean.
  EXPECT_THAT(markdown.out, HasSubstr("|\n\nNote: \\*: the difference holds when corrected for 3 rows by Holm's method (p\\_holm of at most 0.05)\n"));
  EXPECT_THAT(latex.out, HasSubstr("\\end{tabular}\n% note: *: the difference holds when corrected for 3 rows by Holm's method (p_holm of at most 0.05)\n"));
  EXPECT_EQ(markdown.err, "");
  EXPECT_EQ(latex.err, "");
}

TEST_F(CompareTest, WhatOneSideHasSeveralOfIsNamed) {
  AddPairs("even_pairs", 0.5, {0.1, 0.12});
  EXPECT_THAT(Compared().out, Not(HasSubstr("even_pairs"))) << "there is no other task";
  Add("parity_check", "rope", 0, 0.5);

  const Outcome outcome = Compared();

  EXPECT_THAT(outcome.out, HasSubstr("\nTASK        PAIRS  FIRST  SECOND"));
  EXPECT_THAT(outcome.out, HasSubstr("\neven_pairs      2   50.0    61.0"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\nall"))) << "which the one row is";
  EXPECT_THAT(outcome.err, HasSubstr("note: 1 job of plain without a partner"));
}

TEST_F(CompareTest, WhereThereAreNoPairsCommandsThatShowTheValuesNameTheSweeps) {
  const std::string where = " --jobs --metric accuracy --scheduler " + scheduler_.address() + "'";
  EXPECT_THAT(Compared().err, HasSubstr("no job of 'plain' has a partner in 'randomized' with accuracy: 'longreach results aaaaaaaa" + where + " lists the values of each\n"));
  for (const char* encoding : {"rope", "rope:randomized"}) scheduler_.sweep.mutable_spec()->mutable_axes()->add_encoding(encoding);
  const Outcome at_length = Compared({"--length", "99"});
  EXPECT_THAT(at_length.err, HasSubstr("with accuracy at length 99: 'longreach"));
  EXPECT_THAT(at_length.err, Not(HasSubstr("randomized positions are drawn"))) << "there is nothing that it is of";
  scheduler_.sweep.mutable_spec()->clear_axes();

  v1::Sweep& other = scheduler_.other_sweeps.emplace_back(scheduler_.sweep);
  other.set_id(std::string(64, 'c'));
  EXPECT_THAT(Run({"compare", "last", other.id()}).err, HasSubstr("'longreach results aaaaaaaa" + where + " and 'longreach results cccccccc" + where + " list the values of each\n"));
}

TEST_F(CompareTest, WhatOnlyLeavesIsSaidAsTablesSayIt) {
  AddPairs("even_pairs", 0.5, {0.1, 0.12});
  EXPECT_THAT(Compared({"--only", "seed=0,2..4", "--only", "task=even_pairs"}).err, StartsWith("note: only jobs with seed 0 or 2 to 4\nnote: only jobs with task even_pairs\n"));
  EXPECT_THAT(Compared({"--only", "training.weight_decay="}).err, StartsWith("note: only jobs with training.weight_decay not set\n"));
  EXPECT_THAT(Compared().err, Not(HasSubstr("only jobs")));
}

// Values of a job at lengths, in the place of the one that it was added with.
void AtLengths(v1::JobMeasurements& of_job, const std::vector<std::pair<int, double>>& values) {
  of_job.clear_measurements();
  for (const auto& [length, value] : values) {
    v1::Measurement& one = *of_job.add_measurements();
    one.set_metric("accuracy");
    one.set_length(length);
    one.set_value(value);
  }
}

TEST_F(CompareTest, LengthsThatOnlyNamesAreAveragedForEachJob) {
  AddPairs("even_pairs", 0, {0, 0});  // Plain, randomized, plain, randomized.
  for (const int job : {0, 2}) AtLengths(*scheduler_.measurements.mutable_jobs(job), {{21, 0.25}, {22, 0.75}});
  for (const int job : {1, 3}) AtLengths(*scheduler_.measurements.mutable_jobs(job), {{21, 1}, {22, 0.5}});

  const Outcome outcome = Compared({"--only", "length=21..24"});

  EXPECT_FALSE(scheduler_.measurements_request.has_length());
  EXPECT_THAT(scheduler_.measurements_request.only(), ::testing::ElementsAre("length=21..24"));
  EXPECT_THAT(outcome.out, StartsWith("mine, plain and randomized: accuracy (%) averaged over length 21 to 24, by pairs of jobs\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\n    2   50.0    75.0       +25.0"));
  EXPECT_EQ(outcome.err, "note: only length 21 to 24: of each job the mean over the 2 of them that it has values at\n"
                         "note: where the draws of a row all differ by the same, how much others would differ is not known: it has no interval\n");
  const nlohmann::json document = nlohmann::json::parse(Compared({"--only", "length=21..24", "-o", "json"}).out);
  EXPECT_TRUE(document["length"].is_null()) << "0 is over all lengths";
  EXPECT_EQ(document["only"], nlohmann::json::array({"length=21..24"}));
  EXPECT_EQ(document["rows"][0]["difference"], 0.25);
}

TEST_F(CompareTest, MeansOverOtherLengthsAreSaidToBeSo) {
  AddPairs("even_pairs", 0, {0, 0});
  for (const int job : {0, 2}) AtLengths(*scheduler_.measurements.mutable_jobs(job), {{21, 0.5}, {22, 0.25}});
  for (const int job : {1, 3}) AtLengths(*scheduler_.measurements.mutable_jobs(job), {{21, 0.5}});
  const char* const told = "note: some jobs have values at other ones of these lengths than others, and their means are of other tests";
  EXPECT_THAT(Compared({"--only", "length=21..24"}).err, HasSubstr(told));
  for (const int job : {0, 2}) AtLengths(*scheduler_.measurements.mutable_jobs(job), {{21, 0.5}});
  EXPECT_THAT(Compared({"--only", "length=21..24"}).err, Not(HasSubstr(told)));
}

TEST_F(CompareTest, ScoresAtAStepAreOverTheLengthsOfCurves) {
  AddPairs("even_pairs", 0.5, {0.1, 0.12});
  EXPECT_THAT(Compared().out, HasSubstr("accuracy (%) over all test lengths, by pairs of jobs"));
  for (v1::JobMeasurements& job : *scheduler_.measurements.mutable_jobs()) job.mutable_measurements(0)->set_slice("step=200");
  EXPECT_THAT(Compared({"--slice", "step=200"}).out, HasSubstr("accuracy (%) over the lengths of curves, step=200, by pairs of jobs"));
}

TEST_F(CompareTest, WhatIsNoChoiceOfAPairsValueIsRefusedWithWhatIs) {
  const auto refused = [this](const std::vector<std::string>& more) {
    std::vector<std::string> line = {"compare", "last", "--between", "randomized"};
    line.insert(line.end(), more.begin(), more.end());
    const Outcome outcome = Run(line);
    EXPECT_EQ(outcome.code, kUsage);
    return outcome.err;
  };
  EXPECT_THAT(refused({"--length", "21", "--only", "length=22..24"}), HasSubstr("--length 21: --only names lengths\n  leave one of them out, or write --only length=21,..."));
  EXPECT_THAT(refused({"--only", "layer=3"}), HasSubstr("--only layer: a pair is of one value of each job\n  --slice names one: --slice layer=..."));
}

TEST_F(CompareTest, ScoresOverOtherTestLengthsAreSaidToBeSo) {
  AddPairs("even_pairs", 0.5, {0.1, 0.12});
  v1::Sweep& other = scheduler_.other_sweeps.emplace_back(scheduler_.sweep);
  other.set_id(std::string(64, 'c'));
  const auto said = [&](const std::vector<std::string>& more = {}) {
    std::vector<std::string> line = {"compare", "last", other.id()};
    line.insert(line.end(), more.begin(), more.end());
    const Outcome outcome = Run(line);
    EXPECT_EQ(outcome.code, kDone) << outcome.err;
    return outcome.err;
  };
  const char* const told = "note: they differ in evaluation.lengths, and a score over all test lengths is of those that its job was tested at";
  EXPECT_THAT(said(), Not(HasSubstr(told)));
  for (const int length : {41, 42}) other.mutable_spec()->mutable_evaluation()->add_lengths(length);
  EXPECT_THAT(said(), HasSubstr(told));
  EXPECT_THAT(said({"--length", "41"}), Not(HasSubstr(told)));
  EXPECT_THAT(said({"--metric", "passkey_accuracy"}), Not(HasSubstr(told))) << "which has lengths of its own";
  other.mutable_spec()->mutable_evaluation()->add_passkey_lengths(64);
  EXPECT_THAT(said({"--metric", "passkey_accuracy"}), HasSubstr("note: they differ in evaluation.passkey_lengths, and a score"));
}

}  // namespace
}  // namespace longreach::client
