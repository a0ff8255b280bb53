#include "client/commands/suggestions.h"

#include <gtest/gtest.h>

namespace longreach::client {
namespace {

TEST(SuggestionsTest, AWordThatNeedsNoQuotesGetsNone) {
  EXPECT_EQ(ShellWord("encoding=rope,rope:randomized"), "encoding=rope,rope:randomized");
  EXPECT_EQ(ShellWord("/srv/longreach/b1.db"), "/srv/longreach/b1.db");
}

// A sentence tells the command within single quotes; others inside would end them.
TEST(SuggestionsTest, AWordWithinACommandHasDoubleQuotes) {
  EXPECT_EQ(ShellWord("my runs/b1.db"), "\"my runs/b1.db\"");
  EXPECT_EQ(ShellWord("it's mine.db"), "\"it's mine.db\"");
  EXPECT_EQ(ShellWord("~/b1.db"), "\"~/b1.db\"");
  EXPECT_EQ(ShellWord(""), "\"\"");
  EXPECT_EQ(RunLine({.spec = "my sweep.yaml", .overrides = {"name=a b"}}, " --store b1.db"), "longreach run \"my sweep.yaml\" --set \"name=a b\" --store b1.db");
}

TEST(SuggestionsTest, AFileWhoseNameBeginsWithADashIsNotTakenForAnOption) {
  EXPECT_EQ(RunLine({.spec = "-mine.yaml", .overrides = {}}, ""), "longreach run ./-mine.yaml");
}

// A shell reads them there: a name may not become a command.
TEST(SuggestionsTest, AWordOfWhichAShellReadsMoreHasSingleQuotes) {
  EXPECT_EQ(ShellWord("a $(rm b)"), "'a $(rm b)'");
  EXPECT_EQ(ShellWord("a `rm b`"), "'a `rm b`'");
  EXPECT_EQ(ShellWord("a \"b\""), "'a \"b\"'");
  EXPECT_EQ(ShellWord("a\\b"), "'a\\b'");
  EXPECT_EQ(ShellWord("a!b"), "'a!b'");
  EXPECT_EQ(ShellWord("it's $b"), "'it'\\''s $b'");
}

// As the dashboard asks: the address is that of a moment.
TEST(SuggestionsTest, OfAStoresSchedulerCommandsNameTheStore) {
  Environment environment;
  Settings settings;
  settings.scheduler = "unix:/tmp/moment.sock";
  settings.scheduler_named = true;
  Session of_scheduler(environment, settings);
  environment.store = "/srv/b1.db";
  Session of_store(environment, settings);
  const std::string sentence = "There is none; start one with 'longreach-worker run'. 'longreach logs 1f3a' shows more.";

  EXPECT_EQ(WithFlags(sentence, of_scheduler), "There is none; start one with 'longreach-worker run --scheduler unix:/tmp/moment.sock'. "
                                               "'longreach logs 1f3a --scheduler unix:/tmp/moment.sock' shows more.");
  EXPECT_EQ(WithFlags(sentence, of_store), "There is none; start one with 'longreach run SPEC --store /srv/b1.db'. 'longreach logs 1f3a --store /srv/b1.db' shows more.");
}

// Without it another context might hold, with credentials that do not belong there.
TEST(SuggestionsTest, AContextThatWasTypedIsPartOfTheCommand) {
  Settings settings;
  settings.scheduler = "head:7070";
  settings.scheduler_named = true;
  settings.context = "cluster";
  EXPECT_EQ(WhereFlags(settings), " --scheduler head:7070") << "it is found again";
  settings.context_by_flag = true;
  EXPECT_EQ(WhereFlags(settings), " --context cluster --scheduler head:7070");
  settings.store = "b1.db";
  EXPECT_EQ(WhereFlags(settings), " --context cluster --store b1.db");
}

}  // namespace
}  // namespace longreach::client
