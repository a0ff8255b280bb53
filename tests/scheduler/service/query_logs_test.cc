#include "scheduler/service/query_logs.h"

#include <optional>
#include <span>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/scheduler/service/query_fixture.h"

namespace longreach::service {
namespace {

using ::testing::HasSubstr;

class QueryLogsTest : public QueryFixture {
 protected:
  QueryLogsTest() : sweep_(AddSweep(SmallSweep("s"))) { AddWorker("w1", "box"); }

  std::span<const int64_t> First() const { return std::span(sweep_.jobs).first(1); }
  // Of the first job: an attempt that has left this; empty: nothing.
  int64_t Ended(const std::string& log) {
    const int64_t attempt = Lease("w1", First());
    if (!log.empty()) PutLog(attempt, sweep_.jobs[0], log);
    GiveBack(attempt, First());
    End(attempt, log.empty() ? Outcome::kLost : Outcome::kGivenBack);
    return attempt;
  }
  absl::StatusOr<v1::GetLogResponse> Log(std::optional<int64_t> attempt = {}) {
    store::Snapshot snapshot = Read();
    v1::GetLogRequest request;
    request.set_job(sweep_.ids[0]);
    if (attempt) request.set_attempt(static_cast<uint32_t>(*attempt));
    return GetLog(snapshot.db(), store_->artifacts(), request);
  }

  const Made sweep_;
};

TEST_F(QueryLogsTest, ALogIsTheNewestAttemptsCutToItsEndAndValidText) {
  EXPECT_EQ(Log().status().code(), absl::StatusCode::kNotFound);
  Ended("first\n");
  EXPECT_EQ(Log()->text(), "first\n");
  // The cut falls into the middle of the two bytes of an "é".
  const int64_t second = Ended("dropped é" + std::string(kLogBytes - 3, 'x') + "\xff\n");

  const absl::StatusOr<v1::GetLogResponse> log = Log();

  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ(log->attempt(), second);
  EXPECT_EQ(log->text(), std::string(kLogBytes - 3, 'x') + "\xef\xbf\xbd\n");
}

TEST_F(QueryLogsTest, TheLogOfEachAttemptIsToBeHadAlsoWhileAnotherRuns) {
  const int64_t first = Ended("first\n"), second = Ended("second\n");
  Lease("w1", First());

  for (const auto& [attempt, text] : {std::pair(first, "first\n"), {second, "second\n"}}) {
    const absl::StatusOr<v1::GetLogResponse> log = Log(attempt);
    ASSERT_TRUE(log.ok()) << log.status();
    EXPECT_EQ(log->attempt(), attempt);
    EXPECT_EQ(log->text(), text);
  }
}

// A worker that died behind its first hand-in and began anew has made more steps by the second.
TEST_F(QueryLogsTest, OfTwoLogsOfAnAttemptTheLaterIsTaken) {
  const int64_t attempt = Lease("w1", First());
  PutLog(attempt, sweep_.jobs[0], "earlier\n", 20);
  PutLog(attempt, sweep_.jobs[0], "later\n", 100);

  EXPECT_EQ(Log(attempt)->text(), "later\n");
  EXPECT_EQ(Log()->text(), "later\n");
}

TEST_F(QueryLogsTest, AnAttemptWithoutALogIsToldOfWithThoseThatHaveOne) {
  const int64_t first = Ended("first\n"), second = Ended("");
  const std::string there = fmt::format("; the job's attempts: {}, {}; those that have left a log: {}", second, first, first);

  const absl::Status left_none = Log(second).status();
  EXPECT_EQ(left_none.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(left_none.message(), fmt::format("attempt {} of job '{}' has left no log{}", second, sweep_.ids[0], there));

  for (const int64_t none : {int64_t{0}, second + 1}) {
    const absl::Status unknown = Log(none).status();
    EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(unknown.message(), fmt::format("job '{}' has no attempt {}{}", sweep_.ids[0], none, there));
  }
}

TEST_F(QueryLogsTest, WithoutALogItIsNotSaidThatEachAttemptThatEndsLeavesOne) {
  const std::string none = fmt::format("no attempt of job '{0}' has handed in a log yet; 'longreach explain {0}' says where it is", sweep_.ids[0]);
  EXPECT_EQ(Log().status().message(), none);
  Ended("");
  EXPECT_EQ(Log().status().message(), none);
}

TEST_F(QueryLogsTest, AnAttemptOfAnotherJobIsNone) {
  const int64_t other = Lease("w1", std::span(sweep_.jobs).subspan(1, 1));
  PutLog(other, sweep_.jobs[1], "of the other\n");

  const absl::Status status = Log(other).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), fmt::format("job '{}' has no attempt {}; the job's attempts: none; those that have left a log: none", sweep_.ids[0], other));
}

TEST_F(QueryLogsTest, OfManyAttemptsTheNewestAreNamed) {
  int64_t last = 0;
  for (int i = 0; i < 25; ++i) last = Ended("");

  const std::string message(Log(last + 1).status().message());

  EXPECT_THAT(message, HasSubstr(fmt::format("; the job's attempts: {}, {}, ", last, last - 1)));
  EXPECT_THAT(message, HasSubstr(fmt::format(", {} and 5 more; those", last - 19)));
}

TEST_F(QueryLogsTest, OneThatRunsLeavesItsLogWhenItEnds) {
  const int64_t attempt = Lease("w1", First());

  const absl::Status status = Log(attempt).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(fmt::format("'longreach logs {:.8} --follow'", sweep_.ids[0])));
  // Once it is handed in it is there, though the attempt's end is still to be told.
  PutLog(attempt, sweep_.jobs[0], "all of it\n");
  EXPECT_EQ(Log(attempt)->text(), "all of it\n");
}

}  // namespace
}  // namespace longreach::service
