#include "scheduler/service/grpc_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/utf8.h"

namespace longreach::service {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ForTrailersTest, AShortTextIsAsItIs) {
  EXPECT_EQ(ForTrailers(""), "");
  EXPECT_EQ(ForTrailers("seed: unknown seed '7'\n  known are 0, 1"), "seed: unknown seed '7'\n  known are 0, 1");
  const std::string most(6000, 'x');
  EXPECT_EQ(ForTrailers(most), most);
}

TEST(ForTrailersTest, ALongOneHasItsBeginningAndItsEnd) {
  const std::string cut = ForTrailers("sweep: there is no sweep '" + std::string(20'000, 'x') + "'; 'longreach sweeps' shows all of them");
  EXPECT_THAT(cut, StartsWith("sweep: there is no sweep 'xxx"));
  EXPECT_THAT(cut, EndsWith("xxx'; 'longreach sweeps' shows all of them"));
  EXPECT_THAT(cut, HasSubstr("x [... 14065 bytes ...] x"));
  EXPECT_LT(cut.size(), 6050u);
}

// As many bytes as are sent count, and no character is cut.
TEST(ForTrailersTest, CharactersBeyondAsciiTakeMoreRoom) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "\u00e9\u4e2d";  // Of two and of three bytes, each of which is sent as three.
  const std::string cut = ForTrailers(text);
  EXPECT_LT(cut.size(), 2050u);
  EXPECT_EQ(ValidUtf8(cut), cut);
  EXPECT_THAT(cut, HasSubstr(" bytes ...] "));
}

}  // namespace
}  // namespace longreach::service
