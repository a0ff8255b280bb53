#include "proto/types/meant_name.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace longreach {
namespace {

const std::vector<std::string> kSomeEncodings = {"learned", "none", "rope", "sin_cos", "t5"};

TEST(MeantNameTest, WhatPeopleCallItComesBeforeWhatIsSpelledAlike) {
  EXPECT_EQ(MeantName("encoding", "nopos", kSomeEncodings), "did you mean 'none'?");
  EXPECT_EQ(MeantName("encoding", "ape", kSomeEncodings), "did you mean 'learned' or 'sin_cos'?") << "not 'rope'";
  EXPECT_EQ(MeantName("encoding", "sine", kSomeEncodings), "did you mean 'sin_cos'?") << "not 'none'";
  EXPECT_EQ(MeantName("encoding", "rotary_randomized", kSomeEncodings), "did you mean 'rope:randomized'?");
  EXPECT_EQ(MeantName("encoding", "roep", kSomeEncodings), "did you mean 'rope'?");
  EXPECT_EQ(MeantName("encoding", "something", kSomeEncodings), "");
}

TEST(MeantNameTest, WhatIsNotKnownHereIsNotMeant) {
  EXPECT_EQ(MeantName("encoding", "ape", {"none", "sin_cos"}), "did you mean 'sin_cos'?");
  EXPECT_EQ(MeantName("encoding", "rotary", {"alibi"}), "");
  EXPECT_EQ(MeantName("task", "imagenet1k", {"even_pairs"}), "") << "of another kind";
  EXPECT_EQ(MeantName("task", "parity", {"even_pairs", "parity_check"}), "did you mean 'parity_check'?");
}

TEST(MeantNameTest, OtherAxesHaveNoOtherNames) {
  EXPECT_EQ(MeantName("system", "nopos", kSomeEncodings), "");
  EXPECT_EQ(MeantName("system", "rop", kSomeEncodings), "did you mean 'rope'?");
  EXPECT_EQ(MeantName("system", "rop", {}), "");
}

}  // namespace
}  // namespace longreach
