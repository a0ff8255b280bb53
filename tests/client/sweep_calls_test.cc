// What commands that submit a sweep say of its name.
#include <gmock/gmock.h>

#include "tests/client/support.h"

namespace longreach::client {
namespace {

using testing::HasSubstr;
using testing::Not;

using SweepCallsTest = WithFakeScheduler;

TEST_F(SweepCallsTest, ASecondSweepOfANameIsTold) {
  v1::Sweep before;
  before.set_id(std::string(64, '1'));
  before.set_name("other");
  scheduler_.other_sweeps = {before};
  for (const char* command : {"submit", "run"}) EXPECT_THAT(Run({command, "table-b1"}).err, Not(HasSubstr("there before"))) << command;

  scheduler_.other_sweeps[0].set_name("table-b1");

  for (const char* command : {"submit", "run"}) {
    EXPECT_THAT(Run({command, "table-b1"}).err, HasSubstr("1 sweep called 'table-b1' was there before, so that name alone is none of them now: this one is aaaaaaaa, or 'last'; "
                                                          "with '--set name=OTHER'"))
        << command;
  }
  EXPECT_EQ(Run({"submit", "table-b1", "-q"}).err, "");
}

}  // namespace
}  // namespace longreach::client
