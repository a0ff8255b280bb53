// Tests of what is computed on a GPU. They are skipped where none answers; those built with LONGREACH_STAND_IN_GPU, a file, run on the
// stand-in for one (tests/worker/trainer/stand_in_gpu) anywhere.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "tests/worker/trainer/lanes_fixture.h"
#include "worker/trainer/kernels/cuda_plugin.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

inline std::filesystem::path GpuPlugin() {
#if defined(LONGREACH_STAND_IN_GPU)
  return LONGREACH_STAND_IN_GPU;
#else
  return OwnCudaPlugin();
#endif
}

// Loads the plugin for a test; skips it where no GPU answers.
#define LONGREACH_NEEDS_GPU()                                                              \
  if (const absl::Status loaded = LoadCudaPlugin(GpuPlugin()); absl::IsFailedPrecondition(loaded)) { \
    GTEST_SKIP() << loaded.message();                                                      \
  } else {                                                                                 \
    ASSERT_TRUE(loaded.ok()) << loaded;                                                    \
  }

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override { LONGREACH_NEEDS_GPU(); }

  static std::unique_ptr<StepEngine> OnGpu(const PackSettings& settings, const std::string& engine) {
    return MakeEngine(settings, {.threads = 2, .cuda = true, .engine = engine}, [](const std::string&) {});
  }

  static PackState OnDevice(PackState state, const StepEngine& engine) {
    state.MoveTo(engine.device());
    return state;
  }

  static PackSettings Settings(const std::string& encoding, const std::string& task, int length) {
    PackSettings settings;
    settings.task = task;
    settings.encoding = encoding;
    settings.training.lengths = {length};
    settings.training.batch_size = 9;
    return settings;
  }

  static Batch BatchOf(const PackSettings& settings, const StepEngine& engine, uint64_t step) {
    return TrainingBatch(settings, engine.model().encoding().Use(), step);
  }
};

}  // namespace longreach::trainer
