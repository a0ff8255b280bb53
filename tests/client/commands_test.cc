#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

#include "client/commands/command.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A command line for each command that asks a scheduler; the other tests run over all of them.
const std::map<std::string, std::vector<std::string>>& CommandLines() {
  static const std::map<std::string, std::vector<std::string>> lines = {
      {"cancel", {"cancel", "last"}},
      {"compare", {"compare", "last", "other"}},
      {"cost", {"cost", "last"}},
      {"drain", {"drain", "gpu-1"}},
      {"explain", {"explain", "bbbb"}},
      {"job", {"job", "bbbb"}},
      {"jobs", {"jobs", "last"}},
      {"list", {"list", "data"}},
      {"logs", {"logs", "bbbb"}},
      {"pause", {"pause", "last"}},
      {"plan", {"plan", "table-b1"}},
      {"priority", {"priority", "last", "-5"}},
      {"reach", {"reach", "last"}},     {"results", {"results", "last"}},
      {"resume", {"resume", "last"}},
      {"retry", {"retry", "last"}},
      {"run", {"run", "table-b1"}},
      {"spec", {"spec", "last"}},
      {"status", {"status"}},
      {"store", {"store", "check"}},
      {"submit", {"submit", "table-b1"}},
      {"sweeps", {"sweeps"}},
      {"wait", {"wait", "last"}},
      {"watch", {"watch"}},
      {"workers", {"workers"}},
  };
  return lines;
}

// Commands that need no scheduler, or have tests of their own because they write a file.
const std::vector<std::string> kLocal = {"attention", "certs", "complete", "completion", "config", "dashboard", "data", "diff", "doctor", "export", "plot", "reference", "tensorboard", "verify", "version"};

class CommandTest : public WithFakeScheduler {
 protected:
  CommandTest() {
    v1::Sweep& other = scheduler_.other_sweeps.emplace_back(scheduler_.sweep);
    other.set_id("other");
    other.set_name("other");
  }
};

TEST(RegistryTest, IsSortedAndEveryCommandIsTested) {
  std::string before;
  for (const CommandEntry& entry : Commands()) {
    EXPECT_LT(before, entry.name);
    before = entry.name;
    const bool local = std::find(kLocal.begin(), kLocal.end(), entry.name) != kLocal.end();
    EXPECT_NE(local, CommandLines().contains(before))
        << before << ": add it to one of the two lists of this test";
  }
}

TEST(HelpTest, EveryCommandHasSummaryAndExamplesThatAreCommands) {
  for (const CommandEntry& entry : Commands()) {
    const CommandInfo info = entry.make()->Info();
    EXPECT_NE(info.summary, "") << entry.name;
    EXPECT_THAT(std::string(info.examples),
                HasSubstr(std::string("longreach ") +
                          (entry.name == "complete" ? "__complete" : std::string(entry.name))));
    if (info.hidden) continue;
    const Outcome outcome = RunCommandLine({std::string(entry.name), "--help"});
    EXPECT_EQ(outcome.code, kDone) << entry.name;
    EXPECT_THAT(outcome.out, HasSubstr("Examples:"));
    EXPECT_EQ(outcome.err, "");
  }
}

TEST(HelpTest, TheOverviewNamesEveryCommand) {
  const Outcome outcome = RunCommandLine({"--help"});
  EXPECT_EQ(outcome.code, kDone);
  for (const CommandEntry& entry : Commands()) {
    EXPECT_EQ(outcome.out.find("  " + std::string(entry.name) + " ") == std::string::npos,
              entry.make()->Info().hidden)
        << entry.name;
  }
  EXPECT_EQ(RunCommandLine({"help", "run"}).out, RunCommandLine({"run", "--help"}).out);
}

TEST(HelpTest, WithoutACommandTheOverviewGoesToStderr) {
  const Outcome outcome = RunCommandLine({});
  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("Usage: longreach"));
}

TEST(UsageTest, UnknownWordsGetASuggestion) {
  const auto refused = [](std::vector<std::string> arguments, const std::string& text) {
    const Outcome outcome = RunCommandLine(arguments);
    EXPECT_EQ(outcome.code, kUsage) << text;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(text));
  };
  refused({"statsu"}, "error: unknown command 'longreach statsu'\n  did you mean 'status'?");
  refused({"list", "task"}, "did you mean 'tasks'?");
  refused({"store", "chekc"}, "did you mean 'check'?");
  refused({"results", "last", "--pubished"},
          "error: unknown option '--pubished'\n  did you mean '--published'?");
  refused({"results", "--pubished"}, "unknown option '--pubished'");
  refused({"status", "--shceduler", "x"}, "did you mean '--scheduler'?");
  refused({"run", "quickstart", "-z"}, "unknown option '-z'");
  refused({"pause"}, "SWEEP is required");
  refused({"watch", "nope-tinyllama"}, "'nope-tinyllama' stands for several sweeps; name one of nope-");
  refused({"list"}, "'longreach list' needs one of: tasks, encodings, presets, metrics, axes, data, fields, values");
  refused({"status", "a", "b"}, "b");
  refused({"plan", "quickstart", "training.steps=5"}, "not expected here: training.steps=5\n  '--set training.steps=5' replaces a field; 'longreach plan --help'");
  refused({"jobs", "last", "--limit", "3x"}, "--limit: '3x' is not a whole number from 0 to 2147483647");
  refused({"jobs", "last", "--limit", "-1"}, "'-1' is not a whole number from 0");
  refused({"run", "quickstart", "--checkpoint-every-s", "nan"}, "'nan' is not a number of seconds above 0");
  refused({"results", "last", "--length", "x"}, "--length: 'x' is not a number of the kind that it takes");
  refused({"run", "quickstart", "--packs", "0"}, "--packs: 0 is not within 1 to 64");
  refused({"run", "quickstart", "--threads"}, "--threads: its value is missing (N:INT)");
  refused({"run", "quickstart", "--threads", "1", "--threads", "2"}, "--threads: given more than once");
  refused({"priority", "last", "high"}, "high");
  refused({"priority", "last", "3000000000"}, "N: '3000000000' is not a whole number from -2147483648 to 2147483647");
  refused({"submit", "quickstart", "--priority", "3000000000"}, "--priority: 3000000000 is out of range");
  refused({"status", "-o", "yaml"}, "--output: unknown output format 'yaml'");
  refused({"status", "-o", "latex"}, "'longreach status' has no output as latex");
  refused({"jobs", "last", "--state", "failed,runing"}, "did you mean 'running'?");
  refused({"jobs", "last", "--state", "failed,,running"}, "--state: 'failed,,running' has a ',' without a state");
  refused({"wait", "last", "--timeout", "soon"}, "--timeout: 'soon' is not a duration");
  refused({"wait", "last", "--timeout", "-1"}, "is not a duration");
  refused({"results", "last", "--rows", "tsk"}, "--rows: unknown value 'tsk'\n  did you mean 'task'?");
  refused({"results", "last", "--rows", "lr"}, "--rows: unknown value 'lr'\n  did you mean 'learning_rate'?");
  refused({"results", "last", "--aggregate", "avg"}, "--aggregate: unknown value 'avg'\n  did you mean 'mean'? there are: max, min, mean, median");
  refused({"jobs", "last", "--state", "failed,done"}, "--state: unknown value 'done'\n  did you mean 'succeeded'? there are: waiting, ");
  refused({"jobs", "last", "--state", "RUNNING"}, "--state: unknown value 'RUNNING'\n  did you mean 'running'?");
  refused({"results", "last", "--rows", "task", "--columns", "task"}, "both 'task'");
  refused({"results", "last", "--rows", "seed,task", "--columns", "encoding,task"}, "--rows and --columns are both 'task'");
  refused({"results", "last", "--rows", "task,seed,task"}, "--rows names 'task' twice");
  refused({"results", "last", "--best-of", "learning_rat"}, "--best-of: unknown value 'learning_rat'\n  did you mean 'learning_rate'?");
  refused({"results", "last", "--best-of", "length"}, "--best-of: unknown value 'length'");
  refused({"results", "last", "--best-of", "seed,seed"}, "--best-of names 'seed' twice");
  refused({"results", "last", "--columns", "seed,tsk"}, "--columns: unknown value 'tsk'\n  did you mean 'task'?");
  refused({"results", "last", "--columns", ",seed"}, "--columns: ',seed' lacks an axis beside a ','\n  write several as task,system");
  refused({"run", "quickstart", "--threads", "0"}, "--threads");
  refused(
      {"plan", "table-b1", "--set", "encoding=roep"},
      "error: --set encoding: unknown encoding 'roep'\n  did you mean 'rope'? 'longreach list encodings' shows all of them\n");
}

TEST(UsageTest, MistakesAreJsonWhereJsonWasAskedFor) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"statsu", "-o", "json"},
        {"-ojson", "pause"},
        {"plan", "table-b1", "--output=json", "--set", "steps=1"}}) {
    const Outcome outcome = RunCommandLine(arguments);
    EXPECT_EQ(outcome.code, kUsage);
    EXPECT_EQ(outcome.out, "");
    const nlohmann::json json = nlohmann::json::parse(outcome.err);
    EXPECT_EQ(json["error"]["code"], "INVALID_ARGUMENT");
    EXPECT_NE(json["error"]["message"], "");
    EXPECT_NE(json["error"]["hint"], "");
  }
}

TEST(UsageTest, WordsThatAreNoTextAreNotSent) {
  for (const char* command : {"status", "jobs", "job", "explain", "logs", "drain"}) {
    const Outcome outcome = RunCommandLine({command, "a\xff", "--scheduler", "unix:/nowhere"});
    EXPECT_EQ(outcome.code, kUsage) << command;
    EXPECT_THAT(outcome.err, HasSubstr("'a\\xff' is not UTF-8")) << command;
  }
}

TEST(UnreachableTest, EveryCommandThatNeedsASchedulerEndsWithThree) {
  const TempFolder folder;
  for (const auto& [name, line] : CommandLines()) {
    std::vector<std::string> arguments = line;
    arguments.insert(arguments.end(), {"--scheduler", "unix:" + (folder.path() / "nobody").string()});
    const Outcome outcome = RunCommandLine(arguments);
    EXPECT_EQ(outcome.code, kUnreachable) << name << outcome.err;
    EXPECT_EQ(outcome.out, "") << name;
    EXPECT_THAT(outcome.err, HasSubstr("error: no scheduler at unix:")) << name;
    EXPECT_THAT(outcome.err, HasSubstr("'longreach run SPEC --store FILE' needs none")) << name;
  }
}

TEST_F(CommandTest, EveryCommandSucceedsAndTalksOnlyOnStderr) {
  for (const auto& [name, line] : CommandLines()) {
    const Outcome outcome = Run(line);
    EXPECT_EQ(outcome.code, kDone) << name << ": " << outcome.err;
    EXPECT_EQ(outcome.err.find("error"), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos) << "colour without a terminal: " << name;
  }
}

TEST_F(CommandTest, EveryCommandPrintsExactlyOneJsonValueThatBeginsWithTheSchema) {
  for (const auto& [name, line] : CommandLines()) {
    std::vector<std::string> arguments = line;
    arguments.insert(arguments.end(), {"-o", "json"});
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.code, kDone) << name << ": " << outcome.err;
    EXPECT_THAT(outcome.out, StartsWith("{\"schema\":\"longreach/v1\"")) << name;
    ASSERT_TRUE(nlohmann::json::accept(outcome.out)) << name << outcome.out;
  }
  for (const std::vector<std::string>& local : {std::vector<std::string>{"version"},
                                                {"list", "tasks"},
                                                {"list", "presets"},
                                                {"list", "metrics"},
                                                {"list", "axes"},
                                                {"list", "fields", "training"},
                                                {"list", "encodings"},
                                                {"completion", "bash"}}) {
    std::vector<std::string> arguments = local;
    arguments.insert(arguments.end(), {"-o", "json"});
    const Outcome outcome = RunCommandLine(arguments);
    EXPECT_EQ(outcome.code, kDone);
    EXPECT_EQ(nlohmann::json::parse(outcome.out)["schema"], "longreach/v1");
  }
}

TEST_F(CommandTest, VersionAsksTheSchedulerThatTheCommandLineNames) {
  const Outcome both = Run({"version"});
  EXPECT_EQ(both.code, kDone) << both.err;
  EXPECT_THAT(both.out, StartsWith("longreach "));
  EXPECT_THAT(both.out, HasSubstr("\nscheduler "));
  EXPECT_THAT(both.out, EndsWith(", store version 3\n"));
  const nlohmann::json asked = nlohmann::json::parse(Run({"version", "-o", "json"}).out)["scheduler"];
  EXPECT_EQ(asked["store_version"], 3);
  EXPECT_EQ(asked["now"], "2027-01-15T08:00:00Z");
  EXPECT_EQ(RunCommandLine({"version", "--scheduler", "127.0.0.1:1"}).code, kUnreachable);
  // One that is only usual is left alone, as it may be far away.
  const Outcome own = RunCommandLine({"version"}, {{"LONGREACH_SCHEDULER", "127.0.0.1:1"}});
  EXPECT_EQ(own.code, kDone) << own.err;
  EXPECT_THAT(own.out, Not(HasSubstr("scheduler")));
}

TEST_F(CommandTest, ARefusalBecomesItsExitCodeAndLeavesStdoutEmpty) {
  struct Case {
    grpc::StatusCode status;
    int code;
  };
  const std::map<std::string, std::string> calls = {
      {"cancel", "SteerSweep"},   {"compare", "GetSweep"},   {"cost", "ListAttempts"}, {"drain", "SteerWorker"},  {"explain", "ExplainJob"},
      {"job", "GetJob"},          {"jobs", "ListJobs"},      {"list", "ListDataSets"},
      {"logs", "GetLog"},         {"pause", "SteerSweep"},   {"plan", "SubmitSweep"},
      {"priority", "SteerSweep"}, {"reach", "ListMeasurements"}, {"results", "GetTable"},   {"resume", "SteerSweep"},
      {"retry", "SteerSweep"},    {"run", "SubmitSweep"},    {"spec", "GetSweep"},      {"status", "WatchSweep"},
      {"store", "CheckStore"},    {"submit", "SubmitSweep"}, {"sweeps", "ListSweeps"},
      {"wait", "WatchSweep"},     {"watch", "WatchSweep"},   {"workers", "ListWorkers"}};
  for (const auto& [name, line] : CommandLines()) {
    for (const Case& one : {Case{grpc::StatusCode::NOT_FOUND, kNotFound},
                            Case{grpc::StatusCode::PERMISSION_DENIED, kNotAllowed},
                            Case{grpc::StatusCode::INVALID_ARGUMENT, kUsage},
                            Case{grpc::StatusCode::FAILED_PRECONDITION, kFailed},
                            Case{grpc::StatusCode::RESOURCE_EXHAUSTED, kFailed}}) {
      scheduler_.refusals = {{calls.at(name), grpc::Status(one.status, "no such thing\ndo that \x1b[2J")}};
      std::vector<std::string> arguments = line;
      arguments.insert(arguments.end(), {"-o", "json"});
      const Outcome as_json = Run(arguments);
      EXPECT_EQ(as_json.code, one.code) << name;
      EXPECT_EQ(as_json.out, "") << name;
    }
    const Outcome outcome = Run(line);
    EXPECT_EQ(outcome.out, "") << name;
    EXPECT_THAT(outcome.err, HasSubstr("error: no such thing\n  do that \\x1b[2J\n")) << name;
  }
}

TEST_F(CommandTest, ErrorsAreJsonWhereverJsonWasAskedFor) {
  scheduler_.refusals["GetSweep"] = grpc::Status(grpc::StatusCode::NOT_FOUND, "no such sweep");
  const std::vector<std::string> line = {"results", "nosuch", "--scheduler", scheduler_.address()};
  EXPECT_EQ(nlohmann::json::parse(RunCommandLine(line, {{"LONGREACH_OUTPUT", "jsonl"}}).err)["error"]["code"], "NOT_FOUND");
  EXPECT_THAT(RunCommandLine(line, {{"LONGREACH_OUTPUT", "csv"}}).err, StartsWith("error: no such sweep"));
}

TEST_F(CommandTest, AJobSaysHowFarItsLossIs) { EXPECT_THAT(Run({"job", "bbbb"}).out, HasSubstr("\n  training loss 0.25 at step 20\n    █▁\n")); }

TEST_F(CommandTest, ASweepMayHaveTheNameOfACommand) {
  for (const char* command : {"status", "watch", "wait"}) {
    EXPECT_EQ(Run({command, "export"}).code, kDone) << command;
    EXPECT_EQ(scheduler_.watched.back(), "export") << command;
  }
  for (const char* command : {"jobs", "results", "plan"}) EXPECT_EQ(Run({"jobs", command}).code, kDone) << command;
}

TEST_F(CommandTest, QuietPrintsBareIds) {
  EXPECT_EQ(Run({"submit", "table-b1", "-q"}).out, std::string(64, 'a') + "\n");
  EXPECT_EQ(Run({"sweeps", "-q"}).out, std::string(64, 'a') + "\nother\n");
  EXPECT_EQ(Run({"jobs", "last", "-q"}).out, std::string(63, 'b') + "0\n" + std::string(63, 'b') + "1\n");
  EXPECT_EQ(Run({"workers", "-q"}).out, "0123456789\n");
  EXPECT_EQ(Run({"submit", "table-b1", "-q"}).err, "");
}

TEST_F(CommandTest, JobsAsCsvHaveTheSameColumnsWhicheverJobsThereAre) {
  const auto columns = [](const Outcome& outcome) { return outcome.out.substr(0, outcome.out.find('\n')); };
  const std::string all = "id,system,task,encoding,learning_rate,seed,state,diverged,step,steps,score,failures,failure";
  EXPECT_EQ(columns(Run({"jobs", "last", "-o", "csv"})), all);
  EXPECT_THAT(columns(Run({"jobs", "last"})), Not(AnyOf(HasSubstr("SYSTEM"), HasSubstr("DIVERGED"))));

  scheduler_.jobs.mutable_jobs(0)->set_diverged(true);
  scheduler_.jobs.mutable_jobs(1)->add_systems("wide");
  const Outcome csv = Run({"jobs", "last", "-o", "csv"});
  EXPECT_EQ(columns(csv), all);
  EXPECT_THAT(csv.out, HasSubstr("0,,even_pairs,rope:randomized,0.0003,0,succeeded,true,1000,1000,0.875,0,\n"));
  EXPECT_THAT(csv.out, HasSubstr("1,wide,even_pairs,rope:randomized,0.0003,1,succeeded,false,1000,1000,0.875,0,\n"));
  EXPECT_THAT(columns(Run({"jobs", "last"})), AllOf(HasSubstr("SYSTEM"), HasSubstr("DIVERGED")));

  scheduler_.jobs.clear_jobs();
  EXPECT_EQ(Run({"jobs", "last", "-o", "csv"}).out, all + "\n");
}

TEST_F(CommandTest, JobsThatAreLeasedAreRunningForPeople) {
  for (const char* asked : {"running", "leased"}) {
    EXPECT_EQ(Run({"jobs", "last", "--state", std::string("failed,") + asked}).code, kDone) << asked;
    EXPECT_EQ(scheduler_.jobs_request.state(), "failed,leased") << asked;
  }
  for (v1::Job& job : *scheduler_.jobs.mutable_jobs()) job.set_state("leased");
  EXPECT_THAT(Run({"jobs", "last"}).out, AllOf(HasSubstr(" running "), Not(HasSubstr("leased"))));
  EXPECT_THAT(Run({"job", "bbbb"}).out, HasSubstr("  running, step 1000 of 1000\n"));
  EXPECT_THAT(Run({"jobs", "last", "-o", "csv"}).out, AllOf(HasSubstr(",leased,"), Not(HasSubstr("running")))) << "programs go by the contract";
  EXPECT_THAT(Run({"jobs", "last", "-o", "json"}).out, HasSubstr("\"state\":\"leased\""));
}

TEST_F(CommandTest, JobsFollowsAllPages) {
  const Outcome all = Run({"jobs", "last", "-o", "json", "--state", "succeeded"});
  EXPECT_EQ(scheduler_.jobs_request.state(), "succeeded");
  EXPECT_EQ(nlohmann::json::parse(all.out)["jobs"].size(), 2u);

  const std::string row = ",,even_pairs,rope:randomized,0.0003,";
  EXPECT_EQ(Run({"jobs", "last", "-o", "csv"}).out, "id,system,task,encoding,learning_rate,seed,state,diverged,step,steps,score,failures,failure\n" +
                                                        std::string(63, 'b') + "0" + row + "0,succeeded,false,1000,1000,0.875,0,\n" +
                                                        std::string(63, 'b') + "1" + row + "1,succeeded,false,1000,1000,0.875,0,\n");
  EXPECT_EQ(scheduler_.jobs_request.limit(), 4000);
  EXPECT_EQ(Run({"jobs", "last", "-o", "csv", "--limit", "2"}).err, "");
  EXPECT_EQ(scheduler_.jobs_request.limit(), 1) << "the second page has what the first left";

  const Outcome one = Run({"jobs", "last", "-o", "json", "--limit", "1"});
  EXPECT_EQ(scheduler_.jobs_request.page_token(), "") << "no other page is asked for";
  EXPECT_EQ(nlohmann::json::parse(one.out)["jobs"].size(), 1u);
  EXPECT_THAT(one.err, HasSubstr("--limit 0 shows all"));

  scheduler_.jobs.clear_jobs();
  EXPECT_EQ(nlohmann::json::parse(Run({"jobs", "last", "-o", "json"}).out)["jobs"].size(), 0u);
}

TEST_F(CommandTest, AnOutputFormatOfTheEnvironmentIsOnlyAWish) {
  const Outcome outcome =
      RunCommandLine({"status", "--scheduler", scheduler_.address()}, {{"LONGREACH_OUTPUT", "csv"}});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("2/2 done"));
}

TEST_F(CommandTest, ACallThatMayBeRepeatedIsRepeated) {
  scheduler_.refusals["ListSweeps"] = grpc::Status(grpc::StatusCode::UNAVAILABLE, "restarting");
  const Outcome outcome = Run({"sweeps"});
  EXPECT_EQ(outcome.code, kUnreachable);
  EXPECT_EQ(scheduler_.calls, 3);
  EXPECT_THAT(outcome.err, HasSubstr("lost the scheduler at "));
}

}  // namespace
}  // namespace longreach::client
