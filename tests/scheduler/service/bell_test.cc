#include "scheduler/service/bell.h"

#include <optional>

#include <gtest/gtest.h>

namespace longreach::service {
namespace {

TEST(BellTest, CallsThoseWhoListen) {
  Bell bell;
  int first = 0, second = 0;
  const Bell::Listening one = bell.Listen([&first] { ++first; });
  std::optional<Bell::Listening> other(bell.Listen([&second] { ++second; }));

  bell.Ring();
  other.reset();
  bell.Ring();

  EXPECT_EQ(first, 2);
  EXPECT_EQ(second, 1);
}

TEST(BellTest, ListeningGoesOnWhereItIsMoved) {
  Bell bell;
  int calls = 0;
  std::optional<Bell::Listening> from(bell.Listen([&calls] { ++calls; }));
  const Bell::Listening to = *std::move(from);
  from.reset();

  bell.Ring();

  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace longreach::service
