#include "scheduler/service/notice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace longreach::service {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr WallTime kNoon{std::chrono::sys_days{std::chrono::year{2026} / 1 / 31} + std::chrono::hours(12)};

store::SweepRow SweepNamed(const std::string& name) {
  return {.num = 1, .id = std::string(64, 'a'), .name = name, .counts = {.queued = 0, .succeeded = 5, .failed = 2, .cancelled = 1, .diverged = 3}};
}

// As any program would read it.
nlohmann::json Read(const std::string& line) {
  nlohmann::json object = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(object.is_object()) << line;
  return object;
}
std::string TextOf(const nlohmann::json& object, const std::string& key) { return object.value(key, "absent"); }

TEST(NoticeTest, ASweepThatIsDoneIsOneLineWithItsCounts) {
  EXPECT_EQ(NoticeLine(SweepIsDone(SweepNamed("s")), kNoon),
            R"({"schema":"longreach/v1","event":"sweep_done","time":"2026-01-31T12:00:00Z",)"
            R"("text":"the sweep 's' (aaaaaaaa) is done: 5 jobs succeeded (3 of them diverged), 2 failed, 1 cancelled",)"
            R"("sweep":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","name":"s","jobs":8,"done":5,"diverged":3,"failed":2,"cancelled":1})"
            "\n");
}

TEST(NoticeTest, AFirstFailedJobSaysWhichAndWhy) {
  store::JobRow job;
  job.id = std::string(64, 'b');
  const News news = SweepHasFailedJob(SweepNamed("s"), job, "out of memory");
  EXPECT_EQ(news.line, "the sweep 's' (aaaaaaaa) has its first failed job, bbbbbbbb: out of memory");
  const nlohmann::json told = Read(NoticeLine(news, kNoon));
  EXPECT_EQ(TextOf(told, "event"), "first_failure");
  EXPECT_EQ(TextOf(told, "job"), job.id);
  EXPECT_EQ(TextOf(told, "reason"), "out of memory");
}

TEST(NoticeTest, OfAWorkerThereIsItsNameAndNoSweep) {
  const News news = WorkerIsGone("11111111-2222", "gpu-a", std::chrono::seconds(15));
  const nlohmann::json told = Read(NoticeLine(news, kNoon));
  EXPECT_EQ(TextOf(told, "event"), "worker_gone");
  EXPECT_EQ(TextOf(told, "worker"), "11111111-2222");
  EXPECT_EQ(TextOf(told, "name"), "gpu-a");
  EXPECT_EQ(TextOf(told, "sweep"), "absent");
  EXPECT_EQ(told.count("jobs"), 0u);
  EXPECT_THAT(NoticeEnvironment(news, {}), ElementsAre("LONGREACH_EVENT=worker_gone", "LONGREACH_TEXT=" + news.line, "LONGREACH_SWEEP=", "LONGREACH_NAME=gpu-a"));
}

TEST(NoticeTest, WhatIsOfNobodysInterestElsewhereIsForTheLogAlone) {
  EXPECT_FALSE(WorkerLeft("1", "a").notice);
  EXPECT_FALSE(TokensReadAgain(2).notice);
  EXPECT_FALSE(SweepSubmitted(SweepNamed("s"), true, "").notice);
  EXPECT_TRUE(CertificateEnds("certificate c expires").notice);
  EXPECT_EQ(WorkerPutAside({.id = "1", .name = "a"}, "three jobs failed").notice->reason, "three jobs failed");
}

// Names that would end a line, a text, a header, an environment or an object, or that a terminal would obey.
class HostileNameTest : public ::testing::TestWithParam<std::string> {};

TEST_P(HostileNameTest, StaysOneTextOfOneLine) {
  const std::string& name = GetParam();
  const News news = SweepIsDone(SweepNamed(name));

  const std::string line = NoticeLine(news, kNoon);

  EXPECT_EQ(std::ranges::count(line, '\n'), 1) << line;
  EXPECT_EQ(line.back(), '\n');
  EXPECT_TRUE(std::ranges::none_of(line.substr(0, line.size() - 1), [](unsigned char c) { return c < 0x20 || c == 0x7f; })) << line;
  const nlohmann::json told = Read(line);
  EXPECT_EQ(told.size(), 11u) << line;
  EXPECT_EQ(TextOf(told, "event"), "sweep_done");
  EXPECT_EQ(TextOf(told, "name"), name);
  EXPECT_EQ(TextOf(told, "text"), news.line);

  const std::vector<std::string> environment = NoticeEnvironment(news, {});
  ASSERT_EQ(environment.size(), 4u);
  for (const std::string& variable : environment) {
    EXPECT_TRUE(std::ranges::none_of(variable, [](unsigned char c) { return c < 0x20 || c == 0x7f; })) << variable;
    EXPECT_THAT(variable, Not(HasSubstr("\xc2\x9b")));
  }
}

INSTANTIATE_TEST_SUITE_P(Names, HostileNameTest,
                         ::testing::Values(R"(a"b\c)", R"(","event":"worker_gone","x":")", "a\nb", "a\r\nBcc: eve@example.org", std::string("a\0b", 3),
                                           "\x1b[2J\x7f", "\xc2\x9b" "2J", "\xe2\x80\xa8", "$(reboot)`reboot`;'", "\xc3\xa4\xf0\x9f\x98\x80", "\\u0000"));

TEST(NoticeTest, WhatIsNoUtf8IsReplaced) {
  const News news = SweepIsDone(SweepNamed("a\xff" "b"));
  EXPECT_EQ(TextOf(Read(NoticeLine(news, kNoon)), "name"), "a\xef\xbf\xbd" "b");
  EXPECT_THAT(NoticeEnvironment(news, {}), Contains("LONGREACH_NAME=a\xef\xbf\xbd" "b"));
}

TEST(NoticeTest, AVeryLongNameIsCut) {
  const News news = SweepIsDone(SweepNamed(std::string(10'000'000, '"')));
  EXPECT_LT(NoticeLine(news, kNoon).size(), 20'000u);
  for (const std::string& variable : NoticeEnvironment(news, {})) EXPECT_LT(variable.size(), 5'000u);
}

TEST(NoticeTest, TheEnvironmentIsThatOfTheSchedulerButForItsOwnFour) {
  const std::vector<std::string> inherited = {"PATH=/bin", "LONGREACH_NAME=of before", "LONGREACH_NAMES=another"};
  EXPECT_THAT(NoticeEnvironment(CertificateEnds("certificate c expires"), inherited),
              ElementsAre("PATH=/bin", "LONGREACH_NAMES=another", "LONGREACH_EVENT=certificate_ends", "LONGREACH_TEXT=certificate c expires", "LONGREACH_SWEEP=", "LONGREACH_NAME="));
}

}  // namespace
}  // namespace longreach::service
