// What `longreach workers` says besides its list, which commands_test.cc has.
#include <gmock/gmock.h>

#include "client/errors.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using WorkersTest = WithFakeScheduler;

TEST_F(WorkersTest, PacksThatWaitAreANumber) {
  scheduler_.workers.set_packs_waiting(0);
  EXPECT_EQ(Run({"workers", "--waiting"}).out, "0\n");
  scheduler_.workers.set_packs_waiting(7);
  EXPECT_EQ(Run({"workers", "--waiting"}).out, "7\n");
  EXPECT_EQ(Run({"workers", "--waiting", "-q"}).out, "7\n");
  EXPECT_THAT(Run({"workers", "--waiting", "-o", "json"}).out, HasSubstr("\"packs_waiting\":7"));
}

TEST_F(WorkersTest, ASchedulerThatCountsNoneIsNotTakenForOneWithoutWork) {
  const Outcome outcome = Run({"workers", "--waiting"});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("of an older build, which does not count the packs that wait"));
  EXPECT_THAT(Run({"workers", "-o", "json"}).out, Not(HasSubstr("packs_waiting")));
}

}  // namespace
}  // namespace longreach::client
