#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "proto/base/text.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// The words that are offered, without their descriptions.
std::vector<std::string> Offered(const std::vector<std::string>& words,
                                 const std::string& scheduler = "unix:/nonexistent") {
  std::vector<std::string> arguments = {"--scheduler", scheduler, "__complete", "--"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  const Outcome outcome = RunCommandLine(arguments);
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  std::vector<std::string> offered;
  for (const std::string& line : Split(Trim(outcome.out), '\n')) {
    if (!line.empty()) offered.push_back(line.substr(0, line.find('\t')));
  }
  return offered;
}

TEST(CompletionTest, OffersCommandsButNotHiddenOnes) {
  EXPECT_THAT(Offered({"re"}), ElementsAre("reach", "results", "resume", "retry"));
  EXPECT_THAT(Offered({""}), Contains("run"));
  EXPECT_THAT(Offered({"__"}), IsEmpty());
}

TEST(CompletionTest, OffersSubcommandsOptionsAndTheirValues) {
  EXPECT_THAT(Offered({"store", ""}), ElementsAre("backup", "check", "migrate", "merge"));
  EXPECT_THAT(Offered({"results", "last", "--pub"}), ElementsAre("--published"));
  EXPECT_THAT(Offered({"results", "--sto"}), ElementsAre("--store"));
  EXPECT_THAT(Offered({"results", "--aggregate", "m"}), ElementsAre("max", "min", "mean", "median"));
  for (const char* option : {"--rows", "--columns", "--best-of"}) EXPECT_THAT(Offered({"results", option, "learning"}), ElementsAre("learning_rate")) << "the first of several axes";
  EXPECT_THAT(Offered({"-o", "j"}), ElementsAre("json"));
  EXPECT_THAT(Offered({"-o", ""}), ElementsAre("table", "json", "csv", "markdown", "latex"));
  EXPECT_THAT(Offered({"cost", "-o", ""}), ElementsAre("table", "json", "csv", "markdown", "latex"));
  EXPECT_THAT(Offered({"spec", "last", "--output="}), ElementsAre("--output=table", "--output=json")) << "it has no others";
  EXPECT_THAT(Offered({"store", "backup", "-o", ""}), Contains("json"));
  EXPECT_THAT(Offered({"jobs", "last", "--state", "f"}), ElementsAre("failed"));
  EXPECT_THAT(Offered({"jobs", "last", "--state", ""}), AllOf(Contains("running"), Not(Contains("leased"))));
}

TEST(CompletionTest, OffersTheValuesOfAnOptionThatIsInOneWordWithThem) {
  EXPECT_THAT(Offered({"results", "--aggregate=m"}), ElementsAre("--aggregate=max", "--aggregate=min", "--aggregate=mean", "--aggregate=median"));
  EXPECT_THAT(Offered({"results", "--aggregate=", "last"}), Not(Contains(HasSubstr("--aggregate")))) << "whose word is over";
  EXPECT_THAT(Offered({"run", "table-b1", "--set=encoding=ro"}), ElementsAre("--set=encoding=rope", "--set=encoding=rope:randomized"));
  EXPECT_THAT(Offered({"sweeps", "--store="}), ElementsAre(":files"));
  EXPECT_THAT(Offered({"sweeps", "--quiet="}), IsEmpty()) << "it takes none";
  EXPECT_THAT(Offered({"sweeps", "--nothing="}), IsEmpty());
}

TEST(CompletionTest, OffersWhatAListDoesNotHaveYet) {
  EXPECT_THAT(Offered({"jobs", "last", "--state", "queued,"}), ElementsAre("queued,waiting", "queued,running", "queued,succeeded", "queued,failed", "queued,cancelled", "queued,diverged"));
  EXPECT_THAT(Offered({"jobs", "last", "--state=queued,run"}), ElementsAre("--state=queued,running"));
  EXPECT_THAT(Offered({"run", "quickstart", "--set", "encoding=rope,al"}), ElementsAre("encoding=rope,alibi", "encoding=rope,alibi:randomized"));
  EXPECT_THAT(Offered({"run", "quickstart", "--set", "encoding=rope,rope"}), ElementsAre("encoding=rope,rope:randomized"));
  EXPECT_THAT(Offered({"run", "quickstart", "--set", "training.lengths=1,"}), IsEmpty()) << "numbers are not known";
  EXPECT_THAT(Offered({"results", "last", "--rows", "task,enc"}), ElementsAre("task,encoding"));
  EXPECT_THAT(Offered({"sweeps", "--store", "a,b"}), ElementsAre(":files")) << "a name, and no list";
}

TEST(CompletionTest, OffersNothingOfACommandThatThereIsNot) {
  EXPECT_THAT(Offered({"bogus", ""}), IsEmpty());
  EXPECT_THAT(Offered({"help", "ru"}), ElementsAre("run"));
}

// Lengths and slices, which tables have as rows, are not of jobs: the options below refuse them.
TEST(CompletionTest, OffersTheAxesThatAnOptionTakes) {
  EXPECT_THAT(Offered({"results", "--rows", "l"}), ElementsAre("layer", "learning_rate", "length", "longbench_task"));
  for (const char* command : {"results", "plot"}) EXPECT_THAT(Offered({command, "--best-of", "l"}), ElementsAre("learning_rate")) << command;
  EXPECT_THAT(Offered({"results", "--best-of", ""}), AllOf(Contains("system"), Contains("task"), Contains("encoding"), Contains("seed"), Not(Contains("depth")), Not(Contains("step"))));
  EXPECT_THAT(Offered({"results", "--best-of", "model.lay"}), ElementsAre("model.layers"));
  EXPECT_THAT(Offered({"compare", "last", "--by", ""}), ElementsAre("system", "task", "encoding", "learning_rate", "seed"));
  for (const std::string& axis : Offered({"results", "--best-of", ""})) {
    if (axis.find('.') != std::string::npos && axis != "model.layers") continue;  // One setting for all.
    EXPECT_THAT(RunCommandLine({"results", "last", "--best-of", axis, "--scheduler", "unix:/nonexistent"}).err, Not(HasSubstr("--best-of"))) << axis;
  }
}

TEST(CompletionTest, OffersPresetsFilesAndWhatCanBeSet) {
  EXPECT_THAT(Offered({"run", "table-b"}), ElementsAre("table-b1", ":files"));
  EXPECT_THAT(Offered({"run", "table-b1", "--set", "training."}), Contains("training.steps="));
  EXPECT_THAT(Offered({"run", "table-b1", "--set", "encoding=ro"}),
              ElementsAre("encoding=rope", "encoding=rope:randomized"));
  EXPECT_THAT(Offered({"run", "table-b1", "x"}), Not(Contains(":files"))) << "it takes one SPEC";
  EXPECT_THAT(Offered({"store", "merge", ""}), ElementsAre(":files"));
}

TEST(CompletionTest, OffersSweepsOfASchedulerThatIsThere) {
  FakeScheduler scheduler;
  EXPECT_THAT(Offered({"results", ""}, scheduler.address()), ElementsAre("last", "table-b1"));
  EXPECT_THAT(Offered({"compare", "last", ""}, scheduler.address()), ElementsAre("last", "table-b1"));
  EXPECT_THAT(Offered({"spec", "last", ""}, scheduler.address()), ElementsAre("last", "table-b1")) << "it takes several";
  EXPECT_THAT(Offered({"drain", ""}, scheduler.address()), ElementsAre("gpu-1"));
  EXPECT_THAT(Offered({"results", ""}), ElementsAre("last")) << "and none without one";
}

TEST(CompletionTest, WhatHasANameWithAnotherGoesByItsId) {
  FakeScheduler scheduler;
  v1::Sweep& second = scheduler.other_sweeps.emplace_back(scheduler.sweep);
  second.set_id(std::string(64, 'c'));
  EXPECT_THAT(Offered({"results", ""}, scheduler.address()), ElementsAre("last", "aaaaaaaa", "cccccccc"));

  v1::WorkerInfo& gone = *scheduler.workers.add_workers();
  gone = scheduler.workers.workers(0);
  gone.set_id("9876543210");
  gone.set_state("gone");
  EXPECT_THAT(Offered({"drain", ""}, scheduler.address()), ElementsAre("gpu-1")) << "one that is gone can be told nothing";
  gone.set_state("draining");
  EXPECT_THAT(Offered({"drain", ""}, scheduler.address()), ElementsAre("01234567", "98765432"));
  gone.set_name("two words");
  EXPECT_THAT(Offered({"drain", ""}, scheduler.address()), ElementsAre("gpu-1", "98765432"));
}

TEST(CompletionTest, OffersJobsOfTheLastSweep) {
  FakeScheduler scheduler;
  const std::string id(12, 'b');
  for (const char* command : {"job", "logs", "explain", "attention", "verify"}) {
    EXPECT_THAT(Offered({command, ""}, scheduler.address()), ElementsAre(id)) << command;
    EXPECT_THAT(Offered({command, ""}), IsEmpty()) << command;
  }
  EXPECT_EQ(scheduler.jobs_request.sweep(), "last");
  EXPECT_EQ(scheduler.jobs_request.limit(), 100);
  EXPECT_THAT(Offered({"verify", id, ""}, scheduler.address()), ElementsAre(id)) << "it takes several";
  EXPECT_THAT(Offered({"job", id, ""}, scheduler.address()), IsEmpty());
}

TEST(CompletionTest, OffersTheAttemptsOfTheJobOfTheLine) {
  FakeScheduler scheduler;
  for (const uint32_t number : {12u, 3u}) {
    v1::AttemptInfo& attempt = scheduler.attempts.emplace_back();
    attempt.set_attempt(number);
    attempt.set_outcome(number == 3 ? "failed" : "");
    attempt.set_worker_name("gpu-1");
  }
  EXPECT_THAT(Offered({"logs", "bbbb", "--attempt", ""}, scheduler.address()), ElementsAre("12", "3"));
  EXPECT_THAT(Offered({"logs", "bbbb", "--attempt", "1"}, scheduler.address()), ElementsAre("12"));
  EXPECT_THAT(Offered({"logs", "--attempt", ""}, scheduler.address()), IsEmpty()) << "of which job is not known";
  EXPECT_THAT(Offered({"logs", "bbbb", "--attempt", ""}), IsEmpty());
}

class ChoicesCompletionTest : public ::testing::Test {
 protected:
  ChoicesCompletionTest() {
    v1::Axes& axes = *scheduler_.sweep.mutable_spec()->mutable_axes();
    for (const char* task : {"parity_check", "even_pairs"}) axes.add_task(task);
    for (const char* encoding : {"rope", "rope:randomized"}) axes.add_encoding(encoding);
    axes.add_seed(3);
    for (const int layers : {1, 2}) {
      v1::System& system = *scheduler_.sweep.mutable_spec()->add_systems();
      system.set_name("layers-" + std::to_string(layers));
      system.mutable_with()->mutable_model()->set_layers(layers);
    }
    v1::Sweep& other = scheduler_.other_sweeps.emplace_back();
    other.set_id(std::string(64, 'c'));
    other.mutable_spec()->mutable_axes()->add_task("bucket_sort");
  }
  std::vector<std::string> OfSweep(const std::vector<std::string>& words) { return Offered(words, scheduler_.address()); }

  FakeScheduler scheduler_;
};

TEST_F(ChoicesCompletionTest, OffersWhatTheSweepOfTheLineHas) {
  for (const char* command : {"results", "plot", "compare", "reach", "jobs", "cancel", "retry"}) {
    EXPECT_THAT(OfSweep({command, "table-b1", "--only", "t"}), ElementsAre("task=")) << command;
    EXPECT_THAT(OfSweep({command, "table-b1", "--only", "task="}), ElementsAre("task=even_pairs", "task=parity_check")) << command;
    EXPECT_THAT(OfSweep({command, "table-b1", "--only", "seed=3", "--only", "task=p"}), ElementsAre("task=parity_check")) << command;
    EXPECT_THAT(OfSweep({command, "table-b1", "--only=seed=3", "--only=task=p"}), ElementsAre("--only=task=parity_check")) << command;
  }
  EXPECT_THAT(OfSweep({"results", std::string(64, 'c'), "--only", "task="}), ElementsAre("task=bucket_sort"));
  EXPECT_THAT(OfSweep({"results", "table-b1", "--only", "encoding=rope,"}), ElementsAre("encoding=rope,rope:randomized"));
  EXPECT_THAT(OfSweep({"results", "table-b1", "--only", "model."}), ElementsAre("model.layers="));
  EXPECT_THAT(OfSweep({"results", "table-b1", "--only", "model.layers="}), ElementsAre("model.layers=1", "model.layers=2"));
}

TEST_F(ChoicesCompletionTest, OffersLengthsAndSlicesWhereTheyMayBeChosen) {
  for (const char* command : {"results", "plot", "compare", "reach", "tensorboard"}) EXPECT_THAT(OfSweep({command, "table-b1", "--only", "le"}), ElementsAre("length=")) << command;
  EXPECT_THAT(OfSweep({"results", "table-b1", "--only", "la"}), ElementsAre("layer="));
  for (const char* command : {"compare", "reach"}) EXPECT_THAT(OfSweep({command, "table-b1", "--only", "la"}), IsEmpty()) << command;
  for (const char* command : {"jobs", "cancel", "retry"}) EXPECT_THAT(OfSweep({command, "table-b1", "--only", "le"}), IsEmpty()) << command;
}

TEST_F(ChoicesCompletionTest, OffersBothSweepsOfAComparison) {
  EXPECT_THAT(OfSweep({"compare", "table-b1", std::string(64, 'c'), "--only", "task="}), ElementsAre("task=bucket_sort", "task=even_pairs", "task=parity_check"));
}

TEST_F(ChoicesCompletionTest, OffersWhatMayBeComparedWithinASweep) {
  EXPECT_THAT(OfSweep({"compare", "table-b1", "--between", ""}), ElementsAre("system=", "task=", "encoding=", "randomized", "model.layers="));
  EXPECT_THAT(OfSweep({"compare", "table-b1", "--between", "task=p"}), ElementsAre("task=parity_check,even_pairs"));
}

TEST_F(ChoicesCompletionTest, WithoutASweepOffersAxesAlone) {
  EXPECT_THAT(OfSweep({"cancel", "--only", ""}), AllOf(Contains("task="), Contains("model.layers="), Contains("training.batch_size=")));
  EXPECT_THAT(OfSweep({"cancel", "--only", "task="}), IsEmpty()) << "which sweep is meant is not known";
  EXPECT_THAT(OfSweep({"jobs", "--only", "task=p"}), ElementsAre("task=parity_check")) << "this one takes the last";
  EXPECT_THAT(Offered({"results", "last", "--only", "en"}), ElementsAre("encoding=")) << "where nobody can be asked";
  EXPECT_THAT(Offered({"results", "last", "--only", "evaluation.see"}), ElementsAre("evaluation.seed="));
  EXPECT_THAT(Offered({"compare", "last", "--between", ""}), ElementsAre("randomized", "system=", "task=", "encoding=", "learning_rate=", "seed="));
}

TEST_F(ChoicesCompletionTest, AsksWhomTheLineNames) {
  for (const std::vector<std::string>& place : std::vector<std::vector<std::string>>{{"--scheduler", scheduler_.address()}, {"--scheduler=" + scheduler_.address()}}) {
    std::vector<std::string> line = place;
    line.insert(line.end(), {"results", "table-b1", "--only", "task=p"});
    EXPECT_THAT(Offered(line), ElementsAre("task=parity_check")) << place.front();
  }
  const TempFolder folder, runtime;
  folder.WriteScript("longreach-scheduler", "echo listening on " + scheduler_.address() + "\ncat >/dev/null\n");
  const std::string store = folder.Write("named.db", "a store");
  const auto completed = [&](const std::string& named) {
    return RunCommandLine({"__complete", "--", "results", "table-b1", "--store", named, "--only", "task=p"}, {{"XDG_RUNTIME_DIR", runtime.path().string()}, {"HOME", folder.path().string()}}, folder.path()).out;
  };
  EXPECT_EQ(completed(store), "task=parity_check\n");
  EXPECT_EQ(completed(store + ".missing"), "");
  EXPECT_EQ(completed("~/named.db"), "task=parity_check\n") << "as a shell hands it over";
}

TEST(CompletionTest, OffersSweepsOfTheStoreThatTheEnvironmentNames) {
  const FakeScheduler scheduler;
  const TempFolder folder, runtime;
  const std::string calls = (folder.path() / "calls").string();
  folder.WriteScript("longreach-scheduler", "echo \"$@\" >>" + calls + "\necho listening on " + scheduler.address() + "\ncat >/dev/null\n");
  const std::string store = (folder.path() / "test.db").string();
  const auto completed = [&] {
    return RunCommandLine({"__complete", "--", "results", ""}, {{"XDG_RUNTIME_DIR", runtime.path().string()}, {"LONGREACH_STORE", store}}, folder.path()).out;
  };
  EXPECT_EQ(completed(), "last\tThe newest sweep\n");
  EXPECT_FALSE(std::filesystem::exists(calls)) << "a store that is not there is not made";
  folder.Write("test.db", "a store");

  EXPECT_THAT(completed(), HasSubstr("\ntable-b1\tlive, 2 jobs\n"));

  std::ifstream file(calls);
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(file), {}), HasSubstr("--copy-to-read --copy-always")) << "nothing is changed, and nobody waits";

  std::filesystem::remove(calls);
  std::filesystem::resize_file(store, uintmax_t{200} << 20);
  EXPECT_EQ(completed(), "last\tThe newest sweep\n") << "a copy would take too long";
  EXPECT_FALSE(std::filesystem::exists(calls));
}

TEST(CompletionTest, OffersTheContextsOfTheConfigFileWithTheirPlaces) {
  const TempFolder home;
  std::filesystem::create_directories(home.path() / "longreach");
  home.Write("longreach/config.yaml", "contexts:\n  laptop: {store: ~/b1.db}\n  cluster: {scheduler: head, token_file: secret.token}\n  plain: {color: never}\n");
  const std::map<std::string, std::string> variables = {{"XDG_CONFIG_HOME", home.path().string()}};

  EXPECT_EQ(RunCommandLine({"__complete", "--", "sweeps", "--context", ""}, variables).out, "laptop\t~/b1.db\ncluster\thead\nplain\n");
  EXPECT_EQ(RunCommandLine({"__complete", "--", "--context", "c"}, variables).out, "cluster\thead\n");
  EXPECT_EQ(RunCommandLine({"__complete", "--", "--context=c"}, variables).out, "--context=cluster\thead\n");
}

TEST(CompletionTest, AsksTheSchedulerThatTheWordsSoFarName) {
  const FakeScheduler scheduler;
  const TempFolder home;
  std::filesystem::create_directories(home.path() / "longreach");
  home.Write("longreach/config.yaml", "contexts:\n  far: {scheduler: '" + scheduler.address() + "'}\n  nobody: {scheduler: 'unix:/nonexistent'}\n");
  const auto offered = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"__complete", "--"});
    return RunCommandLine(words, {{"XDG_CONFIG_HOME", home.path().string()}, {"LONGREACH_SCHEDULER", "unix:/nonexistent"}}).out;
  };
  EXPECT_THAT(offered({"status", ""}), Not(HasSubstr("table-b1")));
  EXPECT_THAT(offered({"status", "--context", "far", ""}), HasSubstr("\ntable-b1\t"));
  EXPECT_THAT(offered({"--context=far", "status", ""}), HasSubstr("\ntable-b1\t"));
  EXPECT_THAT(offered({"status", "--scheduler", scheduler.address(), ""}), HasSubstr("\ntable-b1\t"));
  EXPECT_THAT(offered({"status", "--context", "nobody", ""}), Not(HasSubstr("table-b1")));
  EXPECT_EQ(offered({"status", "--context", "fra", ""}), "");
  EXPECT_EQ(offered({"status", "--context", "f"}), "far\t" + scheduler.address() + "\n") << "which is being typed";
}

TEST(CompletionTest, EachShellHasAScriptThatAsksTheProgram) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    EXPECT_THAT(RunCommandLine({"completion", shell}).out, HasSubstr("longreach __complete -- ")) << shell;
  }
}

}  // namespace
}  // namespace longreach::client
