// What launchers draw for every task, beside what the host makes.
#pragma once

#include <gtest/gtest.h>

#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "worker/trainer/device.h"
#include "worker/trainer/engine/batch.h"
#include "worker/trainer/resident/launcher.h"
#include "worker/trainer/tasks/registry.h"

namespace longreach::trainer {

inline std::vector<uint16_t> Widened(const Tensor& bytes) {
  const Tensor host = bytes.to(at::kCPU);
  return {host.data_ptr<uint8_t>(), host.data_ptr<uint8_t>() + host.numel()};
}

inline void ExpectToDrawTheBatchesOfTheHost(const resident::Launcher& launcher) {
  PackSettings settings;
  settings.training.batch_size = 100;
  settings.training.data_seed = 0x12345678;
  const uint64_t step = uint64_t{1} << 33 | 5;
  const auto bytes = at::TensorOptions(at::kByte).device(DeviceOf(launcher.cuda));
  for (size_t task = 0; task < tasks::Tasks().size(); ++task) {
    settings.task = tasks::Tasks()[task].name;
    for (const int length : {1, 2, 3, 7, 40, 41, 500}) {
      SCOPED_TRACE(Text(settings.task, " ", length));
      settings.training.lengths = {length};
      const Batch expected = TrainingBatch(settings, PositionUse::kNothing, step), batch = UnsampledTrainingBatch(settings, PositionUse::kNothing, step);
      ASSERT_EQ(batch.tape, expected.tape);
      ASSERT_EQ(batch.outputs, expected.outputs);
      EXPECT_TRUE(batch.tokens.empty());
      constexpr int64_t kBeyond = 64;
      constexpr uint8_t kUntouched = 0xEE;
      const Tensor tokens = at::full({batch.size * batch.tape + kBeyond}, kUntouched, bytes);
      const Tensor targets = at::full({batch.size * batch.outputs + kBeyond}, kUntouched, bytes);
      launcher.sample({.task = static_cast<int>(task),
                       .stream = batch.unsampled.value(),
                       .batch = static_cast<int>(batch.size),
                       .tape = static_cast<int>(batch.tape),
                       .outputs = static_cast<int>(batch.outputs),
                       .empty = static_cast<uint8_t>(catalog::FindTask(settings.task)->input_vocabulary),
                       .tokens = tokens.data_ptr<uint8_t>(),
                       .targets = targets.data_ptr<uint8_t>()});
      const std::vector<uint16_t> untouched(kBeyond, kUntouched);
      EXPECT_EQ(Widened(tokens.narrow(0, 0, batch.size * batch.tape)), expected.tokens);
      EXPECT_EQ(Widened(targets.narrow(0, 0, batch.size * batch.outputs)), expected.targets);
      EXPECT_EQ(Widened(tokens.narrow(0, batch.size * batch.tape, kBeyond)), untouched);
      EXPECT_EQ(Widened(targets.narrow(0, batch.size * batch.outputs, kBeyond)), untouched);
    }
  }
}

}  // namespace longreach::trainer
