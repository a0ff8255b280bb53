// In which order names stand that have numbers in them.
#include "proto/base/name_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace longreach {
namespace {

std::vector<std::string> Sorted(std::vector<std::string> names) {
  std::ranges::sort(names, {}, [](const std::string& name) { return NumberedWords(name); });
  return names;
}

TEST(NameOrderTest, NumbersWithinNamesAreBySize) {
  EXPECT_EQ(Sorted({"layers-10", "layers-2_batch_size-16", "layers-2_batch_size-8", "a"}),
            (std::vector<std::string>{"a", "layers-2_batch_size-8", "layers-2_batch_size-16", "layers-10"}));
  EXPECT_EQ(Sorted({"rate-0.001", "rate-1e-05"}), (std::vector<std::string>{"rate-1e-05", "rate-0.001"}));
}

TEST(NameOrderTest, WithoutNumbersNamesAreByTheirLetters) { EXPECT_EQ(Sorted({"rope", "", "alibi", "none"}), (std::vector<std::string>{"", "alibi", "none", "rope"})); }

}  // namespace
}  // namespace longreach
