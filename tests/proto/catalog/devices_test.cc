#include "proto/catalog/devices.h"

#include <gmock/gmock.h>

namespace longreach::catalog {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Devices(std::string_view text) {
  std::vector<std::string> texts;
  for (const Device& device : ParseDevices(text)) texts.push_back(ToText(device));
  return texts;
}

TEST(DevicesTest, AreAProcessorTheFirstGpuOrNumberedOnes) {
  EXPECT_THAT(Devices("cpu"), ElementsAre("cpu"));
  EXPECT_THAT(Devices("cuda"), ElementsAre("cuda"));
  EXPECT_THAT(Devices("cuda:3"), ElementsAre("cuda:3"));
  EXPECT_THAT(Devices("cuda:7,0,2..4"), ElementsAre("cuda:0", "cuda:2", "cuda:3", "cuda:4", "cuda:7"));
  EXPECT_EQ(ParseDevice("cuda:12"), (Device{.cuda = true, .gpu = 12}));
  EXPECT_EQ(ParseDevice("cuda:0,1"), std::nullopt) << "a worker has one";
}

TEST(DevicesTest, AllElseIsNone) {
  for (const char* text : {"", "gpu", "CUDA", "cuda:", "cuda:-1", "cuda:a", "cuda:1 ", "cuda:0,", "cuda:,0", "cuda:0,0", "cuda:0..2,1", "cuda:3..1", "cuda:1..", "cuda:..1",
                           "cuda:0...2", "cuda:1024", "cuda:99999999999999999999", "cuda0", "cpu:0", "cpu,cuda", "cuda:0,cuda:1"}) {
    EXPECT_THAT(Devices(text), IsEmpty()) << text;
    EXPECT_THAT(CheckDevices(text), HasSubstr(std::string("'") + text + "' is neither cpu nor cuda")) << text;
    EXPECT_EQ(ParseDevice(text), std::nullopt) << text;
  }
  EXPECT_EQ(CheckDevices("cuda:0..7"), "");
  EXPECT_THAT(CheckDevice("cuda:0..7"), HasSubstr("'cuda:0..7' is neither"));
  EXPECT_EQ(CheckDevice("cuda:7"), "");
}

TEST(DevicesTest, ANumberIsThatOfWhatCudaSees) {
  EXPECT_EQ(VisibleAlone(2, nullptr), "2");
  EXPECT_EQ(VisibleAlone(1, "4,6"), "6") << "as an allocation of a batch system has it";
  EXPECT_EQ(VisibleAlone(0, "GPU-5a1c,GPU-77f0"), "GPU-5a1c");
  EXPECT_EQ(VisibleAlone(1, "MIG-5a1c,MIG-77f0"), "MIG-77f0") << "a part of a GPU that is divided";
  EXPECT_EQ(VisibleAlone(2, "4,6"), std::nullopt);
  EXPECT_EQ(VisibleAlone(0, ""), std::nullopt) << "an empty one hides all";
}

}  // namespace
}  // namespace longreach::catalog
