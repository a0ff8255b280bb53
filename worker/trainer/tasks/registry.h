// All tasks of proto/catalog/tasks.def by name, and batches of them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "proto/base/status.h"
#include "worker/trainer/random/random_stream.h"

namespace longreach::trainer::tasks {

// The functions of worker/trainer/tasks/<name>.h; support/task.h says what each does.
struct Task {
  std::string_view name;
  int (*InputLength)(int requested_length);
  int (*OutputLength)(int input_length);
  void (*Sample)(Draws& draws, std::span<uint8_t> input);
  int (*Solve)(std::span<const uint8_t> input, std::span<uint8_t> target);
};

// Ascending by name.
std::span<const Task> Tasks();

// nullptr when there is none.
const Task* FindTask(std::string_view name);

// The stream that the sequences of update `step` (0 is the first) are drawn from.
constexpr RandomStream TrainingBatchStream(uint64_t data_seed, uint64_t step) {
  return {.key = data_seed, .purpose = Purpose::kTrainingBatch, .layer = 0, .step = step};
}
// The same for a test at a requested length.
constexpr RandomStream TestBatchStream(int requested_length, uint32_t seed = 0) {
  return {.key = EvaluationKey(seed), .purpose = Purpose::kTestBatch, .layer = 0, .step = static_cast<uint64_t>(requested_length)};
}

// Sequences first_sequence, first_sequence + 1, ... of a batch of one requested length, row by row; `valid` has one
// entry per sequence. A sequence depends on the stream and its own number only, so parts of a batch can be made apart, on
// several threads at once or on a GPU, with the same bits.
// INVALID_ARGUMENT: a length not in 1..kMaxInputLength, too many sequences for the stream, or spans of other sizes.
absl::Status FillBatch(const Task& task, int requested_length, const RandomStream& stream, uint32_t first_sequence,
                       std::span<uint8_t> inputs, std::span<uint8_t> targets, std::span<int32_t> valid);

}  // namespace longreach::trainer::tasks
