#include "worker/trainer/engine/handover.h"

#include <gtest/gtest.h>

namespace longreach::trainer {

namespace {

TEST(HandoverTest, IsWhatFitsIntoAMoment) {
  Handover handover;
  EXPECT_GE(handover.updates(), 1);
  EXPECT_LE(handover.updates(), Handover::kMost);

  handover.Took(4, 4 * 0.1);
  EXPECT_EQ(handover.updates(), 5);
  handover.Took(5, 5 * 0.001);  // Hundreds would fit.
  EXPECT_EQ(handover.updates(), Handover::kMost);
  handover.Took(Handover::kMost, Handover::kMost * 3.0);  // Longer sequences, or others on the GPU.
  EXPECT_EQ(handover.updates(), 1);
  handover.Took(1, 0.05);
  EXPECT_EQ(handover.updates(), 10);
  handover.Took(10, 0);
  EXPECT_EQ(handover.updates(), Handover::kMost);
}

}  // namespace

}  // namespace longreach::trainer
