// Compiled once for each kind of operands.
#include "worker/trainer/resident/emulated_training.h"

#include <memory>

#include "worker/trainer/resident/step.h"

namespace longreach::trainer::resident {

namespace {

struct alignas(1024) Shared {
  char bytes[kMostSharedBytes];
};

template <Positional kPositional>
void Train(const StepArguments& step, Shared& shared) {
  InOrder(step, [&]<class Part>(const Part& part) {
    // To the end of all: a part that takes more than it says reaches beyond it.
    char* const of_part = shared.bytes + (kMostSharedBytes - Part::kSharedBytes) / alignof(Shared) * alignof(Shared);
    for (int block = 0; block < step.members * step.slices; ++block) {
      RunBlock([&] { RunPart<kPositional>(part, step, block, of_part); });
    }
  });
}

}  // namespace

#if defined(LONGREACH_RESIDENT_FLOAT16)
std::function<void(const StepArguments&)> EmulatedTrainingFloat16() {
#else
std::function<void(const StepArguments&)> EmulatedTrainingBfloat16() {
#endif
  return [shared = std::make_shared<Shared>()](const StepArguments& step) {
    switch (PositionalOf(step)) {
      case Positional::kNone: return Train<Positional::kNone>(step, *shared);
      case Positional::kBias: return Train<Positional::kBias>(step, *shared);
      case Positional::kTrainedBias: return Train<Positional::kTrainedBias>(step, *shared);
      case Positional::kRotary: return Train<Positional::kRotary>(step, *shared);
    }
  };
}

}  // namespace longreach::trainer::resident
