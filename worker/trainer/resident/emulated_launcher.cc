#include <memory>

#include "worker/trainer/resident/keep_bits.h"
#include "worker/trainer/resident/launcher.h"
#include "worker/trainer/resident/sample.h"
#include "worker/trainer/resident/step.h"
#include "worker/trainer/tasks/registry.h"

namespace longreach::trainer::resident {

namespace {

struct alignas(128) Shared {
  char bytes[kSharedBytes];
};

template <Positional kPositional>
void Train(const StepArguments& step, Shared& shared) {
  for (int member = 0; member < step.members; ++member) {
    RunBlock([&] { TrainMember<kPositional>(step, member, shared.bytes); });
  }
}

}  // namespace

size_t WorkBytes(int layers, int tokens) { return MemberWork(nullptr, layers, tokens).bytes; }

Launcher EmulatedLauncher() {
  const auto shared = std::make_shared<Shared>();
  return {.name = "emulated-bf16",
          .cuda = false,
          .sample =
              [](const SampleArguments& sample) {
                const tasks::Task& task = tasks::Tasks()[static_cast<size_t>(sample.task)];
                for (int sequence = 0; sequence < sample.batch; ++sequence) SampleSequence(task, sample, sequence);
              },
          .fill_keep =
              [](const KeepArguments& keep) {
                for (int word = 0; word < keep.places * keep.tokens; ++word) FillKeepWord(keep, word);
              },
          .train =
              [shared](const StepArguments& step) {
                switch (PositionalOf(step)) {
                  case Positional::kNone: return Train<Positional::kNone>(step, *shared);
                  case Positional::kBias: return Train<Positional::kBias>(step, *shared);
                  case Positional::kTrainedBias: return Train<Positional::kTrainedBias>(step, *shared);
                  case Positional::kRotary: return Train<Positional::kRotary>(step, *shared);
                }
              }};
}

}  // namespace longreach::trainer::resident
