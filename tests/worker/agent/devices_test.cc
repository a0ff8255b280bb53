// What `longreach-worker devices` says of what was seen.
#include "worker/agent/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.h"

namespace longreach::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

DeviceReport WithoutGpu() {
  DeviceReport report{.build = "0.1.0 (abc)", .devices = {}, .driver = {}, .visible = {}};
  report.devices.libtorch = "2.11.0";
  report.devices.cpu = {.model = "A Processor", .registers = "AVX2", .threads = 2, .memory_bytes = 8e9, .engine = "lanes-avx2", .engines = {"libtorch", "lanes-avx2"}, .problem = {}};
  report.devices.no_gpu = "no CUDA plugin at /opt/lib";
  return report;
}

DeviceReport WithGpus() {
  DeviceReport report = WithoutGpu();
  report.devices.no_gpu = "";
  report.devices.cuda = "13.0";
  report.devices.gpus = {{.name = "A GPU", .memory_bytes = 140e9, .memory_free_bytes = 139.5e9, .engine = "spread-fp16", .problem = {}},
                         {.name = "Another", .memory_bytes = 40e9, .memory_free_bytes = {}, .engine = "libtorch", .problem = "no kernel image"}};
  report.driver = {.present = true, .version = "580.1"};
  report.visible = "4,5";
  return report;
}

TEST(DeviceReportTest, SaysWhatIsThere) {
  const std::string text = DevicesAsText(WithGpus());

  EXPECT_THAT(text, HasSubstr("LibTorch 2.11.0, CUDA 13.0\n"));
  EXPECT_THAT(text, HasSubstr("cpu    A Processor, AVX2, 2 threads, 8.0 GB of memory, engine lanes-avx2\n       instruction sets: portable"));
  EXPECT_THAT(text, HasSubstr("cuda:0 A GPU, 140.0 GB of memory, 139.5 GB of it free, engine spread-fp16\n"));
  EXPECT_THAT(text, HasSubstr("cuda:1 Another, 40.0 GB of memory, engine libtorch\n       does not compute: no kernel image\n"));
  EXPECT_THAT(text, HasSubstr("NVIDIA driver 580.1\nCUDA_VISIBLE_DEVICES is '4,5'\n"));
  EXPECT_THAT(text, Not(HasSubstr("no GPU")));
  EXPECT_FALSE(AllCompute(WithGpus().devices));
}

TEST(DeviceReportTest, SaysWhyThereIsNoGpu) {
  EXPECT_THAT(DevicesAsText(WithoutGpu()), HasSubstr("no GPU: no CUDA plugin at /opt/lib\n"));
  EXPECT_TRUE(AllCompute(WithoutGpu().devices)) << "none is no failure";

  DeviceReport broken = WithoutGpu();
  broken.devices.cpu.problem = "LibTorch: no";
  EXPECT_THAT(DevicesAsText(broken), HasSubstr("does not compute: LibTorch: no\n"));
  EXPECT_FALSE(AllCompute(broken.devices));
}

TEST(DeviceReportTest, IsJsonForPrograms) {
  const nlohmann::json some = nlohmann::json::parse(DevicesAsJson(WithGpus()));
  EXPECT_EQ(some["schema"], "longreach/v1");
  EXPECT_EQ(some["build"], "0.1.0 (abc)");
  EXPECT_EQ(some["cpu"]["engine"], "lanes-avx2");
  EXPECT_EQ(some["cpu"]["instruction_sets"][0], "portable");
  EXPECT_EQ(some["cpu"]["engines"].size(), 2u);
  ASSERT_EQ(some["gpus"].size(), 2u);
  EXPECT_EQ(some["gpus"][0]["device"], "cuda:0");
  EXPECT_EQ(some["gpus"][0]["memory_free_bytes"], 139.5e9);
  EXPECT_TRUE(some["gpus"][1]["memory_free_bytes"].is_null());
  EXPECT_EQ(some["gpus"][1]["problem"], "no kernel image");
  EXPECT_EQ(some["driver"]["present"], true);
  EXPECT_EQ(some["driver"]["version"], "580.1");
  EXPECT_EQ(some["visible_devices"], "4,5");

  const nlohmann::json none = nlohmann::json::parse(DevicesAsJson(WithoutGpu()));
  EXPECT_TRUE(none["gpus"].is_array() && none["gpus"].empty());
  EXPECT_EQ(none["no_gpu"], "no CUDA plugin at /opt/lib");
  EXPECT_TRUE(none["visible_devices"].is_null());

  DeviceReport alone = WithGpus();
  alone.devices.gpus.resize(1);
  EXPECT_EQ(nlohmann::json::parse(DevicesAsJson(alone))["gpus"].size(), 1u) << "a list of one is a list";
}

TEST(NvidiaDriverTest, IsThereWhereItsDeviceFilesAre) {
  const testing::TemporaryFolder root;
  EXPECT_FALSE(LookAtNvidiaDriver(root.path()).present);

  // A container sees the driver of its host, whose devices it was not given.
  std::filesystem::create_directories(root / "sys/module/nvidia");
  std::ofstream(root / "sys/module/nvidia/version") << "580.95.05\n";
  EXPECT_FALSE(LookAtNvidiaDriver(root.path()).present);
  EXPECT_EQ(LookAtNvidiaDriver(root.path()).version, "580.95.05");

  std::filesystem::create_directories(root / "dev");
  std::ofstream(root / "dev/nvidiactl") << "";
  EXPECT_TRUE(LookAtNvidiaDriver(root.path()).present);
}

}  // namespace
}  // namespace longreach::agent
