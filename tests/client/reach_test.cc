// `longreach reach`: what it says of how far jobs get. What a length must have to count is in reached_lengths_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ReachTest : public WithFakeScheduler {
 protected:
  ReachTest() {
    scheduler_.sweep.set_name("mine");
    v1::SweepSpec& spec = *scheduler_.sweep.mutable_spec();
    spec.set_experiment("algorithmic");
    spec.mutable_training()->add_lengths(1);
    spec.mutable_training()->add_lengths(10);
  }
  v1::JobMeasurements& Add(const std::string& task, uint32_t seed, const std::map<int, double>& by_length, const std::string& metric = "accuracy") {
    v1::JobMeasurements& of_job = *scheduler_.measurements.add_jobs();
    of_job.mutable_job()->set_id(std::string(63, 'd') + std::to_string(scheduler_.measurements.jobs_size()));
    of_job.mutable_job()->set_task(task);
    of_job.mutable_job()->set_encoding("rope");
    of_job.mutable_job()->set_learning_rate(1e-3);
    of_job.mutable_job()->set_seed(seed);
    for (const auto& [length, value] : by_length) {
      v1::Measurement& one = *of_job.add_measurements();
      one.set_metric(metric);
      one.set_length(length);
      one.set_value(value);
    }
    return of_job;
  }
  // Length 0 is over all lengths, and no length.
  void AddThreeOfTwoTasks() {
    Add("even_pairs", 0, {{0, 0.1}, {11, 1}, {12, 1}, {20, 0.95}});
    Add("even_pairs", 1, {{0, 0.1}, {11, 1}, {12, 0.5}, {20, 1}});
    Add("parity_check", 0, {{0, 0.1}, {11, 0.5}, {12, 0.5}, {20, 0.5}});
  }
  Outcome Reached(const std::vector<std::string>& more = {}) {
    std::vector<std::string> line = {"reach", "last"};
    line.insert(line.end(), more.begin(), more.end());
    Outcome outcome = Run(line);
    EXPECT_EQ(outcome.code, kDone) << outcome.err;
    return outcome;
  }
  void ExpectRefused(const std::vector<std::string>& more, const std::string& text) {
    std::vector<std::string> line = {"reach", "last"};
    line.insert(line.end(), more.begin(), more.end());
    const Outcome outcome = Run(line);
    EXPECT_EQ(outcome.code, kUsage) << text;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(text));
  }
};

TEST_F(ReachTest, ARowSaysHowFarAllHalfAndTheBestOfItsJobsGet) {
  AddThreeOfTwoTasks();
  const Outcome outcome = Reached();
  EXPECT_EQ(outcome.out,
            "mine: test length up to which accuracy is at least 90 %\n"
            "trained at lengths up to 10, tested at 11 to 20\n"
            "\n"
            "TASK          JOBS  ALL REACH  HALF REACH  BEST REACHES  TO THE END\n"
            "even_pairs       2         11         20+           20+           1\n"
            "parity_check     1        <11         <11           <11           0\n");
  EXPECT_EQ(outcome.err, "");
  EXPECT_FALSE(scheduler_.measurements_request.has_length());
  EXPECT_TRUE(scheduler_.measurements_request.has_slice()) << "values of heads and the like are not those of a length";
}

TEST_F(ReachTest, AnotherBoundIsInTheUnitOfTheMetric) {
  AddThreeOfTwoTasks();
  EXPECT_THAT(Reached({"--at-least", "50"}).out, HasSubstr("is at least 50 %\n"));
  EXPECT_THAT(Reached({"--at-least", "50"}).out, HasSubstr("parity_check     1        20+         20+           20+           1\n"));
  EXPECT_THAT(Reached({"--at-least", "99.5", "--only", "task=even_pairs"}).out, HasSubstr("is at least 99.5 %\n"));
  EXPECT_THAT(scheduler_.measurements_request.only(), ElementsAre("task=even_pairs"));
  EXPECT_EQ(nlohmann::json::parse(Reached({"--at-least", "50", "-o", "json"}).out)["at_least"], 0.5) << "as values are stored";
}

TEST_F(ReachTest, OfWhatIsBetterWhenLowerTheBoundIsTheMost) {
  Add("bytes", 0, {{128, 2}, {256, 3}, {512, 12}}, "perplexity");
  ExpectRefused({"--metric", "perplexity"}, "error: of perplexity there is no usual bound\n  say what it must be: --at-most VALUE\n");
  ExpectRefused({"--metric", "perplexity", "--at-least", "5"}, "--at-least 5: perplexity is better when it is lower\n  write --at-most 5\n");
  const Outcome outcome = Reached({"--metric", "perplexity", "--at-most", "5"});
  EXPECT_THAT(outcome.out, HasSubstr("mine: test length up to which perplexity is at most 5\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\nJOBS  ALL REACH  HALF REACH  BEST REACHES  TO THE END\n   1        256         256           256           0\n"));
  const nlohmann::json document = nlohmann::json::parse(Reached({"--metric", "perplexity", "--at-most", "5", "-o", "json"}).out);
  EXPECT_EQ(document["at_most"], 5);
  EXPECT_FALSE(document.contains("at_least"));
}

TEST_F(ReachTest, WhatIsNeitherBetterWhenHigherNorWhenLowerTakesEitherBound) {
  Add("bytes", 0, {{128, 2}, {256, 3}}, "attention_entropy");
  ExpectRefused({"--metric", "attention_entropy"}, "say what it must be: --at-least VALUE or --at-most VALUE");
  EXPECT_THAT(Reached({"--metric", "attention_entropy", "--at-most", "2.5"}).out, HasSubstr("attention_entropy is at most 2.5 nats\n"));
  EXPECT_THAT(Reached({"--metric", "attention_entropy", "--at-least", "2.5"}).out, HasSubstr("<128"));
}

TEST_F(ReachTest, BoundsThatMakeNoSenseAreRefused) {
  ExpectRefused({"--at-least", "0.9"}, "--at-least 0.9: accuracy is in percent, and a bound above 1 and at most 100\n  did you mean 90?");
  ExpectRefused({"--at-least", "101"}, "--at-least 101: accuracy is in percent");
  ExpectRefused({"--at-least", "nan"}, "--at-least nan: accuracy is in percent");
  ExpectRefused({"--at-most", "50"}, "--at-most 50: accuracy is better when it is higher\n  write --at-least 50");
  ExpectRefused({"--at-least", "90", "--at-most", "95"}, "a length counts by one of them");
  ExpectRefused({"--metric", "perplexity", "--at-most", "inf"}, "--at-most: inf is not a finite number");
  ExpectRefused({"--at-least", "much"}, "--at-least: 'much' is not a number");
}

TEST_F(ReachTest, WordsThatMakeNoSenseAreRefused) {
  ExpectRefused({"--smooth", "4"}, "--smooth: 4 is not an odd number");
  ExpectRefused({"--smooth", "0"}, "--smooth: 0 is not an odd number");
  ExpectRefused({"--by", "length"}, "--by: unknown value 'length'");
  ExpectRefused({"--by", "task", "--jobs"}, "--by beside --jobs");
  ExpectRefused({"--metric", "training_loss"}, "losses of training have no test length");
  ExpectRefused({"--metric", "acuracy"}, "did you mean 'accuracy'?");
  ExpectRefused({"--only", "depth=3"}, "--only depth: a job has one value at each test length\n  --slice names one: --slice depth=...");
}

TEST_F(ReachTest, SmoothedADipEndsNothing) {
  Add("even_pairs", 0, {{11, 1}, {12, 0.8}, {13, 1}, {14, 1}});
  EXPECT_THAT(Reached().out, HasSubstr("\n   1         11          11            11           0\n"));
  const std::string smoothed = Reached({"--smooth", "3"}).out;
  EXPECT_THAT(smoothed, HasSubstr("is at least 90 %, mean over 3 neighbouring lengths\n"));
  EXPECT_THAT(smoothed, HasSubstr("\n   1        14+         14+           14+           1\n"));
}

TEST_F(ReachTest, ByOtherAxesThereAreOtherRows) {
  AddThreeOfTwoTasks();
  EXPECT_EQ(Reached({"--by", "seed", "-o", "csv"}).out,
            "seed,jobs,tested_from,tested_to,none,all,half,best,to_end\n"
            "0,2,11,20,1,0,20,20,1\n"
            "1,1,11,20,0,11,11,11,0\n");
}

TEST_F(ReachTest, EachJobMayHaveARow) {
  AddThreeOfTwoTasks();
  Add("parity_check", 1, {}).mutable_job()->set_diverged(true);
  const std::string id(63, 'd');
  EXPECT_EQ(Reached({"--jobs", "-o", "csv"}).out,
            "job,system,task,encoding,learning_rate,seed,diverged,tested_from,tested_to,reach,to_end\n" + id + "1,,even_pairs,rope,0.001,0,false,11,20,20,true\n" + id +
                "2,,even_pairs,rope,0.001,1,false,11,20,11,false\n" + id + "3,,parity_check,rope,0.001,0,false,11,20,0,false\n" + id + "4,,parity_check,rope,0.001,1,true,,,,\n");
  const nlohmann::json rows = nlohmann::json::parse(Reached({"--jobs", "-o", "json"}).out)["rows"];
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_TRUE(rows[3]["reach"].is_null());
  const std::string shown = Reached({"--jobs"}).out;
  EXPECT_THAT(shown, HasSubstr("\nJOB       TASK          ENCODING  LEARNING RATE  SEED  DIVERGED  REACHES  TO THE END\n"));
  EXPECT_THAT(shown, HasSubstr("\ndddddddd  parity_check  rope              0.001     0  no            <11  no\n"));
}

TEST_F(ReachTest, RowsOfJobsSayTheirSystemsWhereThereAreSome) {
  AddThreeOfTwoTasks();
  for (const char* format : {"table", "markdown", "latex"}) EXPECT_THAT(Reached({"--jobs", "-o", format}).out, Not(HasSubstr("SYSTEM"))) << format;
  Add("even_pairs", 2, {{11, 1}}).mutable_job()->add_systems("wide");
  EXPECT_THAT(Reached({"--jobs"}).out, AllOf(HasSubstr("\nJOB       SYSTEM  TASK "), HasSubstr("\ndddddddd  wide    even_pairs "), HasSubstr("\ndddddddd          parity_check ")));
  EXPECT_THAT(Reached({"--jobs", "-o", "markdown"}).out, HasSubstr("| JOB | SYSTEM | TASK |"));
  EXPECT_THAT(Reached({"--jobs", "-o", "latex"}).out, HasSubstr("JOB & SYSTEM & TASK &"));
}

TEST_F(ReachTest, JobsThatAreInNoRowAreCounted) {
  AddThreeOfTwoTasks();
  Add("even_pairs", 2, {}).mutable_job()->set_diverged(true);
  scheduler_.sweep.set_jobs(6);
  scheduler_.sweep.mutable_counts()->set_succeeded(4);
  const Outcome outcome = Reached();
  EXPECT_THAT(outcome.out, HasSubstr("even_pairs       2 "));
  EXPECT_EQ(outcome.err, "note: 1 job diverged, in no row\nnote: 2 jobs of mine not done\n");
  EXPECT_THAT(Reached({"--only", "seed=0..2"}).err, HasSubstr("2 jobs of mine not done, whether asked for here or not\n"));
}

TEST_F(ReachTest, OtherTestsOfSomeJobsAreSaid) {
  Add("even_pairs", 0, {{11, 1}, {20, 1}});
  Add("even_pairs", 1, {{11, 1}, {30, 1}});
  const Outcome outcome = Reached();
  EXPECT_THAT(outcome.out, HasSubstr("tested at 11 to 30\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\n   2        20+         30+           30+           2\n"));
  EXPECT_THAT(outcome.err, HasSubstr("'<' and '+' are of the tests that a job had\n"));
}

TEST_F(ReachTest, ThatRandomizedPositionsJumpIsSaidUnlessScoresAreSmoothed) {
  AddThreeOfTwoTasks();
  scheduler_.sweep.mutable_spec()->mutable_axes()->add_encoding("rope:randomized");
  EXPECT_THAT(Reached().err, HasSubstr("which no spread over seeds shows; --smooth 9 takes the mean over 9 neighbouring lengths\n"));
  EXPECT_EQ(Reached({"--smooth", "9"}).err, "");
}

TEST_F(ReachTest, WhereNothingWasTestedItSaysSo) {
  Add("even_pairs", 0, {{0, 1}});
  const Outcome outcome = Reached();
  EXPECT_THAT(outcome.out, Not(HasSubstr("even_pairs")));
  EXPECT_THAT(outcome.err, HasSubstr("no job of sweep 'mine' that is asked for has accuracy at a test length; 'longreach status aaaaaaaa --scheduler "));
  EXPECT_EQ(nlohmann::json::parse(Reached({"-o", "json"}).out)["rows"], nlohmann::json::array());
}

TEST_F(ReachTest, ADocumentHasItsNotesWithIt) {
  AddThreeOfTwoTasks();
  scheduler_.sweep.set_jobs(4);
  EXPECT_EQ(Reached({"-o", "markdown"}).out,
            "mine: test length up to which accuracy is at least 90 %  \n"
            "trained at lengths up to 10, tested at 11 to 20  \n"
            "\n"
            "| TASK | JOBS | ALL REACH | HALF REACH | BEST REACHES | TO THE END |\n"
            "| --- | ---: | ---: | ---: | ---: | ---: |\n"
            "| even\\_pairs | 2 | 11 | 20+ | 20+ | 1 |\n"
            "| parity\\_check | 1 | \\<11 | \\<11 | \\<11 | 0 |\n"
            "\n"
            "Note: 2 jobs of mine not done\n");
  EXPECT_THAT(Reached({"-o", "latex"}).out, HasSubstr("parity\\_check & 1 & \\textless{}11 & \\textless{}11 & \\textless{}11 & 0 \\\\\n"));
  const nlohmann::json document = nlohmann::json::parse(Reached({"-o", "json"}).out);
  EXPECT_EQ(document["trained_to"], 10);
  EXPECT_EQ(document["name"], "mine");
  EXPECT_EQ(document["rows"][0], nlohmann::json::parse(R"({"task": "even_pairs", "jobs": 2, "tested_from": 11, "tested_to": 20, "none": 0, "all": 11, "half": 20, "best": 20, "to_end": 1})"));
  EXPECT_EQ(document["notes"], nlohmann::json::array({"2 jobs of mine not done"}));
}

}  // namespace
}  // namespace longreach::client
