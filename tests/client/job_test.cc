// What `longreach job` says of a job's attempts.
#include <gmock/gmock.h>

#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using JobTest = WithFakeScheduler;

v1::AttemptInfo AttemptOf(const std::string& worker, const std::string& name) {
  v1::AttemptInfo attempt;
  attempt.set_worker(worker);
  attempt.set_worker_name(name);
  attempt.set_outcome("failed");
  return attempt;
}

TEST_F(JobTest, WorkersOfOneNameAreToldApartByTheirIds) {
  scheduler_.attempts = {AttemptOf("0123456789", "node"), AttemptOf("9876543210", "node"), AttemptOf("5555555555", "other")};

  const std::string out = Run({"job", "bbbb"}).out;

  EXPECT_THAT(out, HasSubstr("node 01234567  failed"));
  EXPECT_THAT(out, HasSubstr("node 98765432  failed"));
  EXPECT_THAT(out, HasSubstr("other          failed"));
}

TEST_F(JobTest, OfAnAttemptThatRunsItIsSaidWhereItWaitsForItsWorkersDisk) {
  v1::AttemptInfo running = AttemptOf("0123456789", "node");
  running.clear_outcome();
  running.set_phase("uploading");
  scheduler_.attempts = {running};
  EXPECT_THAT(Run({"job", "bbbb"}).out, HasSubstr("node    running "));

  scheduler_.attempts[0].set_phase("waits for its disk");
  EXPECT_THAT(Run({"job", "bbbb"}).out, HasSubstr("node    running: waits for its disk"));
}

TEST_F(JobTest, SaysWhoseCheckpointAnAttemptWentOnFrom) {
  v1::AttemptInfo first = AttemptOf("0123456789", "node"), second = first;
  first.set_attempt(3);
  second.set_attempt(7);
  scheduler_.attempts = {second, first};
  EXPECT_THAT(Run({"job", "bbbb"}).out, Not(HasSubstr("WENT ON FROM")));

  scheduler_.attempts[0].mutable_went_on_from()->set_attempt(3);
  scheduler_.attempts[0].mutable_went_on_from()->set_step(500);

  const std::string out = Run({"job", "bbbb"}).out;
  EXPECT_THAT(out, HasSubstr("WENT ON FROM"));
  EXPECT_THAT(out, HasSubstr("attempt 3, step 500\n"));
  EXPECT_THAT(Run({"job", "bbbb", "-o", "json"}).out, HasSubstr("\"went_on_from\":{\"attempt\":3,\"step\":500}"));
}

TEST_F(JobTest, SaysWhatItsResultWasMadeOfAndWhatToDo) {
  EXPECT_THAT(Run({"job", "bbbb"}).out, Not(HasSubstr("note: ")));
  scheduler_.notes = {"Its result was made of another one.", "'longreach verify bbbb' trains it again."};

  EXPECT_THAT(Run({"job", "bbbb"}).out, HasSubstr("  note: Its result was made of another one.\n  note: 'longreach verify bbbb"));
  EXPECT_THAT(Run({"job", "bbbb", "-o", "json"}).out, HasSubstr("\"notes\":[\"Its result was made of another one.\""));
}

TEST_F(JobTest, OneWorkerGoesByItsName) {
  scheduler_.attempts = {AttemptOf("0123456789", "node"), AttemptOf("0123456789", "node")};
  EXPECT_THAT(Run({"job", "bbbb"}).out, Not(HasSubstr("01234567")));
}

// A job may have hundreds of them, which are a figure's.
TEST_F(JobTest, ValuesFromBeforeTheEndAreCountedForPeopleAndListedForPrograms) {
  EXPECT_THAT(Run({"job", "bbbb"}).out, Not(HasSubstr("while it was trained")));
  for (const int step : {200, 1000}) {
    v1::Measurement& one = scheduler_.on_the_way.emplace_back();
    one.set_metric("accuracy");
    one.set_slice("step=" + std::to_string(step));
    one.set_value(0.625);
  }

  const std::string out = Run({"job", "bbbb"}).out;

  EXPECT_THAT(out, HasSubstr("accuracy     all         0.875\n"));
  EXPECT_THAT(out, Not(HasSubstr("0.625")));
  EXPECT_THAT(out, HasSubstr("\n2 values over all lengths, while it was trained, not shown: 'longreach plot SWEEP --x step --metric accuracy' draws them"));
  EXPECT_THAT(Run({"job", "bbbb", "-o", "json"}).out, HasSubstr("\"slice\":\"step=1000\",\"value\":0.625"));
}

}  // namespace
}  // namespace longreach::client
