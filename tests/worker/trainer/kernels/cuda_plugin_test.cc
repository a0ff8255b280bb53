// The CUDA plugin compiles, links and loads everywhere; where a GPU answers, it samples the same bits as the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "worker/trainer/kernels/cuda_plugin.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {
namespace {

using ::testing::HasSubstr;

TEST(CudaPluginTest, IsNotFoundWhereThereIsNone) {
  const absl::Status status = LoadCudaPlugin("/nowhere/liblongreach_cuda.so");

  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("LONGREACH_CUDA=ON"));
}

TEST(CudaPluginTest, RefusesAFileThatIsNoLibrary) {
  const std::string path = ::testing::TempDir() + "/not_a_library.so";
  std::ofstream(path) << "text";

  const absl::Status status = LoadCudaPlugin(path);

  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
}

TEST(CudaPluginTest, LoadsAndSaysWhetherAGpuAnswers) {
  const absl::Status status = LoadCudaPlugin(OwnCudaPlugin());

  if (status.ok()) {
    ASSERT_NE(LoadedCudaPlugin(), nullptr);
    const absl::StatusOr<CudaDevice> device = DescribeCudaDevice(0);
    ASSERT_TRUE(device.ok()) << device.status();
    EXPECT_FALSE(device->name.empty());
    EXPECT_GT(device->memory_bytes, 1e9);
    EXPECT_THAT(device->id, ::testing::MatchesRegex("GPU-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
  } else {
    // The library and all that it needs are there, or the code would be NOT_FOUND.
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("--device cpu"));
    EXPECT_EQ(LoadedCudaPlugin(), nullptr);
    EXPECT_EQ(DescribeCudaDevice(0).status().code(), absl::StatusCode::kFailedPrecondition);
  }
}

}  // namespace
}  // namespace longreach::trainer
