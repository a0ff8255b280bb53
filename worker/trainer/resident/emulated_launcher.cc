#include <functional>

#include "worker/trainer/resident/emulated_training.h"
#include "worker/trainer/resident/keep_bits.h"
#include "worker/trainer/resident/launcher.h"
#include "worker/trainer/resident/member_work.h"
#include "worker/trainer/resident/sample.h"
#include "worker/trainer/tasks/registry.h"

namespace longreach::trainer::resident {

size_t WorkBytes(int layers) { return MemberWork(nullptr, layers).bytes; }
size_t SliceBytes(int layers, int tokens) { return SliceWork(nullptr, layers, tokens).bytes; }

Launcher EmulatedLauncher(Operands operands) {
  const bool float16 = operands == Operands::kFloat16;
  return {.cuda = false,
          .operands = operands,
          .sample =
              [](const SampleArguments& sample) {
                const tasks::Task& task = tasks::Tasks()[static_cast<size_t>(sample.task)];
                for (int sequence = 0; sequence < sample.batch; ++sequence) SampleSequence(task, sample, sequence);
              },
          .fill_keep =
              [](const KeepArguments& keep) {
                for (int word = 0; word < keep.places * keep.tokens; ++word) FillKeepWord(keep, word);
              },
          .train = float16 ? EmulatedTrainingFloat16() : EmulatedTrainingBfloat16()};
}

}  // namespace longreach::trainer::resident
