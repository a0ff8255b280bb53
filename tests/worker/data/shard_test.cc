#include "worker/data/shard.h"

#include <gtest/gtest.h>

#include "tests/worker/data/support.h"

namespace longreach::data {
namespace {

std::span<const uint8_t> Bytes(const std::string& text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }

std::string TwoImages() {
  ShardBuilder builder(3, {{2, 3}, {1, 1}});
  for (const int64_t slot : {0, 2}) {
    builder.SetLabel(slot, static_cast<uint32_t>(7 + slot));
    std::ranges::fill(builder.pixels(slot, 0), static_cast<uint8_t>(10 + slot));
    std::ranges::fill(builder.pixels(slot, 1), static_cast<uint8_t>(20 + slot));
  }
  return builder.Finish();  // Slot 1 was broken.
}

TEST(ShardTest, ReadsWhatWasWritten) {
  const std::string bytes = TwoImages();

  ASSERT_OK_AND_ASSIGN(const ShardLayout layout, ParseShard(Bytes(bytes)));

  EXPECT_EQ(layout.images, 2);
  ASSERT_EQ(layout.sizes, (std::vector<ImageSize>{{2, 3}, {1, 1}}));
  EXPECT_EQ(ReadLabel(Bytes(bytes).data() + layout.labels + 4), 9u);
  EXPECT_EQ(bytes.substr(layout.pixels[0], 12), std::string(6, '\x0a') + std::string(6, '\x0c'));
  EXPECT_EQ(bytes.substr(layout.pixels[1]), "\x14\x16");
  EXPECT_EQ(static_cast<int64_t>(bytes.size()), ShardBytes(2, layout.sizes));
}

TEST(ShardTest, EveryOtherLengthIsRefusedWithTheOffset) {
  const std::string whole = TwoImages();
  for (size_t length = 0; length < whole.size(); ++length) {
    const absl::StatusOr<ShardLayout> layout = ParseShard(Bytes(whole.substr(0, length)));
    ASSERT_EQ(layout.status().code(), absl::StatusCode::kDataLoss) << length;
    EXPECT_NE(layout.status().message().find("at byte "), std::string::npos) << layout.status();
  }
  EXPECT_FALSE(ParseShard(Bytes(whole + "x")).ok());
}

TEST(ShardTest, NoHeaderLeadsOutsideTheFile) {
  const std::string whole = TwoImages();
  for (size_t at = 0; at < 32; ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = whole;
      changed[at] = static_cast<char>(value);
      const absl::StatusOr<ShardLayout> layout = ParseShard(Bytes(changed));
      if (!layout.ok()) continue;
      EXPECT_EQ(ShardBytes(layout->images, layout->sizes), static_cast<int64_t>(changed.size()));
    }
  }
  // As many images as a number can say, of sizes whose bytes would not fit in 64 bits.
  std::string huge = whole;
  for (size_t at = 8; at < 32; ++at) huge[at] = '\xff';
  EXPECT_EQ(ParseShard(Bytes(huge)).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace longreach::data
