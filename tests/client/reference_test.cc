#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "client/commands/command.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;

std::set<std::string> NamesIn(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

TEST(ManualPagesTest, ThereIsOneOfTheProgramAndOneOfEveryCommandThatTheOverviewNames) {
  const TempFolder folder;
  const std::string pages = (folder.path() / "share" / "man1").string();

  const Outcome outcome = RunCommandLine({"reference", "--man", pages});

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  std::set<std::string> expected = {"longreach.1"};
  for (const CommandEntry& entry : Commands()) {
    if (!entry.make()->Info().hidden) expected.insert("longreach-" + std::string(entry.name) + ".1");
  }
  EXPECT_EQ(NamesIn(pages), expected);
}

TEST(ReferenceTest, AsJsonItIsTheSameText) {
  const Outcome text = RunCommandLine({"reference"});
  const Outcome json = RunCommandLine({"reference", "-o", "json"});

  ASSERT_EQ(json.code, kDone) << json.err;
  const nlohmann::json answer = nlohmann::json::parse(json.out);
  EXPECT_EQ(answer.at("schema"), "longreach/v1");
  EXPECT_EQ(answer.at("markdown"), text.out);

  const TempFolder folder;
  const Outcome pages = RunCommandLine({"reference", "--man", folder.path().string(), "-o", "json"});
  EXPECT_EQ(nlohmann::json::parse(pages.out).at("folder"), folder.path().string());
}

TEST(ManualPagesTest, NewOnesTakeThePlaceOfOldOnes) {
  const TempFolder folder;
  const std::string old = folder.Write("longreach-run.1", "old");
  std::filesystem::permissions(old, std::filesystem::perms::owner_all);

  EXPECT_EQ(RunCommandLine({"reference", "--man", folder.path().string()}).code, kDone);

  std::ostringstream text;
  text << std::ifstream(old).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr(".SH \"NAME\"\nlongreach\\-run \\- Run a sweep"));
  struct stat found;
  ASSERT_EQ(stat(old.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & S_IXUSR, 0u) << "a file of its own, with the rights of a new one";
}

TEST(ManualPagesTest, AFolderThatCannotBeMadeIsNamed) {
  const TempFolder folder;
  const std::string file = folder.Write("file", "");
  const Outcome outcome = RunCommandLine({"reference", "--man", file + "/man1"});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("cannot make the folder " + file + "/man1: Not a directory\n  name another with --man"));
}

// As where a script's variable was never set.
TEST(ManualPagesTest, AFolderWithoutANameIsRefused) {
  const Outcome outcome = RunCommandLine({"reference", "--man", ""});
  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "error: --man: is empty\n  give it a value, or leave it out\n");
}

TEST(ManualPagesTest, AFileThatCannotBeWrittenIsNamed) {
  const TempFolder folder;
  std::filesystem::create_directories(folder.path() / "longreach.1" / "full");
  const Outcome outcome = RunCommandLine({"reference", "--man", folder.path().string()});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("longreach.1"));
}

}  // namespace
}  // namespace longreach::client
