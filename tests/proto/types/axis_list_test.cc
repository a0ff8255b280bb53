#include "proto/types/axis_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longreach {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(AxisListTest, HasCommasBetweenItsAxes) {
  EXPECT_THAT(AxesIn(""), IsEmpty());
  EXPECT_THAT(AxesIn("task"), ElementsAre("task"));
  EXPECT_THAT(AxesIn("task,model.layers"), ElementsAre("task", "model.layers"));
  EXPECT_THAT(AxesIn("task,"), ElementsAre("task", "")) << "to be refused";
  EXPECT_THAT(AxesIn("task, model.layers "), ElementsAre("task", "model.layers")) << "as lists are written in sweep files";
  EXPECT_TRUE(HasAxis("task, system", "system"));
  EXPECT_TRUE(HasAxis("task,system", "system"));
  EXPECT_FALSE(HasAxis("task,system", "sys"));
  EXPECT_FALSE(HasAxis("", "")) << "no axis is there";
}

TEST(AxisListTest, KeysOfSeveralAxesAreOneAndAreToldApartAgain) {
  EXPECT_EQ(JoinKeys({"even_pairs", "layers-2"}), "even_pairs,layers-2");
  for (const std::vector<std::string>& keys : {std::vector<std::string>{"a,b\\", ""}, {"", ",", "\\"}, {"a\\,b"}, {"even_pairs", "rope:randomized", "0.001"}}) {
    EXPECT_EQ(SplitKeys(JoinKeys(keys), keys.size()), keys) << JoinKeys(keys);
  }
}

TEST(AxisListTest, TheKeyOfOneAxisIsWhatItIs) {
  EXPECT_EQ(JoinKeys({"a,b"}), "a,b");
  EXPECT_THAT(SplitKeys("a,b", 1), ElementsAre("a,b"));
}

TEST(AxisListTest, AKeyOfAnotherKindIsThatOfTheFirstAxis) {
  EXPECT_THAT(SplitKeys("pretrained", 2), ElementsAre("pretrained", "")) << "of an extra column";
  EXPECT_THAT(SplitKeys("a,b,c", 2), ElementsAre("a", "b"));
  EXPECT_THAT(SplitKeys("a\\", 2), ElementsAre("a\\", ""));
}

}  // namespace
}  // namespace longreach
