// A member's whole update, by one block: from the embedding to the loss, back to the embedding, and Adam.
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

// Shared memory of TrainMember(): its phases have it one after the other.
inline constexpr size_t kSharedBytes =
    Largest(Largest(Largest(LayerForwardSharedBytes(), MlpBackwardSharedBytes()), Largest(AttentionBackwardSharedBytes(), HeadSharedBytes())),
            Largest(Largest(EmbedBackwardSharedBytes(), SquaredNormSharedBytes()), GradientScaleSharedBytes()));

// Queries, keys and values of a tape lie in tiles of 8 keys, an even number of them.
LONGREACH_DEVICE int KeyTiles(int tape) { return (tape + 15) / 16 * 2; }

// What a layer does, by the number of key tiles.
template <int kKeyTiles, Positional kPositional>
struct Forwards {
  LONGREACH_DEVICE static void Run(const LayerForward& arguments, char* shared) { ForwardLayer<kKeyTiles, kPositional>(arguments, shared); }
};
template <int kKeyTiles, Positional kPositional>
struct Backwards {
  LONGREACH_DEVICE static void Run(const AttentionBackward& arguments, char* shared) {
    BackwardAttention<kKeyTiles, kPositional>(arguments, shared);
  }
};

// The part of a layer for the tape that the arguments tell.
template <template <int, Positional> class Part, Positional kPositional, class Arguments>
LONGREACH_DEVICE void RunForTape(const Arguments& arguments, char* shared) {
  switch (KeyTiles(arguments.tape)) {
    case 2: return Part<2, kPositional>::Run(arguments, shared);
    case 4: return Part<4, kPositional>::Run(arguments, shared);
    case 6: return Part<6, kPositional>::Run(arguments, shared);
    case 8: return Part<8, kPositional>::Run(arguments, shared);
    case 10: return Part<10, kPositional>::Run(arguments, shared);
    case 12: return Part<12, kPositional>::Run(arguments, shared);
    case 14: return Part<14, kPositional>::Run(arguments, shared);
    default: return Part<16, kPositional>::Run(arguments, shared);
  }
}

// One member of an update that is under way.
template <Positional kPositional>
class MemberStep {
 public:
  LONGREACH_DEVICE MemberStep(const StepArguments& step, int member, char* shared)
      : step_(step),
        places_(*step.places),
        member_(member),
        parameters_(step.parameters + First()),
        gradients_(step.gradients + First()),
        work_(step.work + static_cast<size_t>(member) * step.work_bytes, places_.layers, Tokens()),
        shared_(shared) {
    AssumeGlobal(parameters_, gradients_, step.work);
  }

  // The loss, and all of the gradient.
  LONGREACH_DEVICE double Gradients() {
    ClampKerple(places_, step_.bias, parameters_);
    ClearSlopeGradients(places_, step_.bias, gradients_);
    for (int layer = 0; layer < places_.layers; ++layer) Prepare(layer);
    End(Phase::kPrepare);
    Embed(step_, parameters_ + places_.embed, work_.h[0]);
    End(Phase::kEmbed);
    for (int layer = 0; layer < places_.layers; ++layer) Forward(layer);
    End(Phase::kForward);
    const double loss = Head({.h = work_.h[places_.layers],
                              .w = parameters_ + places_.out_w,
                              .b = parameters_ + places_.out_b,
                              .targets = step_.targets,
                              .rows = step_.batch * step_.outputs,
                              .classes = places_.classes,
                              .dh = work_.dh,
                              .dw = gradients_ + places_.out_w,
                              .db = gradients_ + places_.out_b},
                             shared_);
    GradientScale scale;
    if constexpr (kScalesGradients) scale = ScaleGradient(work_.dh, step_.batch * step_.outputs, shared_);
    End(Phase::kHead);
    for (int layer = places_.layers - 1; layer >= 0; --layer) Backward(layer);
    EmbedBackward(step_, work_.dh, gradients_ + places_.embed, shared_);
    if constexpr (kScalesGradients) UnscaleGradients(places_, scale, gradients_);
    End(Phase::kEmbedBackward);
    return loss;
  }

  // Of the gradient that is there. Takes the step if norm and loss are finite.
  LONGREACH_DEVICE double Update(double loss) {
    const double norm = sqrt(SquaredNorm(gradients_, places_.stride, shared_));
    if (IsFinite(loss) && IsFinite(norm)) {
      ClipAndAdam(step_, member_, norm);
    } else if (Thread() == 0) {
      step_.live[member_] = 0;
    }
    End(Phase::kUpdate);
    return norm;
  }

  // The first phase begins.
  LONGREACH_DEVICE void Begin() const {
    if (step_.clocks != nullptr && Thread() == 0) Clocks()[kPhases] = Clock();
  }

 private:
  LONGREACH_DEVICE static bool IsFinite(double x) { return x - x == 0; }
  LONGREACH_DEVICE int64_t First() const { return int64_t{member_} * places_.stride; }
  LONGREACH_DEVICE uint64_t* Clocks() const { return step_.clocks + int64_t{member_} * kPhaseClocks; }
  // A phase has ended, and the next begins. Kept in memory: registers are what the phases lack.
  LONGREACH_DEVICE void End(Phase phase) const {
    if (step_.clocks == nullptr || Thread() != 0) return;
    uint64_t* const clocks = Clocks();
    const uint64_t now = Clock();
    clocks[static_cast<int>(phase)] += now - clocks[kPhases];
    clocks[kPhases] = now;
  }
  LONGREACH_DEVICE int Tokens() const { return step_.batch * step_.tape; }
  // Positions of a sequence that a layer is asked for: those after it need all of them.
  LONGREACH_DEVICE int Outputs(int layer) const { return layer == places_.layers - 1 ? step_.outputs : step_.tape; }
  LONGREACH_DEVICE const uint64_t* Keep(int place) const {
    return step_.keep == nullptr ? nullptr : step_.keep + int64_t{place} * Tokens();
  }
  LONGREACH_DEVICE const float* Rotation(int layer) const {
    return step_.rotation == nullptr ? nullptr : step_.rotation + int64_t{layer} * step_.tape * kHeadDim;
  }
  LONGREACH_DEVICE Half* Matrices(int layer) const { return work_.matrices + int64_t{layer} * kLayerMatrices; }
  LONGREACH_DEVICE int64_t TableAt(int layer) const { return int64_t{layer} * kHeads * kTable; }
  LONGREACH_DEVICE const float* Table(int layer) const {
    return (step_.bias == BiasKind::kFixed ? step_.tables : work_.tables) + TableAt(layer);
  }

  LONGREACH_DEVICE void Prepare(int layer) {
    const LayerPlaces& at = places_.layer[layer];
    RoundWeights(at, parameters_, Matrices(layer));
    if (!IsKerple(step_.bias)) return;
    FillTables(step_.bias, parameters_ + at.kerple_a, parameters_ + at.kerple_p, step_.distances + layer * kTable,
               work_.tables + TableAt(layer), work_.slopes + TableAt(layer));
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
    RunForTape<Forwards, kForward>(arguments, shared_);
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
    End(Phase::kMlpBackward);
    const AttentionBackward arguments = {.matrices = Matrices(layer),
                                         .norm1_scale = parameters_ + at.norm1_scale,
                                         .h = work_.h[layer],
                                         .x1 = work_.x1[layer],
                                         .o = work_.o[layer],
                                         .lse = work_.lse[layer],
                                         .keep_attention = Keep(1 + 2 * layer),
                                         .keep_scale = step_.keep_scale,
                                         .table = Table(layer),
                                         .slopes = work_.slopes + TableAt(layer),
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
    RunForTape<Backwards, kPositional>(arguments, shared_);
    if constexpr (kPositional == Positional::kTrainedBias) AddSlopeGradients(step_.bias, at, parameters_, work_.slope_sums, gradients_);
    End(Phase::kAttentionBackward);
  }

  const StepArguments& step_;
  const ModelPlaces& places_;
  const int member_;
  float* const parameters_;
  float* const gradients_;
  const MemberWork work_;
  char* const shared_;
};

// Run by one block for each member: `member` is the block's number, `shared` has kSharedBytes. kPositional: PositionalOf(step).
template <Positional kPositional>
LONGREACH_DEVICE void TrainMember(const StepArguments& step, int member, char* shared) {
  if (step.live[member] == 0) return;
  MemberStep<kPositional> mine(step, member, shared);
  MemberOutcome& outcome = step.outcomes[member];
  mine.Begin();
  const double loss = step.make_gradients ? mine.Gradients() : outcome.loss;
  if (step.make_gradients && Thread() == 0) outcome.loss = loss;
  if (!step.update) return;
  const double norm = mine.Update(loss);
  if (Thread() == 0) outcome.norm = norm;
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
