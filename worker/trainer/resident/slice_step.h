// What a block does for its slice of a member's batch: forward through the layers, the head, and back.
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

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

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

// Its functions are called in the order in which they stand here, those of the way back for each layer, the last one first. Each may be called by a block
// of its own, with an object of its own: what they leave to the next lies in the slice's work and its gradients.
template <Positional kPositional>
class SliceStep {
 public:
  LONGREACH_DEVICE SliceStep(const StepArguments& step, const Place& place, char* shared)
      : step_(SliceOf(step, place.slice)),
        places_(step.places),
        clock_(step, place.block),
        parameters_(step.parameters + int64_t{place.member} * places_.stride),
        gradients_(step.parts + int64_t{place.block} * places_.stride),
        member_work_(step.work + static_cast<size_t>(place.member) * step.work_bytes, step.layers),
        work_(step.slice_work + static_cast<size_t>(place.block) * step.slice_bytes, step.layers, Tokens()),
        shared_(shared) {
    AssumeGlobal(parameters_, gradients_, step.work, step.slice_work);
  }

  // The embedding and all layers.
  LONGREACH_DEVICE void Forward() {
    ClearSlopeGradients(places_, step_.bias, gradients_);
    Embed(step_, parameters_ + places_.embed, work_.Input(0));
    clock_.End(Phase::kEmbed);
    for (int layer = 0; layer < step_.layers; ++layer) Forward(layer);
    clock_.End(Phase::kForward);
  }

  // The head, its part of the loss, and the gradient of what the last layer made.
  LONGREACH_DEVICE SliceSums HeadAndLoss() {
    const double loss = Head({.h = work_.Input(step_.layers),
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
    return {.loss = loss, .squares = 0, .scale = scale.down};
  }

  LONGREACH_DEVICE void MlpBackward(int layer) {
    const LayerPlaces& at = places_.layer[layer];
    const LayerRows rows = work_.Rows(layer);
    BackwardMlp({.matrices = Matrices(layer),
                 .mlp1_b = parameters_ + at.mlp1_b,
                 .norm1_scale = parameters_ + at.norm1_scale,
                 .norm1_offset = parameters_ + at.norm1_offset,
                 .norm2_scale = parameters_ + at.norm2_scale,
                 .x1 = rows.x1,
                 .x2 = rows.x2,
                 .norms = rows.norms,
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
  }

  LONGREACH_DEVICE void AttentionBackward(int layer) {
    const LayerPlaces& at = places_.layer[layer];
    const LayerRows rows = work_.Rows(layer);
    BackwardAttention<kPositional>({.matrices = Matrices(layer),
                                    .norm1_scale = parameters_ + at.norm1_scale,
                                    .h = work_.Input(layer),
                                    .x1 = rows.x1,
                                    .norms = rows.norms,
                                    .o = rows.o,
                                    .lse = rows.lse,
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
                                    .outputs = Outputs(layer)},
                                   shared_);
    if constexpr (kPositional == Positional::kTrainedBias) AddSlopeGradients(step_.bias, at, parameters_, work_.slope_sums, gradients_);
    clock_.End(Phase::kAttentionBackward);
  }

  LONGREACH_DEVICE void EmbeddingBackward() {
    EmbedBackward(step_, work_.dh, gradients_ + places_.embed, shared_);
    clock_.End(Phase::kEmbedBackward);
  }

 private:
  LONGREACH_DEVICE int Tokens() const { return step_.batch * step_.tape; }
  // Positions of a sequence that a layer is asked for: those after it need all of them.
  LONGREACH_DEVICE int Outputs(int layer) const { return layer == step_.layers - 1 ? step_.outputs : step_.tape; }
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
    const LayerRows rows = work_.Rows(layer);
    constexpr Positional kForward = kPositional == Positional::kTrainedBias ? Positional::kBias : kPositional;
    ForwardLayer<kForward>({.matrices = Matrices(layer),
                            .mlp1_b = parameters_ + at.mlp1_b,
                            .mlp2_b = parameters_ + at.mlp2_b,
                            .norm1_scale = parameters_ + at.norm1_scale,
                            .norm1_offset = parameters_ + at.norm1_offset,
                            .norm2_scale = parameters_ + at.norm2_scale,
                            .norm2_offset = parameters_ + at.norm2_offset,
                            .h = work_.Input(layer),
                            .h_out = rows.h_out,
                            .x1 = rows.x1,
                            .x2 = rows.x2,
                            .o = rows.o,
                            .lse = rows.lse,
                            .norms = rows.norms,
                            .keep_attention = Keep(1 + 2 * layer),
                            .keep_mlp = Keep(2 + 2 * layer),
                            .keep_scale = step_.keep_scale,
                            .table = Table(layer),
                            .rotation = Rotation(layer),
                            .batch = step_.batch,
                            .tape = step_.tape,
                            .outputs = Outputs(layer)},
                           shared_);
  }

  const StepArguments step_;  // The slice's.
  const ModelPlaces& places_;
  const PhaseClock clock_;
  float* const parameters_;
  float* const gradients_;
  const MemberWork member_work_;
  const SliceWork work_;
  char* const shared_;
};

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
