#include "client/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
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

class ContextTest : public ConfigFileTest {
 protected:
  static constexpr const char* kTwo =
      "context: laptop\n"
      "scheduler: aside:1\n"
      "ca: aside.crt\n"
      "output: csv\n"
      "contexts:\n"
      "  laptop: {store: ~/b1.db}\n"
      "  cluster:\n"
      "    scheduler: head\n"
      "    ca: ~/ca.crt\n"
      "    token_file: cluster.token\n";
  std::string file() const { return home() + "/.config/longreach/config.yaml"; }
  std::string Refusal(const std::string& text, const GlobalFlags& flags = {}, std::map<std::string, std::string> variables = {}) {
    WriteConfig(text);
    variables["HOME"] = home();
    const auto settings = Resolve(flags, variables);
    EXPECT_EQ(ExitCodeOf(settings.status()), kUsage);
    return FormatError(settings.status());
  }
  static GlobalFlags Typed(const std::string& context) {
    GlobalFlags flags;
    flags.context = context;
    return flags;
  }
};

TEST_F(ContextTest, TheFilesOwnWinsOverWhatStandsBesideIt) {
  WriteConfig(kTwo);
  const auto settings = Resolve({}, {{"HOME", home()}});

  EXPECT_EQ(Said(settings, "context"), "laptop by " + file() + ":1:10");
  EXPECT_EQ(Said(settings, "store"), home() + "/b1.db by " + file() + ":6:19 (context laptop)");
  EXPECT_EQ(Said(settings, "scheduler"), " by " + file() + ":6:19 (context laptop), over " + file() + ":2:12");
  EXPECT_EQ(Said(settings, "ca"), "aside.crt by " + file() + ":3:5") << "which it leaves out";
  EXPECT_EQ(Said(settings, "output"), "csv by " + file() + ":4:9");
  EXPECT_EQ(settings->store, home() + "/b1.db");
  EXPECT_FALSE(settings->scheduler_named);
  EXPECT_EQ(settings->context, "laptop");
  EXPECT_FALSE(settings->context_by_flag);
  EXPECT_FALSE(settings->place_by_flag);
  EXPECT_THAT(settings->config_file.ContextNames(), ::testing::ElementsAre("laptop", "cluster"));
}

TEST_F(ContextTest, ItsFlagWinsOverItsVariableAndThatOverTheFile) {
  WriteConfig(kTwo);
  const auto by_variable = Resolve({}, {{"HOME", home()}, {"LONGREACH_CONTEXT", "cluster"}});
  EXPECT_EQ(Said(by_variable, "context"), "cluster by LONGREACH_CONTEXT, over " + file() + ":1:10");
  EXPECT_EQ(by_variable->scheduler, "head:7070");
  EXPECT_TRUE(by_variable->scheduler_named);
  EXPECT_EQ(by_variable->store, "");
  EXPECT_EQ(by_variable->credentials.ca, home() + "/ca.crt");

  const auto by_flag = Resolve(Typed("laptop"), {{"HOME", home()}, {"LONGREACH_CONTEXT", "cluster"}});
  EXPECT_EQ(Said(by_flag, "context"), "laptop by --context, over LONGREACH_CONTEXT, over " + file() + ":1:10");
  EXPECT_EQ(by_flag->store, home() + "/b1.db");
  EXPECT_TRUE(by_flag->context_by_flag);
  EXPECT_TRUE(by_flag->place_by_flag) << "the context that was typed names it";
}

TEST_F(ContextTest, WhatOneThatWasTypedSaysIsKnownWhereItHolds) {
  WriteConfig(kTwo);
  const auto said = [this](const GlobalFlags& flags, const std::map<std::string, std::string>& variables = {}) {
    std::map<std::string, std::string> all = variables;
    all["HOME"] = home();
    return Resolve(flags, all)->said_by_context;
  };
  EXPECT_THAT(said(Typed("cluster")), ::testing::ElementsAre("--ca", "--scheduler", "--token-file"));
  EXPECT_THAT(said(Typed("laptop")), ::testing::ElementsAre("--store"));
  EXPECT_THAT(said({}, {{"LONGREACH_CONTEXT", "cluster"}}), ::testing::IsEmpty()) << "another may hold where a command is typed";
  GlobalFlags flags = Typed("cluster");
  flags.scheduler = "other:3";
  flags.ca = home() + "/ca.crt";
  EXPECT_THAT(said(flags), ::testing::ElementsAre("--ca", "--token-file")) << "the same is typed beside it";
}

TEST_F(ContextTest, ASingleFlagWinsOverAnyContext) {
  WriteConfig(kTwo);
  GlobalFlags flags = Typed("cluster");
  flags.scheduler = "other:3";

  const auto settings = Resolve(flags, {{"HOME", home()}});

  EXPECT_EQ(Said(settings, "scheduler"), "other:3 by --scheduler, over " + file() + ":8:16 (context cluster), over " + file() + ":2:12");
  EXPECT_EQ(settings->credentials.ca, home() + "/ca.crt") << "all else is the context's";
  flags = {};
  flags.store = "b2.db";
  EXPECT_EQ(Resolve(flags, {{"HOME", home()}})->store, "b2.db");
}

// What is typed for one command is closer than what a shell was told once.
TEST_F(ContextTest, OnlyOneThatIsTypedWinsOverTheEnvironment) {
  WriteConfig(kTwo);
  const std::map<std::string, std::string> variables = {{"HOME", home()}, {"LONGREACH_SCHEDULER", "env:2"}, {"LONGREACH_CERTIFICATE", "env.crt"}};

  const auto typed = Resolve(Typed("cluster"), variables);
  EXPECT_EQ(Said(typed, "scheduler"), "head:7070 by " + file() + ":8:16 (context cluster), over LONGREACH_SCHEDULER, over " + file() + ":2:12");
  EXPECT_EQ(typed->credentials.certificate, "env.crt") << "which the context leaves out";
  EXPECT_EQ(Resolve(Typed("laptop"), variables)->store, home() + "/b1.db") << "and not the scheduler of the environment";

  std::map<std::string, std::string> both = variables;
  both["LONGREACH_CONTEXT"] = "cluster";
  EXPECT_EQ(Said(Resolve({}, both), "scheduler"), "env:2 by LONGREACH_SCHEDULER, over " + file() + ":8:16 (context cluster), over " + file() + ":2:12");
  EXPECT_EQ(Resolve({}, variables)->scheduler, "env:2");
}

TEST_F(ContextTest, ATokenOfTheEnvironmentGivesWayToOneThatIsTyped) {
  WriteConfig(kTwo);
  const std::map<std::string, std::string> variables = {{"HOME", home()}, {"LONGREACH_TOKEN", "longreach_1"}};

  const auto typed = Resolve(Typed("cluster"), variables);
  EXPECT_EQ(typed->credentials.token, "");
  EXPECT_EQ(typed->credentials.token_file, "cluster.token");
  EXPECT_EQ(Said(typed, "token"), " by " + file() + ":10:17 (context cluster), over LONGREACH_TOKEN");

  std::map<std::string, std::string> chosen = variables;
  chosen["LONGREACH_CONTEXT"] = "cluster";
  EXPECT_EQ(Resolve({}, chosen)->credentials.token, "longreach_1");
}

TEST_F(ContextTest, AnEmptyValueTakesAwayWhatStandsBesideIt) {
  WriteConfig("ca: ca.crt\ntoken_file: a.token\ncontext: here\ncontexts:\n  here: {scheduler: 'localhost:7071', ca: '', token_file: ''}\n");
  const auto settings = Resolve({}, {{"HOME", home()}});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->credentials.ca, "");
  EXPECT_EQ(settings->credentials.token_file, "");
}

TEST_F(ContextTest, OneThatIsNotThereIsRefusedWithThoseThatAre) {
  EXPECT_EQ(Refusal(kTwo, Typed("clutser")), "error: --context: there is no context 'clutser'\n  did you mean 'cluster'? there are: laptop, cluster\n");
  EXPECT_THAT(Refusal(kTwo, {}, {{"LONGREACH_CONTEXT", "x"}}), HasSubstr("error: LONGREACH_CONTEXT: there is no context 'x'\n  there are: laptop, cluster\n"));
  EXPECT_THAT(Refusal("context: x\n"), HasSubstr("config.yaml:1:10: there is no context 'x'\n  they stand below 'contexts:' in " + file() + ", which has none\n"));
  EXPECT_THAT(Refusal(kTwo, Typed("")), HasSubstr("--context: there is no context ''"));
  EXPECT_THAT(FormatError(Resolve(Typed("x"), {}).status()), HasSubstr("neither XDG_CONFIG_HOME nor HOME"));
}

TEST_F(ContextTest, MistakesInOneHaveAPlaceWhetherItHoldsOrNot) {
  EXPECT_THAT(Refusal("contexts:\n  far:\n    shceduler: x:1\n"), HasSubstr("config.yaml:3:5: unknown setting 'shceduler' (context far)\n  did you mean 'scheduler'?"));
  EXPECT_THAT(Refusal("contexts:\n  far: {context: x}\n"), HasSubstr("config.yaml:2:9: unknown setting 'context' (context far)"));
  EXPECT_THAT(Refusal("contexts:\n  far: {token: longreach_5ec2e7}\n"), ::testing::Not(HasSubstr("5ec2e7")));
  EXPECT_THAT(Refusal("contexts:\n  far: {scheduler: [a]}\n"), HasSubstr("config.yaml:2:20: scheduler: expected one value (context far)"));
  EXPECT_THAT(Refusal("contexts:\n  far:\n    store:\n\n  near: {}\n"),
              HasSubstr("config.yaml:3:5: store: expected one value (context far)\n  write one behind it, or leave the line out\n"));
  EXPECT_THAT(Refusal("context:\ncontexts: {}\n"), HasSubstr("config.yaml:1:1: context: expected one value\n"));
  EXPECT_THAT(Refusal("contexts:\n  far: head:7070\n"), HasSubstr("config.yaml:2:8: context far: expected 'setting: value' lines"));
  EXPECT_THAT(Refusal("contexts: [far]\n"), HasSubstr("config.yaml:1:11: contexts: expected 'NAME: {setting: value}' lines"));
  EXPECT_THAT(Refusal("contexts:\n  far away: {}\n"), HasSubstr("config.yaml:2:3: 'far away' is no name for a context"));
  EXPECT_THAT(Refusal("contexts:\n  -far: {}\n"), HasSubstr("'-far' is no name for a context"));
  EXPECT_THAT(Refusal("contxts:\n  far: {}\n"), HasSubstr("unknown setting 'contxts'\n  did you mean 'contexts'?"));
}

TEST_F(ContextTest, WhatOneSaysIsCheckedWhereItHolds) {
  const std::string text = "contexts:\n  both: {scheduler: a:1, store: b.db}\n  wrong: {scheduler: a:port}\n  none:\n";
  EXPECT_THAT(Refusal(text, Typed("both")), HasSubstr("config.yaml:2:21 (context both) and " + file() + ":2:33 (context both) exclude each other"));
  EXPECT_THAT(Refusal(text, Typed("wrong")), HasSubstr("config.yaml:3:22 (context wrong): 'a:port' has no port"));
  EXPECT_TRUE(Resolve(Typed("none"), {{"HOME", home()}}).ok()) << "it says nothing";
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
  EXPECT_TRUE(Resolve({}, {{"TERM", "dumb"}, {"LONGREACH_COLOR", "always"}}, true)->dumb_terminal);
  EXPECT_FALSE(Resolve({}, {{"TERM", "xterm"}}, true)->dumb_terminal);
  EXPECT_TRUE(Resolve(always, {{"NO_COLOR", "1"}}, false)->color_out);
  EXPECT_FALSE(Resolve(never, {}, true)->color_err);
  EXPECT_EQ(ExitCodeOf(Resolve(wrong, {}).status()), kUsage);
  EXPECT_EQ(Said(Resolve({}, {{"NO_COLOR", "1"}, {"LONGREACH_COLOR", "auto"}}, true), "color"), "never by NO_COLOR, over LONGREACH_COLOR");
  EXPECT_EQ(Said(Resolve({}, {{"TERM", "dumb"}}, true), "color"), "never by TERM");
  EXPECT_EQ(Said(Resolve(always, {{"NO_COLOR", "1"}}, true), "color"), "always by --color");
}

TEST(CertificatesTest, AFolderIsNoCertificateAndItsOwnAreNamed) {
  const TempFolder folder;
  const std::filesystem::path certificates = folder.path() / "my certs";
  std::filesystem::create_directory(certificates);

  const Outcome outcome = RunCommandLine({"certs", "show", certificates.string()});

  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr(certificates.string() + " is a folder\n  name the certificates in it: 'longreach certs show \"" + certificates.string() + "\"/*.crt'"));
}

}  // namespace
}  // namespace longreach::client
