// A member's whole update, by a block for each slice of its batch: from the embedding to the loss, back to the embedding, and Adam.
#pragma once

#include "worker/trainer/resident/attention_backward.h"
#include "worker/trainer/resident/bias_tables.h"
#include "worker/trainer/resident/embed.h"
#include "worker/trainer/resident/gradient_scale.h"
#include "worker/trainer/resident/head.h"
#include "worker/trainer/resident/layer_forward.h"
#include "worker/trainer/resident/member_work.h"
#include "worker/trainer/resident/mlp_backward.h"
#include "worker/trainer/resident/step_arguments.h"
#include "worker/trainer/resident/update.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

constexpr size_t Largest(size_t a, size_t b) { return a > b ? a : b; }

// Shared memory of TrainSlice(): its phases have it one after the other.
inline constexpr size_t kSharedBytes =
    Largest(Largest(Largest(LayerForwardSharedBytes(), MlpBackwardSharedBytes()), Largest(AttentionBackwardSharedBytes(), HeadSharedBytes())),
            Largest(Largest(EmbedBackwardSharedBytes(), SquaredNormSharedBytes()), GradientScaleSharedBytes()));

// A block's clocks by phase, where they are asked for. Kept in memory: registers are what the phases lack.
class PhaseClock {
 public:
  // The first phase begins.
  LONGREACH_DEVICE PhaseClock(const StepArguments& step, int block)
      : clocks_(step.clocks == nullptr || Thread() != 0 ? nullptr : step.clocks + int64_t{block} * kPhaseClocks) {
    if (clocks_ != nullptr) clocks_[kPhases] = Clock();
  }
  // One has ended, and the next begins.
  LONGREACH_DEVICE void End(Phase phase) const {
    if (clocks_ == nullptr) return;
    const uint64_t now = Clock();
    clocks_[static_cast<int>(phase)] += now - clocks_[kPhases];
    clocks_[kPhases] = now;
  }

 private:
  uint64_t* const clocks_;
};

// Which block of an update this is.
struct Place {
  int block, member, slice;

  LONGREACH_DEVICE Place(const StepArguments& step, int block_of_all) : block(block_of_all), member(block / step.slices), slice(block % step.slices) {}
};

// What an update is to a slice: its sequences, as if they were the batch.
LONGREACH_DEVICE StepArguments SliceOf(const StepArguments& step, int slice) {
  StepArguments mine = step;
  const int first = slice * step.batch / step.slices;
  mine.batch = (slice + 1) * step.batch / step.slices - first;
  mine.tokens += first * step.tape;
  mine.targets += first * step.outputs;
  if (step.keep != nullptr) mine.keep += first * step.tape;
  if (step.addition != nullptr) mine.addition += int64_t{first} * step.addition_stride;
  return mine;
}

// One slice of a member, of an update that is under way.
template <Positional kPositional>
class SliceStep {
 public:
  // `step` is the slice's.
  LONGREACH_DEVICE SliceStep(const StepArguments& step, const Place& place, char* shared)
      : step_(step),
        places_(*step.places),
        clock_(step, place.block),
        parameters_(step.parameters + int64_t{place.member} * places_.stride),
        gradients_(step.parts + int64_t{place.block} * places_.stride),
        member_work_(step.work + static_cast<size_t>(place.member) * step.work_bytes, places_.layers),
        work_(step.slice_work + static_cast<size_t>(place.block) * step.slice_bytes, places_.layers, Tokens()),
        shared_(shared) {
    AssumeGlobal(parameters_, gradients_, step.work, step.slice_work);
  }

  // Its part of the loss, and of all of the gradient.
  LONGREACH_DEVICE SliceSums Gradients() {
    ClearSlopeGradients(places_, step_.bias, gradients_);
    Embed(step_, parameters_ + places_.embed, work_.h[0]);
    clock_.End(Phase::kEmbed);
    for (int layer = 0; layer < places_.layers; ++layer) Forward(layer);
    clock_.End(Phase::kForward);
    const double loss = Head({.h = work_.h[places_.layers],
                              .w = parameters_ + places_.out_w,
                              .b = parameters_ + places_.out_b,
                              .targets = step_.targets,
                              .rows = step_.batch * step_.outputs,
                              .classes = places_.classes,
                              .loss_rows = step_.loss_rows,
                              .dh = work_.dh,
                              .dw = gradients_ + places_.out_w,
                              .db = gradients_ + places_.out_b},
                             shared_);
    GradientScale scale;
    if constexpr (kScalesGradients) scale = ScaleGradient(work_.dh, step_.batch * step_.outputs, shared_);
    clock_.End(Phase::kHead);
    for (int layer = places_.layers - 1; layer >= 0; --layer) Backward(layer);
    EmbedBackward(step_, work_.dh, gradients_ + places_.embed, shared_);
    clock_.End(Phase::kEmbedBackward);
    return {.loss = loss, .squares = 0, .scale = scale.down};
  }

 private:
  LONGREACH_DEVICE int Tokens() const { return step_.batch * step_.tape; }
  // Positions of a sequence that a layer is asked for: those after it need all of them.
  LONGREACH_DEVICE int Outputs(int layer) const { return layer == places_.layers - 1 ? step_.outputs : step_.tape; }
  LONGREACH_DEVICE const uint64_t* Keep(int place) const {
    return step_.keep == nullptr ? nullptr : step_.keep + int64_t{place} * step_.keep_stride;
  }
  LONGREACH_DEVICE const float* Rotation(int layer) const {
    return step_.rotation == nullptr ? nullptr : step_.rotation + int64_t{layer} * step_.tape * kHeadDim;
  }
  LONGREACH_DEVICE const Half* Matrices(int layer) const { return member_work_.matrices + int64_t{layer} * kLayerMatrices; }
  LONGREACH_DEVICE int64_t TableAt(int layer) const { return int64_t{layer} * kHeads * kTable; }
  LONGREACH_DEVICE const float* Table(int layer) const {
    return (step_.bias == BiasKind::kFixed ? step_.tables : member_work_.tables) + TableAt(layer);
  }

  LONGREACH_DEVICE void Forward(int layer) {
    const LayerPlaces& at = places_.layer[layer];
    const LayerForward arguments = {.matrices = Matrices(layer),
                                    .mlp1_b = parameters_ + at.mlp1_b,
                                    .mlp2_b = parameters_ + at.mlp2_b,
                                    .norm1_scale = parameters_ + at.norm1_scale,
                                    .norm1_offset = parameters_ + at.norm1_offset,
                                    .norm2_scale = parameters_ + at.norm2_scale,
                                    .norm2_offset = parameters_ + at.norm2_offset,
                                    .h = work_.h[layer],
                                    .h_out = work_.h[layer + 1],
                                    .x1 = work_.x1[layer],
                                    .x2 = work_.x2[layer],
                                    .o = work_.o[layer],
                                    .lse = work_.lse[layer],
                                    .keep_attention = Keep(1 + 2 * layer),
                                    .keep_mlp = Keep(2 + 2 * layer),
                                    .keep_scale = step_.keep_scale,
                                    .table = Table(layer),
                                    .rotation = Rotation(layer),
                                    .batch = step_.batch,
                                    .tape = step_.tape,
                                    .outputs = Outputs(layer)};
    constexpr Positional kForward = kPositional == Positional::kTrainedBias ? Positional::kBias : kPositional;
    ForwardLayer<kForward>(arguments, shared_);
  }

  LONGREACH_DEVICE void Backward(int layer) {
    const LayerPlaces& at = places_.layer[layer];
    BackwardMlp({.matrices = Matrices(layer),
                 .mlp1_b = parameters_ + at.mlp1_b,
                 .norm1_scale = parameters_ + at.norm1_scale,
                 .norm1_offset = parameters_ + at.norm1_offset,
                 .norm2_scale = parameters_ + at.norm2_scale,
                 .x1 = work_.x1[layer],
                 .x2 = work_.x2[layer],
                 .keep_mlp = Keep(2 + 2 * layer),
                 .keep_scale = step_.keep_scale,
                 .dh = work_.dh,
                 .du = work_.du,
                 .d_mlp1_w = gradients_ + at.mlp1_w,
                 .d_mlp1_b = gradients_ + at.mlp1_b,
                 .d_mlp2_w = gradients_ + at.mlp2_w,
                 .d_mlp2_b = gradients_ + at.mlp2_b,
                 .d_norm2_scale = gradients_ + at.norm2_scale,
                 .d_norm2_offset = gradients_ + at.norm2_offset,
                 .batch = step_.batch,
                 .tape = step_.tape,
                 .outputs = Outputs(layer)},
                shared_);
    clock_.End(Phase::kMlpBackward);
    const AttentionBackward arguments = {.matrices = Matrices(layer),
                                         .norm1_scale = parameters_ + at.norm1_scale,
                                         .h = work_.h[layer],
                                         .x1 = work_.x1[layer],
                                         .o = work_.o[layer],
                                         .lse = work_.lse[layer],
                                         .keep_attention = Keep(1 + 2 * layer),
                                         .keep_scale = step_.keep_scale,
                                         .table = Table(layer),
                                         .slopes = member_work_.slopes + TableAt(layer),
                                         .rotation = Rotation(layer),
                                         .du = work_.du,
                                         .dh = work_.dh,
                                         .d_q = gradients_ + at.q,
                                         .d_k = gradients_ + at.k,
                                         .d_v = gradients_ + at.v,
                                         .d_o = gradients_ + at.o,
                                         .d_norm1_scale = gradients_ + at.norm1_scale,
                                         .d_norm1_offset = gradients_ + at.norm1_offset,
                                         .slope_sums = work_.slope_sums,
                                         .batch = step_.batch,
                                         .tape = step_.tape,
                                         .outputs = Outputs(layer)};
    BackwardAttention<kPositional>(arguments, shared_);
    if constexpr (kPositional == Positional::kTrainedBias) AddSlopeGradients(step_.bias, at, parameters_, work_.slope_sums, gradients_);
    clock_.End(Phase::kAttentionBackward);
  }

  const StepArguments& step_;
  const ModelPlaces& places_;
  const PhaseClock clock_;
  float* const parameters_;
  float* const gradients_;
  const MemberWork member_work_;
  const SliceWork work_;
  char* const shared_;
};

// The parts of an update, in their order: each is run by one block for each slice of each member, `block` of all, and begins when the one before
// has ended for all of them.

// What the slices of a member have in common: rounded weights and tables of biases. The blocks divide the layers' parts, the first ones have the
// first weights, the last ones the first tables.
LONGREACH_DEVICE void PrepareMember(const StepArguments& step, int block) {
  const Place place(step, block);
  if (step.live[place.member] == 0) return;
  const PhaseClock clock(step, block);
  const ModelPlaces& places = *step.places;
  float* const parameters = step.parameters + int64_t{place.member} * places.stride;
  const MemberWork work(step.work + static_cast<size_t>(place.member) * step.work_bytes, places.layers);
  AssumeGlobal(parameters, step.work);
  for (int i = place.slice; i < kWeightParts * places.layers; i += step.slices) {
    const int layer = i / kWeightParts;
    RoundWeights(places.layer[layer], parameters, i % kWeightParts, work.matrices + int64_t{layer} * kLayerMatrices);
  }
  if (IsKerple(step.bias)) {
    // One block writes what others read; what they find is in its range or will be taken for what it becomes.
    if (place.slice == step.slices - 1) ClampKerple(places, step.bias, parameters);
    for (int layer = step.slices - 1 - place.slice; layer < places.layers; layer += step.slices) {
      const LayerPlaces& at = places.layer[layer];
      const int64_t table = int64_t{layer} * kHeads * kTable;
      FillTables(step.bias, parameters + at.kerple_a, parameters + at.kerple_p, step.distances + layer * kTable, work.tables + table,
                 work.slopes + table);
    }
  }
  clock.End(Phase::kPrepare);
}

// The slices' gradients and parts of the loss. `shared` has kSharedBytes. kPositional: PositionalOf(step).
template <Positional kPositional>
LONGREACH_DEVICE void TrainSlice(const StepArguments& step, int block, char* shared) {
  const Place place(step, block);
  if (step.live[place.member] == 0) return;
  const StepArguments mine = SliceOf(step, place.slice);
  const SliceSums sums = SliceStep<kPositional>(mine, place, shared).Gradients();
  if (Thread() == 0) step.sums[block] = sums;
}

// The members' gradients and losses; the squares of the former by piece. `shared` has SquaredNormSharedBytes().
LONGREACH_DEVICE void AddSlices(const StepArguments& step, int block, char* shared) {
  const Place place(step, block);
  if (step.live[place.member] == 0) return;
  const PhaseClock clock(step, block);
  const Piece piece = PieceOf(step, place.slice);
  AssumeGlobal(step.parts, step.gradients);
  if (step.make_gradients && HasParts(step)) AddParts(step, place.member, piece);
  const float* const gradient = step.gradients + int64_t{place.member} * step.places->stride;
  const double squares = SquaredNorm(gradient + piece.begin, piece.end - piece.begin, shared);
  if (Thread() == 0) step.sums[block].squares = squares;
  if (step.make_gradients && Thread() == 0 && place.slice == 0) {
    double loss = 0;
    for (int slice = 0; slice < step.slices; ++slice) loss += step.sums[block + slice].loss;
    step.outcomes[place.member].loss = loss;
  }
  clock.End(Phase::kUpdate);
}

LONGREACH_DEVICE bool IsFinite(double x) { return x - x == 0; }

// Takes the step of members whose norm and loss are finite; the others are live no more.
LONGREACH_DEVICE void UpdateMember(const StepArguments& step, int block) {
  const Place place(step, block);
  if (step.live[place.member] == 0) return;
  const PhaseClock clock(step, block);
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

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
