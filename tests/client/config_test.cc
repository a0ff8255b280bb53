#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/doctor/variables.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ConfigCommandTest : public ::testing::Test {
 protected:
  void WriteConfig(const std::string& text) {
    std::filesystem::create_directories(home_.path() / ".config" / "longreach");
    home_.Write(".config/longreach/config.yaml", text);
  }
  std::string file() const { return (home_.path() / ".config/longreach/config.yaml").string(); }
  // Nobody listens where the default scheduler is, and nothing is started.
  Outcome Show(const std::vector<std::string>& more = {}, std::map<std::string, std::string> variables = {}) {
    variables.emplace("HOME", home_.path().string());
    std::vector<std::string> arguments = {"config", "show"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunCommandLine(arguments, variables);
  }

 private:
  TempFolder home_;
};

TEST_F(ConfigCommandTest, JsonHasEverySettingOnceInOneOrder) {
  WriteConfig("scheduler: head:1\noutput: json\n");
  const Outcome outcome = Show({}, {{"LONGREACH_SCHEDULER", "other:2"}});

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  const nlohmann::json shown = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(shown["schema"], "longreach/v1");
  EXPECT_EQ(shown["config_file"], (nlohmann::json{{"path", file()}, {"exists", true}, {"read", true}}));
  std::vector<std::string> names;
  for (const nlohmann::json& one : shown["settings"]) names.push_back(one["name"]);
  EXPECT_THAT(names, ElementsAre("context", "scheduler", "store", "output", "color", "ca", "certificate", "key", "token_file", "token", "quiet", "python"));
  EXPECT_EQ(shown["settings"][1], (nlohmann::json{{"name", "scheduler"}, {"value", "other:2"}, {"source", "LONGREACH_SCHEDULER"}, {"passed_over", nlohmann::json::array({file() + ":1:12"})}}));
  EXPECT_EQ(shown["settings"][2]["value"], nullptr);
  EXPECT_EQ(shown["settings"][2]["source"], "LONGREACH_SCHEDULER");
  EXPECT_EQ(shown["settings"][2]["passed_over"], nlohmann::json::array());
  EXPECT_EQ(shown["settings"][3]["source"], file() + ":2:9");
}

TEST_F(ConfigCommandTest, EveryOptionForAllCommandsIsASetting) {
  const std::string shown = Show({"-o", "json"}).out;
  const std::unique_ptr<AppTree> tree = BuildApp();
  int options = 0;
  for (const CLI::Option* option : tree->root.get_options()) {
    for (std::string name : option->get_lnames()) {
      if (name == "help" || name == "version") continue;
      std::ranges::replace(name, '-', '_');
      EXPECT_THAT(shown, HasSubstr("{\"name\":\"" + name + "\","));
      ++options;
    }
  }
  EXPECT_EQ(options, 10);
}

TEST_F(ConfigCommandTest, VariablesThatMeanNothingAreNamedWithThoseThatMayBeMeant) {
  const std::map<std::string, std::string> variables = {{"LONGREACH_SCHEDULR", "head:1"}, {"LONGREACH_DATA", "/data"},     {"LONGREACH_TOKENS", "/t"},
                                                        {"LONGREACH_BIN", "/bin"},        {"LONGREACH_PALIMPSEST", "x"}, {"SCHEDULR", "head:1"}};
  const nlohmann::json shown = nlohmann::json::parse(Show({"-o", "json"}, variables).out);
  EXPECT_EQ(shown["unknown_variables"], (nlohmann::json::array({{{"name", "LONGREACH_PALIMPSEST"}, {"meant", nullptr}},
                                                                {{"name", "LONGREACH_SCHEDULR"}, {"meant", "LONGREACH_SCHEDULER"}}})));

  const Outcome told = Show({}, variables);
  EXPECT_THAT(told.out, HasSubstr("\nLONGREACH_PALIMPSEST means nothing to any of the programs: unset LONGREACH_PALIMPSEST, unless it is for something else\n"
                                  "LONGREACH_SCHEDULR means nothing to any of the programs: did you mean LONGREACH_SCHEDULER?\nNAME "));
  EXPECT_THAT(told.out, Not(HasSubstr("head:1"))) << "their values may be secrets";
  EXPECT_THAT(Show({"-o", "csv"}, variables).err, HasSubstr("LONGREACH_SCHEDULR means nothing")) << "a table of its settings has no place for it";
  EXPECT_EQ(nlohmann::json::parse(Show({"-o", "json"}).out)["unknown_variables"], nlohmann::json::array());
}

TEST_F(ConfigCommandTest, TheVariableOfEverySettingMeansSomething) {
  std::vector<std::string> names;
  const nlohmann::json shown = nlohmann::json::parse(Show({"-o", "json"}).out);
  for (const nlohmann::json& one : shown["settings"]) {
    std::string name = one["name"];
    if (name == "quiet") continue;  // It has none.
    for (char& c : name) c = static_cast<char>(std::toupper(c));
    names.push_back("LONGREACH_" + name);
  }
  EXPECT_EQ(names.size(), 11u);
  EXPECT_EQ(UnknownVariables(names).size(), 0u);
}

TEST_F(ConfigCommandTest, PeopleAreToldTheConfigFileToo) {
  const Outcome without = Show();
  EXPECT_EQ(without.code, kDone) << without.err;
  EXPECT_THAT(without.out, StartsWith("config file: " + file() + ", which is not there\nNAME "));
  EXPECT_EQ(without.err, "");
  WriteConfig("store: b1.db\n");
  const Outcome with = Show();
  EXPECT_THAT(with.out, StartsWith("config file: " + file() + "\nNAME "));
  EXPECT_THAT(with.out, HasSubstr(file() + ":1:8"));
}

TEST_F(ConfigCommandTest, OtherFormatsHaveTheSettingsAlone) {
  WriteConfig("store: b1.db\n");
  const Outcome csv = Show({"-o", "csv", "--store", "b2.db"});
  EXPECT_THAT(csv.out, StartsWith("name,value,source,passed_over\ncontext,,default,\nscheduler,,'--store,\nstore,b2.db,'--store," + file() + ":1:8\n"));
  EXPECT_THAT(csv.err, HasSubstr("config file: " + file() + "\n"));
  EXPECT_EQ(Show({"-o", "csv", "-q"}).err, "");
  EXPECT_THAT(Show({"-o", "markdown"}).out, StartsWith("| NAME | VALUE | SOURCE | PASSED OVER |\n"));
}

TEST_F(ConfigCommandTest, ContextsAreListedAndTheOneThatHoldsIsNamed) {
  WriteConfig("contexts:\n  laptop: {store: b1.db}\n  cluster:\n    scheduler: head:1\n");
  const Outcome people = Show({"--context", "cluster"});
  EXPECT_EQ(people.code, kDone) << people.err;
  EXPECT_THAT(people.out, StartsWith("config file: " + file() + "\ncontexts: laptop, cluster\nNAME "));
  EXPECT_THAT(people.out, HasSubstr(file() + ":4:16 (context cluster)"));
  EXPECT_THAT(Show({"-o", "csv"}).err, HasSubstr("contexts: laptop, cluster\n"));

  const nlohmann::json shown = nlohmann::json::parse(Show({"-o", "json"}, {{"LONGREACH_CONTEXT", "laptop"}}).out);
  EXPECT_EQ(shown["contexts"], (nlohmann::json{"laptop", "cluster"}));
  EXPECT_EQ(shown["settings"][0], (nlohmann::json{{"name", "context"}, {"value", "laptop"}, {"source", "LONGREACH_CONTEXT"}, {"passed_over", nlohmann::json::array()}}));
  EXPECT_EQ(nlohmann::json::parse(RunCommandLine({"config", "show", "-o", "json"}).out)["contexts"], nlohmann::json::array());

  const Outcome wrong = Show({"--context", "clutser", "-o", "json"});
  EXPECT_EQ(wrong.code, kUsage);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean 'cluster'?"));
}

TEST_F(ConfigCommandTest, ATokenIsNeverShown) {
  for (const char* format : {"table", "json", "csv", "markdown", "latex"}) {
    const Outcome outcome = Show({"-o", format}, {{"LONGREACH_TOKEN", "longreach_5ec2e7"}});
    EXPECT_EQ(outcome.code, kDone) << outcome.err;
    EXPECT_THAT(outcome.out + outcome.err, Not(HasSubstr("5ec2e7"))) << format;
    EXPECT_THAT(outcome.out, HasSubstr("TOKEN")) << format;
  }
}

TEST_F(ConfigCommandTest, AnErrorOfTheFileIsTheOneOfOtherCommands) {
  WriteConfig("shceduler: x:1\n");
  const Outcome shown = Show();
  EXPECT_EQ(shown.code, kUsage);
  EXPECT_EQ(shown.out, "");
  EXPECT_THAT(shown.err, HasSubstr("config.yaml:1:1: unknown setting 'shceduler'"));
  EXPECT_EQ(shown.err, RunCommandLine({"list", "tasks"}, {{"HOME", std::filesystem::path(file()).parent_path().parent_path().parent_path().string()}}).err);
}

}  // namespace
}  // namespace longreach::client
