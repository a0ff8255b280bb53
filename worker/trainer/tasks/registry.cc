#include "worker/trainer/tasks/registry.h"

#include <algorithm>

#include "proto/base/text.h"
#include "worker/trainer/tasks/all_tasks.h"  // Made of proto/catalog/tasks.def.
#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks {

namespace {

constexpr Task kTasks[] = {
#define X(name, ...) {#name, name::InputLength, name::OutputLength, name::Sample, name::Solve},
#include "proto/catalog/tasks.def"
#undef X
};

absl::Status CheckSize(std::string_view what, size_t size, size_t wanted) {
  if (size == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(Text("a batch with ", size, " ", what, " where ", wanted, " are needed"));
}

}  // namespace

std::span<const Task> Tasks() { return kTasks; }

const Task* FindTask(std::string_view name) {
  const auto at = std::ranges::lower_bound(kTasks, name, {}, &Task::name);
  return at != std::end(kTasks) && at->name == name ? at : nullptr;
}

absl::Status FillBatch(const Task& task, int requested_length, const RandomStream& stream, uint32_t first_sequence,
                       std::span<uint8_t> inputs, std::span<uint8_t> targets, std::span<int32_t> valid) {
  if (requested_length < 1 || requested_length > kMaxInputLength) {
    return absl::InvalidArgumentError(
        Text("a batch of length ", requested_length, "; lengths are 1 to ", kMaxInputLength));
  }
  const size_t count = valid.size();
  if (count > Draws::kMaxSequences - std::min(first_sequence, Draws::kMaxSequences)) {
    return absl::InvalidArgumentError(Text("a batch up to sequence ", first_sequence + uint64_t{count}, "; the limit is ",
                                           Draws::kMaxSequences));
  }
  const size_t input_length = static_cast<size_t>(task.InputLength(requested_length));
  const size_t output_length = static_cast<size_t>(task.OutputLength(static_cast<int>(input_length)));
  RETURN_IF_ERROR(CheckSize("input tokens", inputs.size(), count * input_length));
  RETURN_IF_ERROR(CheckSize("target tokens", targets.size(), count * output_length));
  for (size_t i = 0; i < count; ++i) {
    Draws draws(stream, first_sequence + static_cast<uint32_t>(i));
    const std::span<uint8_t> input = inputs.subspan(i * input_length, input_length);
    task.Sample(draws, input);
    valid[i] = task.Solve(input, targets.subspan(i * output_length, output_length));
  }
  return absl::OkStatus();
}

}  // namespace longreach::trainer::tasks
