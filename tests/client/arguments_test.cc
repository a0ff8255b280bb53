// What of a command line is refused before anything is asked or made, whichever command it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "client/absolute_path.h"
#include "proto/base/text.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class ArgumentsTest : public WithFakeScheduler {};

// Each is meant for a value of one option alone: a state's word says nothing of a metric.
TEST_F(ArgumentsTest, AWordOfAnotherProgramIsAnsweredWithOurOwn) {
  const auto refused = [this](const std::vector<std::string>& line) { return Run(line).err; };
  EXPECT_THAT(refused({"results", "last", "--metric", "val_loss"}), HasSubstr("--metric: unknown value 'val_loss'\n  did you mean 'loss'? there are: "));
  EXPECT_THAT(refused({"results", "last", "--metric", "ppl"}), HasSubstr("did you mean 'perplexity'?"));
  EXPECT_THAT(refused({"results", "last", "--aggregate", "average"}), HasSubstr("--aggregate: unknown value 'average'\n  did you mean 'mean'? there are: max, "));
  EXPECT_THAT(refused({"results", "last", "--aggregate", "std"}), HasSubstr("--aggregate: unknown value 'std'\n  a standard deviation stands beside a mean: --aggregate mean --spread in tables, "));
  EXPECT_THAT(refused({"jobs", "last", "--state", "pending"}), HasSubstr("--state: unknown value 'pending'\n  did you mean 'queued'? there are: "));
  EXPECT_THAT(refused({"results", "last", "--metric", "pending"}), ::testing::Not(HasSubstr("queued")));
  EXPECT_THAT(refused({"jobs", "last", "--state", "avg"}), ::testing::Not(HasSubstr("did you mean")));
  EXPECT_EQ(scheduler_.calls, 0);
}

// "$LIMIT" of a script that never set it.
TEST_F(ArgumentsTest, AnOptionWithoutAValueIsNotTakenForOneThatWasLeftOut) {
  const std::vector<std::vector<std::string>> lines = {
      {"wait", "last", "--timeout", ""},      {"jobs", "last", "--state", ""},          {"submit", "table-b1", "--priority", ""}, {"results", "last", "--rows", ""},
      {"run", "table-b1", "--engine", ""},    {"doctor", "--data-folder", ""},          {"data", "list", "--data-folder", ""},    {"job", "bbbb", "--get", ""},
      {"results", "last", "--metric", "", "--rows", "task"}, {"cancel", "last", "--only", ""}};
  for (const std::vector<std::string>& line : lines) {
    const Outcome outcome = Run(line);
    EXPECT_EQ(outcome.code, kUsage) << line.front();
    EXPECT_EQ(outcome.out, "") << line.front();
    EXPECT_THAT(outcome.err, EndsWith(": is empty\n  give it a value, or leave it out\n")) << line.front();
  }
  EXPECT_EQ(scheduler_.calls, 0);
  EXPECT_THAT(Run({"wait", "--timeout", "", "-o", "json"}).err, HasSubstr("\"message\":\"--timeout: is empty\""));
}

TEST_F(ArgumentsTest, TimesMayHaveAUnit) {
  const auto refused = [this](const std::vector<std::string>& line) {
    const Outcome outcome = Run(line);
    EXPECT_EQ(outcome.code, kUsage) << outcome.out;
    return outcome.err;
  };
  EXPECT_THAT(refused({"run", "quickstart", "--checkpoint-every-s", "0min"}), HasSubstr("--checkpoint-every-s: '0' is not a number of seconds above 0"));
  EXPECT_THAT(refused({"run", "quickstart", "--checkpoint-every-s", "5 weeks"}),
              HasSubstr("--checkpoint-every-s: '5 weeks' is not a duration: write seconds, or a number with s, min, h or d behind it"));
  EXPECT_THAT(refused({"wait", "--timeout", "5 weeks"}),
              HasSubstr("--timeout: '5 weeks' is not a duration\n  write seconds, or a number with s, min, h or d behind it: 90, 15min, 2h"));
}

TEST(AnswerTest, HelpKeepsToTheTerminal) {
  const auto help = [](bool is_terminal, int width) {
    std::ostringstream out, err;
    Environment environment;
    environment.out = &out;
    environment.err = &err;
    environment.out_is_terminal = is_terminal;
    environment.out_width = [width] { return width; };
    environment.variable = [](const char*) { return std::string(); };
    EXPECT_EQ(RunClient({"run", "--help"}, environment), kDone) << err.str();
    return out.str();
  };
  const auto widest = [](const std::string& text) {
    size_t most = 0;
    for (const std::string& line : Split(text, '\n')) most = std::max(most, line.starts_with("  longreach ") ? 0 : line.size());
    return most;
  };
  EXPECT_GT(widest(help(false, 0)), 120U) << "a program has lines whole";
  EXPECT_LE(widest(help(true, 60)), 60U);
  EXPECT_GT(widest(help(true, 60)), 50U);
  EXPECT_LE(widest(help(true, 0)), 80U) << "it does not say";
  EXPECT_EQ(help(true, 1000), help(false, 0));
}

TEST(AnswerTest, HelpThatCannotBeWrittenIsNoSuccess) {
  for (const std::vector<std::string>& line : {std::vector<std::string>{"--help"}, {"run", "--help"}, {"--version"}}) {
    std::ostream full(nullptr);
    std::ostringstream err;
    Environment environment;
    environment.out = &full;
    environment.err = &err;
    environment.variable = [](const char*) { return std::string(); };
    // Of a pipe, as this test's own output may be, it is its reader's choice.
    EXPECT_THAT(RunClient(line, environment), AnyOf(kFailed, kReaderGone)) << line.back();
  }
}

// What the scheduler refuses of these is not offered: 'length' tells values of a job apart.
TEST_F(ArgumentsTest, OnlyIsOfJobsWhereACommandTakesThemWhole) {
  for (const char* command : {"cancel", "diff", "jobs", "retry"}) {
    const std::string help = Run({command, "--help"}).out;
    EXPECT_THAT(help, HasSubstr("Only jobs with these values of an axis; of numbers also ranges")) << command;
  }
  for (const char* command : {"compare", "plot", "reach", "results", "tensorboard"}) {
    EXPECT_THAT(Run({command, "--help"}).out, HasSubstr("Only jobs with these values of an axis, or their values at these lengths or in these slices")) << command;
  }
}

class FolderThatIsGoneTest : public ::testing::Test {
 protected:
  void SetUp() override {
    before_ = std::filesystem::current_path();
    TempFolder gone;
    std::filesystem::current_path(gone.path());
  }
  void TearDown() override { std::filesystem::current_path(before_); }

  std::filesystem::path before_;
};

TEST_F(FolderThatIsGoneTest, PathsThatBeginInItAreRefusedAndOthersAreAsTheyWere) {
  const absl::StatusOr<std::filesystem::path> refused = AbsolutePath("FILE", "copy.db");
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("FILE: 'copy.db' begins in the folder that this was called in"));
  EXPECT_EQ(*AbsolutePath("FILE", "/backup/copy.db"), "/backup/copy.db");
}

TEST_F(FolderThatIsGoneTest, CommandsEndWithAnError) {
  for (const std::vector<std::string>& line : {std::vector<std::string>{"store", "backup", "copy.db", "--scheduler", "localhost:1"},
                                               {"store", "merge", "other.db", "--scheduler", "localhost:1"},
                                               {"export", "bbbb", "tuned", "--scheduler", "localhost:1"},
                                               {"tensorboard", "last", "runs", "--scheduler", "localhost:1"},
                                               {"certs", "init", "certs"}}) {
    const Outcome outcome = RunCommandLine(line);
    EXPECT_EQ(outcome.code, kFailed) << line.front();
    EXPECT_THAT(outcome.err, HasSubstr("begins in the folder that this was called in, which cannot be named: ")) << line.front();
  }
}

TEST(AbsolutePathTest, ThereMustBeAPath) {
  EXPECT_EQ(AbsolutePath("DIR", "").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(*AbsolutePath("DIR", "tuned"), std::filesystem::current_path() / "tuned");
}

// Where std::filesystem would throw.
TEST(UnreadablePathsTest, AListOfTokensThatCannotBeLookedAtIsNamed) {
  const std::string name(300, 'a');
  const Outcome outcome = RunCommandLine({"certs", "token", "--role", "client", "--name", "bob", "--add", name});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("error: cannot look at " + name + ": File name too long\n"));
  EXPECT_EQ(RunCommandLine({"certs", "init", name}).code, kFailed);
}

TEST(UnreadablePathsTest, AStoreThatCannotBeLookedAtIsNotSaidToBeMissing) {
  const std::string name(300, 'a');
  // A plan would be made as if nothing were done yet.
  for (const std::vector<std::string>& line : {std::vector<std::string>{"sweeps"}, {"status"}, {"plan", "quickstart"}}) {
    std::vector<std::string> words = line;
    words.insert(words.end(), {"--store", name});
    const Outcome outcome = RunCommandLine(words);
    EXPECT_EQ(outcome.code, kFailed) << line.front();
    EXPECT_THAT(outcome.err, HasSubstr("error: cannot look at the store '" + name + "': File name too long\n")) << line.front();
  }
}

}  // namespace
}  // namespace longreach::client
