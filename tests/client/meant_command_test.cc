#include "client/meant_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "client/app.h"
#include "proto/base/text.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;

const CLI::App* CommandBelow(const CLI::App& app, const std::string& word) {
  const std::vector<const CLI::App*> all = app.get_subcommands([](const CLI::App*) { return true; });
  const auto found = std::ranges::find_if(all, [&](const CLI::App* one) { return one->get_name() == word; });
  return found == all.end() ? nullptr : *found;
}

TEST(MeantCommandTest, AWordOfOtherProgramsIsAnsweredWithOurCommand) {
  const Outcome outcome = RunCommandLine({"stop", "mine"});
  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_EQ(outcome.err,
            "error: unknown command 'longreach stop'\n"
            "  'longreach pause' holds a sweep, 'longreach cancel' gives it up; 'longreach --help' shows all of them\n");
}

TEST(MeantCommandTest, ACommandBelowAnotherIsNamedWithThatOne) {
  const std::unique_ptr<AppTree> tree = BuildApp();
  EXPECT_EQ(CommandMeant(tree->root, "merge"), "did you mean 'longreach store merge'?");
  EXPECT_EQ(CommandMeant(tree->root, "check"), "did you mean 'longreach data check' or 'longreach store check'?");
  EXPECT_EQ(CommandMeant(tree->root, "statsu"), "");
  EXPECT_THAT(RunCommandLine({"import", "text"}).err, HasSubstr("unknown command 'longreach import'\n  did you mean 'longreach data import'? 'longreach --help'"))
      << "and not 'export', which is nearer by its letters";
}

TEST(MeantCommandTest, ACommandOfItsOwnIsNoneOfAnother) {
  for (const char* word : {"jobs", "sweeps", "workers"}) {
    EXPECT_THAT(RunCommandLine({"list", word}).err, HasSubstr(std::string("did you mean 'longreach ") + word + "'? 'longreach list --help' shows all of them\n")) << word;
  }
  EXPECT_THAT(RunCommandLine({"list", "task"}).err, HasSubstr("did you mean 'tasks'?"));
  EXPECT_EQ(RunCommandLine({"list", "nothing"}).err, "error: unknown command 'longreach list nothing'\n  'longreach list --help' shows all of them\n");
}

// An answer would send its reader to what is not there, and a word that has become a command needs none.
TEST(MeantCommandTest, EachAnswerNamesCommandsThatThereAre) {
  const std::unique_ptr<AppTree> tree = BuildApp();
  for (const ForeignWord& one : ForeignWords()) {
    EXPECT_EQ(CommandBelow(tree->root, std::string(one.word)), nullptr) << one.word;
    int named = 0;
    const std::vector<std::string> parts = Split(one.answer, '\'');
    for (const std::string& part : parts) {
      if (!part.starts_with("longreach ")) continue;
      ++named;
      const CLI::App* at = &tree->root;
      for (const std::string& word : Split(part.substr(part.find(' ') + 1), ' ')) {
        at = CommandBelow(*at, word);
        ASSERT_NE(at, nullptr) << part;
      }
    }
    EXPECT_GE(named, 1) << one.word;
  }
}

}  // namespace
}  // namespace longreach::client
