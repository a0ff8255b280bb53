// The CUDA plugin compiles, links and loads everywhere; where a GPU answers, it samples the same bits as the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "worker/trainer/kernels/cuda_plugin.h"
#include "worker/trainer/tasks/registry.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {
namespace {

using testing::HasSubstr;

TEST(CudaPluginTest, IsNotFoundWhereThereIsNone) {
  const absl::Status status = LoadCudaPlugin("/nowhere/liblongreach_cuda.so");

  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("LONGREACH_CUDA=ON"));
}

TEST(CudaPluginTest, RefusesAFileThatIsNoLibrary) {
  const std::string path = testing::TempDir() + "/not_a_library.so";
  std::ofstream(path) << "text";

  const absl::Status status = LoadCudaPlugin(path);

  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
}

TEST(CudaPluginTest, LoadsAndSaysWhetherAGpuAnswers) {
  const absl::Status status = LoadCudaPlugin(LONGREACH_CUDA_PLUGIN);

  if (status.ok()) {
    ASSERT_NE(LoadedCudaPlugin(), nullptr);
    const absl::StatusOr<CudaDevice> device = DescribeCudaDevice(0);
    ASSERT_TRUE(device.ok()) << device.status();
    EXPECT_FALSE(device->name.empty());
    EXPECT_GT(device->memory_bytes, 1e9);
  } else {
    // The library and all that it needs are there, or the code would be NOT_FOUND.
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("--device cpu"));
    EXPECT_EQ(LoadedCudaPlugin(), nullptr);
    EXPECT_EQ(DescribeCudaDevice(0).status().code(), absl::StatusCode::kFailedPrecondition);
  }
}

TEST(CudaPluginTest, SamplesEveryTaskWithTheBitsOfTheCpu) {
  const absl::Status loaded = LoadCudaPlugin(LONGREACH_CUDA_PLUGIN);
  if (absl::IsFailedPrecondition(loaded)) GTEST_SKIP() << loaded.message();
  ASSERT_TRUE(loaded.ok()) << loaded;

  constexpr int kCount = 100;
  constexpr uint32_t kFirst = 7;
  for (const tasks::Task& task : tasks::Tasks()) {
    for (const int length : {1, 2, 3, 7, 40, 41, 500}) {
      SCOPED_TRACE(std::string(task.name) + " " + std::to_string(length));
      const RandomStream stream = tasks::TrainingBatchStream(0x123456789abcdef0, uint64_t{1} << 33 | 5);
      const int input_length = task.InputLength(length);
      std::vector<uint8_t> inputs(static_cast<size_t>(kCount * input_length));
      std::vector<uint8_t> targets(static_cast<size_t>(kCount * task.OutputLength(input_length)));
      std::vector<int32_t> valid(kCount);
      ASSERT_TRUE(tasks::FillBatch(task, length, stream, kFirst, inputs, targets, valid).ok());

      std::vector<uint8_t> device_inputs(inputs.size(), 0xEE);
      std::vector<uint8_t> device_targets(targets.size(), 0xEE);
      std::vector<int32_t> device_valid(kCount, -1);
      const std::string name(task.name);
      const LongreachCudaBatch batch = {.task = name.c_str(),
                                        .requested_length = length,
                                        .key = stream.key,
                                        .purpose = static_cast<uint16_t>(stream.purpose),
                                        .layer = stream.layer,
                                        .step = stream.step,
                                        .first_sequence = kFirst,
                                        .count = kCount,
                                        .inputs = device_inputs.data(),
                                        .targets = device_targets.data(),
                                        .valid = device_valid.data()};
      char error[256] = "";
      ASSERT_EQ(LoadedCudaPlugin()->fill_batch(&batch, error, sizeof(error)), 0) << error;

      EXPECT_EQ(device_inputs, inputs);
      EXPECT_EQ(device_targets, targets);
      EXPECT_EQ(device_valid, valid);
    }
  }
}

}  // namespace
}  // namespace longreach::trainer
