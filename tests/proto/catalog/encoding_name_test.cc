#include "proto/catalog/encoding_name.h"

#include <gtest/gtest.h>

namespace longreach::catalog {
namespace {

TEST(EncodingNameTest, ReadsPlainAndRandomizedAndRefusesOtherSuffixes) {
  EXPECT_EQ(ParseEncodingName("rope"), (EncodingName{"rope", false}));
  EXPECT_EQ(ParseEncodingName("rope:randomized"), (EncodingName{"rope", true}));
  for (const std::string_view text : {"rope:random", "rope:randomized:x", "rope:", "rope::randomized"}) {
    EXPECT_FALSE(ParseEncodingName(text).has_value()) << text;
    EXPECT_FALSE(IsRandomized(text)) << text;
  }
}

TEST(EncodingNameTest, IsWrittenAsItIsRead) {
  for (const std::string_view text : {"rope", "rope:randomized"}) {
    EXPECT_EQ(ToText(*ParseEncodingName(text)), text);
    EXPECT_EQ(IsRandomized(text), text.ends_with(":randomized"));
  }
}

}  // namespace
}  // namespace longreach::catalog
