// Headers of checkpoints: files that anybody may have written.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "tests/support/temporary_folder.h"
#include "worker/trainer/checkpoint/member_checkpoint.h"
#include "worker/trainer/checkpoint/safetensors.h"

namespace longreach::trainer {
namespace {

class SafetensorsHeaderTest : public ::testing::Test {
 protected:
  absl::StatusOr<SafetensorsFile> Read(std::string_view header, std::string_view payload = {}) {
    std::string bytes(8, '\0');
    for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
    bytes += header;
    bytes += payload;
    std::ofstream(folder_ / "x.safetensors", std::ios::binary) << bytes;
    return SafetensorsFile::Read(folder_ / "x.safetensors");
  }

  longreach::testing::TemporaryFolder folder_;
};

TEST_F(SafetensorsHeaderTest, CountsTheElementsOfAnEmptyTensorWhateverItsOtherSizes) {
  // The product of the first two does not fit into 63 bits; the last makes it nothing.
  const absl::StatusOr<SafetensorsFile> file =
      Read(R"({"x":{"dtype":"U8","shape":[9223372036854775807,2,0],"data_offsets":[0,0]}})");

  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->Find("x")->count(), 0);
}

TEST_F(SafetensorsHeaderTest, ReadsATensorWithoutElements) {
  const absl::StatusOr<SafetensorsFile> file = Read(R"({"x":{"dtype":"F64","shape":[3,0],"data_offsets":[0,0]}})");

  ASSERT_TRUE(file.ok()) << file.status();
  const absl::StatusOr<std::vector<double>> values = file->Doubles("x");
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_TRUE(values->empty());
}

TEST_F(SafetensorsHeaderTest, RefusesAMemberWhoseTensorsDoNotFitEachOther) {
  // Flags of one member for two jobs.
  const absl::StatusOr<SafetensorsFile> file =
      Read(R"({"__metadata__":{"kind":"checkpoint","settings":"s","jobs":"a\nb","step":"1","loss_updates":"0"},)"
           R"("member/curve":{"dtype":"F64","shape":[0],"data_offsets":[0,0]},)"
           R"("member/flags":{"dtype":"I32","shape":[1,5],"data_offsets":[0,20]},)"
           R"("member/loss_sum":{"dtype":"F64","shape":[0],"data_offsets":[20,20]},)"
           R"("test/accuracy":{"dtype":"F64","shape":[0],"data_offsets":[20,20]},)"
           R"("test/loss":{"dtype":"F64","shape":[0],"data_offsets":[20,20]}})",
           std::string(20, '\0'));
  ASSERT_TRUE(file.ok()) << file.status();

  const absl::StatusOr<MemberCheckpoint> member = ReadMemberCheckpoint(*file, 1, "b", "s");

  EXPECT_EQ(member.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(member.status().message(), "its tensors do not fit each other");
}

}  // namespace
}  // namespace longreach::trainer
