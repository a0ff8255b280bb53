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
              HasSubstr("config.yaml:1: 'a:port' has no port"));
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
}

}  // namespace
}  // namespace longreach::client
