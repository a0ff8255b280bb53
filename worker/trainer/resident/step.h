// The parts of an update, in their order.
#pragma once

#include "worker/trainer/resident/slice_step.h"
#include "worker/trainer/resident/update.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

// A part is run by one block for each slice of each live member, and begins when the one before has ended for all of them. On a GPU each is a kernel of
// its own: of several in one the compiler makes functions that are called, which fetch the memory's descriptor for each access.
// `shared` has the part's kSharedBytes, and begins at a multiple of 1024 bytes. kPositional: PositionalOf(step).

// What the slices of a member have in common: rounded weights and tables of biases. The blocks divide the layers' parts, the first ones have the
// first weights, the last ones the first tables.
struct PrepareMembers {
  static constexpr size_t kSharedBytes = 0;

  template <Positional kPositional>
  LONGREACH_DEVICE void Run(const StepArguments& step, const Place& place, char*) const {
    const PhaseClock clock(step, place.block);
    const ModelPlaces& places = step.places;
    float* const parameters = step.parameters + int64_t{place.member} * places.stride;
    const MemberWork work(step.work + static_cast<size_t>(place.member) * step.work_bytes, step.layers);
    AssumeGlobal(parameters, step.work);
    for (int i = place.slice; i < kWeightParts * step.layers; i += step.slices) {
      const int layer = i / kWeightParts;
      RoundWeights(places.layer[layer], parameters, i % kWeightParts, work.matrices + int64_t{layer} * kLayerMatrices);
    }
    if (IsKerple(step.bias)) {
      // One block writes what others read; what they find is in its range or will be taken for what it becomes.
      if (place.slice == step.slices - 1) ClampKerple(places, step.bias, parameters);
      for (int layer = step.slices - 1 - place.slice; layer < step.layers; layer += step.slices) {
        const LayerPlaces& at = places.layer[layer];
        const int64_t table = int64_t{layer} * kHeads * kTable;
        FillTables(step.bias, parameters + at.kerple_a, parameters + at.kerple_p, step.distances + layer * kTable, work.tables + table,
                   work.slopes + table);
      }
    }
    clock.End(Phase::kPrepare);
  }
};

// The slices' way through all layers.
struct ForwardSlices {
  static constexpr size_t kSharedBytes = LayerForwardSharedBytes();

  template <Positional kPositional>
  LONGREACH_DEVICE void Run(const StepArguments& step, const Place& place, char* shared) const {
    SliceStep<kPositional>(step, place, shared).Forward();
  }
};

constexpr size_t Larger(size_t a, size_t b) { return a > b ? a : b; }

// Their parts of the loss.
struct HeadsOfSlices {
  static constexpr size_t kSharedBytes = Larger(HeadSharedBytes(), GradientScaleSharedBytes());

  template <Positional kPositional>
  LONGREACH_DEVICE void Run(const StepArguments& step, const Place& place, char* shared) const {
    const SliceSums sums = SliceStep<kPositional>(step, place, shared).HeadAndLoss();
    if (Thread() == 0) step.sums[place.block] = sums;
  }
};

// And back, with the slices' gradients.
struct MlpsBackward {
  static constexpr size_t kSharedBytes = MlpBackwardSharedBytes();
  int layer;

  template <Positional kPositional>
  LONGREACH_DEVICE void Run(const StepArguments& step, const Place& place, char* shared) const {
    SliceStep<kPositional>(step, place, shared).MlpBackward(layer);
  }
};
struct AttentionsBackward {
  static constexpr size_t kSharedBytes = AttentionBackwardSharedBytes();
  int layer;

  template <Positional kPositional>
  LONGREACH_DEVICE void Run(const StepArguments& step, const Place& place, char* shared) const {
    SliceStep<kPositional>(step, place, shared).AttentionBackward(layer);
  }
};
struct EmbeddingsBackward {
  static constexpr size_t kSharedBytes = EmbedBackwardSharedBytes();

  template <Positional kPositional>
  LONGREACH_DEVICE void Run(const StepArguments& step, const Place& place, char* shared) const {
    SliceStep<kPositional>(step, place, shared).EmbeddingBackward();
  }
};

// The members' gradients and losses; the squares of the former by piece.
struct AddSlices {
  static constexpr size_t kSharedBytes = SquaredNormSharedBytes();

  template <Positional kPositional>
  LONGREACH_DEVICE void Run(const StepArguments& step, const Place& place, char* shared) const {
    const PhaseClock clock(step, place.block);
    const Piece piece = PieceOf(step, place.slice);
    AssumeGlobal(step.parts, step.gradients);
    if (step.make_gradients && HasParts(step)) AddParts(step, place.member, piece);
    const float* const gradient = step.gradients + int64_t{place.member} * step.places.stride;
    const double squares = SquaredNorm(gradient + piece.begin, piece.end - piece.begin, shared);
    if (Thread() == 0) step.sums[place.block].squares = squares;
    if (step.make_gradients && Thread() == 0 && place.slice == 0) {
      double loss = 0;
      for (int slice = 0; slice < step.slices; ++slice) loss += step.sums[place.block + slice].loss;
      step.outcomes[place.member].loss = loss;
    }
    clock.End(Phase::kUpdate);
  }
};

LONGREACH_DEVICE bool IsFinite(double x) { return x - x == 0; }

// Takes the step of members whose norm and loss are finite; the others are live no more.
struct UpdateMembers {
  static constexpr size_t kSharedBytes = 0;

  template <Positional kPositional>
  LONGREACH_DEVICE void Run(const StepArguments& step, const Place& place, char*) const {
    const PhaseClock clock(step, place.block);
    MemberOutcome& outcome = step.outcomes[place.member];
    double squares = 0;
    for (int slice = 0; slice < step.slices; ++slice) squares += step.sums[place.member * step.slices + slice].squares;
    const double norm = sqrt(squares);
    // A block that finds its member live no more would have found the same as the one that has just said so.
    if (IsFinite(outcome.loss) && IsFinite(norm)) {
      ClipAndAdam(step, place.member, norm, PieceOf(step, place.slice));
    } else if (Thread() == 0 && place.slice == 0) {
      step.live[place.member] = 0;
    }
    if (Thread() == 0 && place.slice == 0) outcome.norm = norm;
    clock.End(Phase::kUpdate);
  }
};

// A part, for `block` of all.
template <Positional kPositional, class Part>
LONGREACH_DEVICE void RunPart(const Part& part, const StepArguments& step, int block, char* shared) {
  const Place place(step, block);
  if (step.live[place.member] != 0) part.template Run<kPositional>(step, place, shared);
}

// Calls run(part) for each part of an update. On the host.
template <class Run>
void InOrder(const StepArguments& step, const Run& run) {
  if (step.make_gradients) {
    run(PrepareMembers());
    run(ForwardSlices());
    run(HeadsOfSlices());
    for (int layer = step.layers - 1; layer >= 0; --layer) {
      run(MlpsBackward{layer});
      run(AttentionsBackward{layer});
    }
    run(EmbeddingsBackward());
  }
  run(AddSlices());
  if (step.update) run(UpdateMembers());
}

// The most that any of them has.
inline constexpr size_t kMostSharedBytes =
    Larger(Larger(Larger(ForwardSlices::kSharedBytes, HeadsOfSlices::kSharedBytes), Larger(MlpsBackward::kSharedBytes, AttentionsBackward::kSharedBytes)),
           Larger(EmbeddingsBackward::kSharedBytes, AddSlices::kSharedBytes));

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
