// What `results --jobs` asks for and prints: values one by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ResultsJobsTest : public WithFakeScheduler {
 protected:
  // Of the first job two values; the second diverged.
  void Measure() {
    v1::JobMeasurements& done = *scheduler_.measurements.add_jobs();
    *done.mutable_job() = scheduler_.jobs.jobs(0);
    for (const auto& [length, slice, value] : {std::tuple(0, "", 0.1 + 0.2), std::tuple(100, "layer=0,head=1", 1e-300)}) {
      v1::Measurement& one = *done.add_measurements();
      one.set_metric("accuracy");
      one.set_length(length);
      one.set_slice(slice);
      one.set_value(value);
    }
    v1::Job& diverged = *scheduler_.measurements.add_jobs()->mutable_job();
    diverged = scheduler_.jobs.jobs(1);
    diverged.set_diverged(true);
    diverged.add_systems("wide");
  }
  const std::string first_ = std::string(63, 'b') + "0";
  const std::string second_ = std::string(63, 'b') + "1";
};

TEST_F(ResultsJobsTest, JobsPrintsEveryValueInARowOfItsOwn) {
  Measure();
  const Outcome outcome = Run({"results", "last", "--jobs", "-o", "csv"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(outcome.out,
            "job,system,task,encoding,learning_rate,seed,diverged,metric,length,slice,value\n" +
                first_ + ",,even_pairs,rope:randomized,0.0003,0,false,accuracy,0,,0.30000000000000004\n" +
                first_ + ",,even_pairs,rope:randomized,0.0003,0,false,accuracy,100,\"layer=0,head=1\",1e-300\n" +
                second_ + ",wide,even_pairs,rope:randomized,0.0003,1,true,,,,\n");

  const std::string json = Run({"results", "last", "--jobs", "-o", "json"}).out;
  EXPECT_THAT(json, StartsWith("{\"schema\":\"longreach/v1\",\"measurements\":[{\"job\":\"" + first_ + "\",\"system\":\"\",\"task\":\"even_pairs\","));
  EXPECT_THAT(json, ::testing::EndsWith(",\"value\":null}]}\n"));
  const nlohmann::json rows = nlohmann::json::parse(json)["measurements"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["job"], first_);
  EXPECT_EQ(rows[0]["diverged"], false);
  EXPECT_EQ(rows[0]["value"], 0.1 + 0.2);
  EXPECT_EQ(rows[1]["length"], 100);
  EXPECT_EQ(rows[2]["diverged"], true);
  EXPECT_TRUE(rows[2]["value"].is_null());

  const std::string table = Run({"results", "last", "--jobs"}).out;
  EXPECT_THAT(table, StartsWith("JOB "));
  EXPECT_THAT(table, HasSubstr(" all "));
  EXPECT_THAT(table, HasSubstr(" 0.3\n"));
}

TEST_F(ResultsJobsTest, PeopleGetNoColumnInWhichNothingStands) {
  Measure();
  EXPECT_THAT(Run({"results", "last", "--jobs"}).out, AllOf(StartsWith("JOB       SYSTEM  TASK "), HasSubstr("  SLICE")));

  scheduler_.measurements.mutable_jobs(0)->mutable_measurements()->RemoveLast();
  scheduler_.measurements.mutable_jobs(1)->mutable_job()->clear_systems();
  const std::string table = Run({"results", "last", "--jobs"}).out;
  EXPECT_THAT(table, StartsWith("JOB       TASK        ENCODING         LEARNING RATE  SEED  DIVERGED  METRIC    LENGTH  VALUE\n"));
  EXPECT_THAT(table, HasSubstr("  1  yes       -              -      -\n")) << "of one that diverged";
  EXPECT_THAT(Run({"results", "last", "--jobs", "-o", "markdown"}).out, StartsWith("| JOB | TASK | ENCODING | LEARNING RATE | SEED | DIVERGED | METRIC | LENGTH | VALUE |\n"));
  EXPECT_THAT(Run({"results", "last", "--jobs", "-o", "latex"}).out, HasSubstr("JOB & TASK & ENCODING &"));
  EXPECT_THAT(Run({"results", "last", "--jobs", "-o", "csv"}).out, StartsWith("job,system,task,encoding,learning_rate,seed,diverged,metric,length,slice,value\n")) << "a program counts on them";
  EXPECT_THAT(Run({"results", "last", "--jobs", "-o", "json"}).out, AllOf(HasSubstr("\"system\":\"\""), HasSubstr("\"slice\":\"\"")));
}

TEST_F(ResultsJobsTest, ValuesHaveWhatTheSystemsDifferIn) {
  Measure();
  for (const auto& [name, layers] : {std::pair("narrow", 2), std::pair("wide", 3)}) {
    v1::System& system = *scheduler_.sweep.mutable_spec()->add_systems();
    system.set_name(name);
    system.mutable_with()->mutable_model()->set_layers(layers);
  }
  scheduler_.AnswerBySystem("2", "3");
  v1::Job& plain = *scheduler_.measurements.add_jobs()->mutable_job();
  plain = scheduler_.measurements.jobs(1).job();
  plain.set_encoding("rope");

  const std::string csv = Run({"results", "last", "--jobs", "-o", "csv"}).out;

  EXPECT_THAT(csv, StartsWith("job,system,task,encoding,learning_rate,seed,diverged,metric,length,slice,value,model.layers\n"));
  EXPECT_THAT(csv, HasSubstr(",accuracy,0,,0.30000000000000004,\n")) << "of a job that names no system";
  EXPECT_THAT(csv, HasSubstr(",rope:randomized,0.0003,1,true,,,,,3\n")) << "of one that diverged, too";
  EXPECT_THAT(csv, HasSubstr(",rope,0.0003,1,true,,,,,\n")) << "of one whose encoding does not use it";
  const nlohmann::json rows = nlohmann::json::parse(Run({"results", "last", "--jobs", "-o", "json"}).out)["measurements"];
  EXPECT_EQ(rows[2]["model.layers"], 3);
  EXPECT_TRUE(rows[3]["model.layers"].is_null());
  EXPECT_THAT(Run({"results", "last", "--jobs"}).out, Not(HasSubstr("model.layers"))) << "people read it in the system's name";
}

TEST_F(ResultsJobsTest, ValuesHaveWhatJobsHaveWhereASystemLeavesItUnsaid) {
  Measure();
  for (const char* name : {"narrow", "wide"}) scheduler_.sweep.mutable_spec()->add_systems()->set_name(name);
  scheduler_.sweep.mutable_spec()->mutable_systems(0)->mutable_with()->mutable_model()->set_layers(3);
  scheduler_.AnswerBySystem("3", "5");
  EXPECT_THAT(Run({"results", "last", "--jobs", "-o", "csv"}).out, HasSubstr(",1,true,,,,,5\n")) << "the default of the kind";
  EXPECT_EQ(scheduler_.table_request.table().rows(), "system,task,model.layers");
  EXPECT_EQ(scheduler_.table_request.table().columns(), "encoding");

  // The first says what is the default.
  scheduler_.AnswerBySystem("3", "3");
  EXPECT_THAT(Run({"results", "last", "--jobs", "-o", "csv"}).out, Not(HasSubstr("model.layers"))) << "they do not differ";

  v1::SweepSpec& with = *scheduler_.sweep.mutable_spec()->mutable_systems(0)->mutable_with();
  with.Clear();
  with.mutable_model()->set_kerple_shared(true);
  scheduler_.AnswerBySystem("true", "false");
  const nlohmann::json rows = nlohmann::json::parse(Run({"results", "last", "--jobs", "-o", "json"}).out)["measurements"];
  EXPECT_EQ(rows[2]["model.kerple_shared"], false) << rows[2];

  // More values than a table holds: what systems say themselves.
  scheduler_.refusals["GetTable"] = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "system by model.kerple_shared is a table of more than 200000 cells");
  EXPECT_THAT(Run({"results", "last", "--jobs", "-o", "csv"}).out, HasSubstr(",value,model.kerple_shared\n"));
}

TEST_F(ResultsJobsTest, JobsAsksForWhatIsNamedAndForAllElse) {
  Run({"results", "last", "--jobs"});
  EXPECT_EQ(scheduler_.measurements_request.sweep(), std::string(64, 'a'));
  EXPECT_EQ(scheduler_.measurements_request.metric(), "") << "not the preset's own";
  EXPECT_FALSE(scheduler_.measurements_request.has_length());
  EXPECT_FALSE(scheduler_.measurements_request.has_slice());

  Run({"results", "last", "--jobs", "--metric", "loss", "--length", "0", "--slice", "depth=3", "--only", "seed=0", "--only", "task=even_pairs"});
  EXPECT_EQ(scheduler_.measurements_request.metric(), "loss");
  EXPECT_TRUE(scheduler_.measurements_request.has_length());
  EXPECT_EQ(scheduler_.measurements_request.length(), 0);
  EXPECT_EQ(scheduler_.measurements_request.slice(), "depth=3");
  EXPECT_THAT(scheduler_.measurements_request.only(), ElementsAre("seed=0", "task=even_pairs"));
}

TEST_F(ResultsJobsTest, WhatSaysHowATableIsMadeIsRefusedBesideJobs) {
  for (const std::vector<std::string>& option : {std::vector<std::string>{"--rows", "task"}, {"--columns", "task"}, {"--aggregate", "mean"}, {"--best-of", "seed"},
                                                 {"--published"}, {"--table", "table-b1"}, {"--bits"}}) {
    std::vector<std::string> line = {"results", "last", "--jobs"};
    line.insert(line.end(), option.begin(), option.end());
    const Outcome outcome = Run(line);
    EXPECT_EQ(outcome.code, kUsage) << option.front();
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr("error: " + option.front() + " beside --jobs: "));
  }
  EXPECT_EQ(scheduler_.calls, 0);
}

TEST_F(ResultsJobsTest, ValuesOfPartsHaveOneHeaderAndSayWhichSweepTheyAreOf) {
  Measure();
  scheduler_.sweep.set_name("nope-table-1");
  const std::string out = Run({"results", "nope-tinyllama", "--jobs", "-o", "csv"}).out;
  EXPECT_THAT(out, StartsWith("sweep,job,system,"));
  EXPECT_EQ(out.rfind("sweep,job"), 0u);
  EXPECT_EQ(std::ranges::count(out, '\n'), 1 + 5 * 3);
  EXPECT_THAT(out, HasSubstr("\nnope-table-1," + second_ + ",wide,"));

  const nlohmann::json json = nlohmann::json::parse(Run({"results", "nope-tinyllama", "--jobs", "-o", "json"}).out);
  ASSERT_EQ(json["parts"].size(), 5u);
  EXPECT_EQ(json["parts"][0]["name"], "nope-table-1");
  EXPECT_EQ(json["parts"][4]["measurements"].size(), 3u);
}

TEST_F(ResultsJobsTest, MoreRowsThanAnyoneReadsAreForPrograms) {
  Measure();
  for (int length = 1; length <= 10'000; ++length) {
    v1::Measurement& one = *scheduler_.measurements.mutable_jobs(0)->add_measurements();
    one.set_metric("loss");
    one.set_length(length);
  }
  const Outcome shown = Run({"results", "last", "--jobs"});
  EXPECT_EQ(shown.code, kFailed);
  EXPECT_EQ(shown.out, "");
  EXPECT_THAT(shown.err, HasSubstr("more than 10,000 such values"));
  EXPECT_EQ(std::ranges::count(Run({"results", "last", "--jobs", "-o", "csv"}).out, '\n'), 1 + 10'003);
}

TEST_F(ResultsJobsTest, ASweepWithoutValuesHasAHeaderAlone) {
  const Outcome outcome = Run({"results", "last", "--jobs", "-o", "csv"});
  EXPECT_EQ(outcome.code, kDone);
  EXPECT_EQ(outcome.out, "job,system,task,encoding,learning_rate,seed,diverged,metric,length,slice,value\n");
  EXPECT_THAT(outcome.err, HasSubstr("no job of sweep 'table-b1' has such values"));
  EXPECT_EQ(Run({"results", "last", "--jobs", "-o", "json"}).out, "{\"schema\":\"longreach/v1\",\"measurements\":[]}\n");

  scheduler_.refusals["ListMeasurements"] = grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "only: unknown task 'x'");
  const Outcome refused = Run({"results", "last", "--jobs", "--only", "task=x", "-o", "csv"});
  EXPECT_EQ(refused.code, kUsage);
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(Run({"results", "last", "--jobs", "--only", "task=x", "-o", "json"}).out, "");
}

}  // namespace
}  // namespace longreach::client
