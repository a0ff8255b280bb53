#include "client/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "client/errors.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<Settings> Resolve(const GlobalFlags& flags,
                                 const std::map<std::string, std::string>& variables, bool terminal = false) {
  Environment environment;
  environment.out_is_terminal = terminal;
  environment.err_is_terminal = terminal;
  environment.variable = [&variables](const char* name) {
    const auto at = variables.find(name);
    return at == variables.end() ? std::string() : at->second;
  };
  return ResolveSettings(flags, environment);
}

// "VALUE by SOURCE", and what was passed over, of a setting that is in force.
std::string Said(const absl::StatusOr<Settings>& settings, const std::string& name) {
  EXPECT_TRUE(settings.ok()) << settings.status();
  if (!settings.ok()) return "";
  std::string said;
  for (const SettingInForce& one : settings->in_force) {
    if (one.name != name) continue;
    EXPECT_EQ(said, "") << name << " is there twice";
    said = one.value + " by " + one.source;
    for (const std::string& other : one.passed_over) said += ", over " + other;
  }
  return said;
}

class ConfigFileTest : public ::testing::Test {
 protected:
  ConfigFileTest() { std::filesystem::create_directories(home_.path() / ".config" / "longreach"); }
  void WriteConfig(const std::string& text) { home_.Write(".config/longreach/config.yaml", text); }
  std::string home() const { return home_.path().string(); }

 private:
  TempFolder home_;
};

TEST_F(ConfigFileTest, CredentialsComeFromTheStrongestLevelThatNamesThem) {
  WriteConfig("ca: ~/certs/ca.crt\ncertificate: file.crt\nkey: file.key\ntoken_file: file.token\n");
  GlobalFlags flags;
  flags.certificate = "flag.crt";

  const auto settings = Resolve(flags, {{"HOME", home()}, {"LONGREACH_CERTIFICATE", "env.crt"}, {"LONGREACH_KEY", "env.key"},
                                        {"LONGREACH_TOKEN_FILE", "env.token"}, {"LONGREACH_TOKEN", "longreach_1"}});

  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->credentials.ca, home() + "/certs/ca.crt");
  EXPECT_EQ(settings->credentials.certificate, "flag.crt");
  EXPECT_EQ(settings->credentials.key, "env.key");
  EXPECT_EQ(settings->credentials.token_file, "env.token");
  EXPECT_EQ(settings->credentials.token, "longreach_1");
}

TEST_F(ConfigFileTest, ATokenIsNoSettingOfAFileAndGivesWayToAFlag) {
  GlobalFlags flags;
  flags.token_file = "flag.token";
  EXPECT_EQ(Resolve(flags, {{"LONGREACH_TOKEN", "longreach_1"}})->credentials.token, "");
  WriteConfig("token: longreach_1\n");
  EXPECT_FALSE(Resolve({}, {{"HOME", home()}}).ok());
}

TEST_F(ConfigFileTest, EverySettingSaysWhoSaysSoAndWhoElseWould) {
  WriteConfig("# mine\nscheduler: from-file:1\noutput:   csv\nca: ~/ca.crt\n");
  const std::string file = home() + "/.config/longreach/config.yaml";
  GlobalFlags flags;
  flags.output = "json";

  const auto settings = Resolve(flags, {{"HOME", home()}, {"LONGREACH_SCHEDULER", "from-env"}, {"LONGREACH_OUTPUT", "markdown"}, {"LONGREACH_PYTHON", "/p/python"}});

  EXPECT_EQ(Said(settings, "scheduler"), "from-env:7070 by LONGREACH_SCHEDULER, over " + file + ":2:12") << "as it is asked, with its port";
  EXPECT_EQ(Said(settings, "output"), "json by --output, over LONGREACH_OUTPUT, over " + file + ":3:11");
  EXPECT_EQ(Said(settings, "ca"), home() + "/ca.crt by " + file + ":4:5");
  EXPECT_EQ(Said(settings, "key"), " by default");
  EXPECT_EQ(Said(settings, "color"), "auto by default");
  EXPECT_EQ(Said(settings, "quiet"), "false by default");
  EXPECT_EQ(Said(settings, "python"), "/p/python by LONGREACH_PYTHON");
  EXPECT_EQ(settings->config_file.path, file);
  EXPECT_TRUE(settings->config_file.exists);
  EXPECT_TRUE(settings->config_file.read);
}

TEST_F(ConfigFileTest, OfTwoThatExcludeEachOtherOneIsInForce) {
  WriteConfig("store: ~/b1.db\ntoken_file: file.token\n");
  const std::string file = home() + "/.config/longreach/config.yaml";
  EXPECT_EQ(Said(Resolve({}, {{"HOME", home()}}), "store"), home() + "/b1.db by " + file + ":1:8");
  EXPECT_EQ(Said(Resolve({}, {{"HOME", home()}}), "scheduler"), " by " + file + ":1:8");
  EXPECT_EQ(Said(Resolve({}, {{"HOME", home()}}), "token_file"), "file.token by " + file + ":2:13");
  EXPECT_EQ(Said(Resolve({}, {{"HOME", home()}}), "token"), " by " + file + ":2:13");
  EXPECT_EQ(Said(Resolve({}, {}), "token"), " by default");
  GlobalFlags flags;
  flags.scheduler = "head";
  EXPECT_EQ(Said(Resolve(flags, {{"HOME", home()}}), "store"), " by --scheduler, over " + file + ":1:8");
  EXPECT_EQ(Said(Resolve({}, {}), "scheduler"), "localhost:7070 by default");
  EXPECT_EQ(Said(Resolve({}, {}), "store"), " by default");

  const auto by_token = Resolve({}, {{"HOME", home()}, {"LONGREACH_TOKEN", "longreach_1"}});
  EXPECT_EQ(Said(by_token, "token"), "set by LONGREACH_TOKEN") << "never what it is";
  EXPECT_EQ(Said(by_token, "token_file"), " by LONGREACH_TOKEN, over " + file + ":2:13");
  flags.token_file = "flag.token";
  const auto by_flag = Resolve(flags, {{"HOME", home()}, {"LONGREACH_TOKEN", "longreach_1"}});
  EXPECT_EQ(Said(by_flag, "token"), " by --token-file, over LONGREACH_TOKEN") << "as the flag is written";
  EXPECT_EQ(Said(by_flag, "token_file"), "flag.token by --token-file, over " + file + ":2:13");
}

TEST_F(ConfigFileTest, WhetherThereIsAConfigFileIsKnown) {
  EXPECT_FALSE(Resolve({}, {{"HOME", home()}})->config_file.exists);
  EXPECT_EQ(Resolve({}, {{"HOME", home()}, {"XDG_CONFIG_HOME", "/nonexistent"}})->config_file.path, "/nonexistent/longreach/config.yaml");
  EXPECT_EQ(Resolve({}, {})->config_file.path, "");
}

TEST_F(ConfigFileTest, AStoreMayBeInTheHomeFolder) {
  WriteConfig("store: ~/runs/b1.db\n");
  EXPECT_EQ(Resolve({}, {{"HOME", home()}})->store, home() + "/runs/b1.db");
}

TEST(SettingsTest, DefaultsToAnUnnamedSchedulerOnThisMachine) {
  const absl::StatusOr<Settings> settings = Resolve({}, {});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->scheduler, "localhost:7070");
  EXPECT_FALSE(settings->scheduler_named);
  EXPECT_EQ(settings->store, "");
  EXPECT_EQ(settings->format, Format::kTable);
}

TEST_F(ConfigFileTest, AFlagWinsOverTheEnvironmentAndThatOverTheFile) {
  WriteConfig("scheduler: from-file:1\noutput: csv\n");

  const auto from_file = Resolve({}, {{"HOME", home()}});
  const auto from_variable = Resolve({}, {{"HOME", home()}, {"LONGREACH_SCHEDULER", "from-env:2"}});
  GlobalFlags flags;
  flags.scheduler = "from-flag:3";
  flags.output = "json";
  const auto from_flag = Resolve(flags, {{"HOME", home()}, {"LONGREACH_SCHEDULER", "from-env:2"}});

  EXPECT_EQ(from_file->scheduler, "from-file:1");
  EXPECT_TRUE(from_file->scheduler_named);
  EXPECT_EQ(from_file->format, Format::kCsv);
  EXPECT_FALSE(from_file->format_by_flag);
  EXPECT_EQ(from_variable->scheduler, "from-env:2");
  EXPECT_EQ(from_flag->scheduler, "from-flag:3");
  EXPECT_EQ(from_flag->format, Format::kJson);
  EXPECT_TRUE(from_flag->format_by_flag);
}

TEST_F(ConfigFileTest, AStoreOnTheCommandLineOverridesASchedulerOfTheFile) {
  WriteConfig("scheduler: head:7070\n");
  GlobalFlags flags;
  flags.store = "x.db";
  const auto settings = Resolve(flags, {{"HOME", home()}});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->store, "x.db");
  EXPECT_FALSE(settings->scheduler_named);
}

TEST_F(ConfigFileTest, MistakesInTheFileHaveAPlace) {
  WriteConfig("shceduler: x:1\n");
  EXPECT_THAT(FormatError(Resolve({}, {{"HOME", home()}}).status()),
              HasSubstr("config.yaml:1:1: unknown setting 'shceduler'\n  did you mean 'scheduler'?"));
  WriteConfig("scheduler: [a]\n");
  EXPECT_THAT(FormatError(Resolve({}, {{"HOME", home()}}).status()), HasSubstr("expected one value"));
  WriteConfig("scheduler: a:port\n");
  EXPECT_THAT(FormatError(Resolve({}, {{"HOME", home()}}).status()),
              HasSubstr("config.yaml:1:12: 'a:port' has no port"));
}

TEST_F(ConfigFileTest, AnEmptyFileSetsNothing) {
  WriteConfig("# nothing\n\n");
  EXPECT_TRUE(Resolve({}, {{"HOME", home()}}).ok());
}

TEST(SettingsTest, RefusesASchedulerTogetherWithAStore) {
  GlobalFlags flags;
  flags.scheduler = "a:1";
  flags.store = "x.db";
  const absl::Status status = Resolve(flags, {}).status();
  EXPECT_EQ(ExitCodeOf(status), kUsage);
  EXPECT_THAT(FormatError(status), HasSubstr("--scheduler and --store exclude each other"));
  EXPECT_THAT(FormatError(Resolve({}, {{"LONGREACH_SCHEDULER", "a:1"}, {"LONGREACH_STORE", "x.db"}}).status()),
              HasSubstr("name one of the two: unset LONGREACH_STORE"));
}

TEST(SettingsTest, ReadsAddresses) {
  const auto address = [](const std::string& text) {
    GlobalFlags flags;
    flags.scheduler = text;
    const auto settings = Resolve(flags, {});
    return settings.ok() ? settings->scheduler : "refused";
  };
  EXPECT_EQ(address("head"), "head:7070");
  EXPECT_EQ(address("head:80"), "head:80");
  EXPECT_EQ(address("[::1]"), "[::1]:7070");
  EXPECT_EQ(address("unix:/run/x.sock"), "unix:/run/x.sock");
  EXPECT_EQ(address(""), "refused");
  EXPECT_EQ(address("unix:"), "refused");
  EXPECT_EQ(address("http://head:80"), "refused");
  EXPECT_EQ(address("head:0"), "refused");
  EXPECT_EQ(address("head:65536"), "refused");
}

TEST(SettingsTest, ColoursOnlyTerminalsThatWantThem) {
  GlobalFlags always;
  always.color = "always";
  GlobalFlags never;
  never.color = "never";
  GlobalFlags wrong;
  wrong.color = "sometimes";
  EXPECT_TRUE(Resolve({}, {}, true)->color_out);
  EXPECT_FALSE(Resolve({}, {}, false)->color_out);
  EXPECT_FALSE(Resolve({}, {{"NO_COLOR", "1"}}, true)->color_out);
  EXPECT_FALSE(Resolve({}, {{"TERM", "dumb"}}, true)->color_err);
  EXPECT_TRUE(Resolve(always, {{"NO_COLOR", "1"}}, false)->color_out);
  EXPECT_FALSE(Resolve(never, {}, true)->color_err);
  EXPECT_EQ(ExitCodeOf(Resolve(wrong, {}).status()), kUsage);
  EXPECT_EQ(Said(Resolve({}, {{"NO_COLOR", "1"}, {"LONGREACH_COLOR", "auto"}}, true), "color"), "never by NO_COLOR, over LONGREACH_COLOR");
  EXPECT_EQ(Said(Resolve({}, {{"TERM", "dumb"}}, true), "color"), "never by TERM");
  EXPECT_EQ(Said(Resolve(always, {{"NO_COLOR", "1"}}, true), "color"), "always by --color");
}

}  // namespace
}  // namespace longreach::client
