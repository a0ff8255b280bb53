// What the resident kernels read and write: plain data, without torch and without CUDA. All pointers lie where the kernels run.
//
// A member has K slices of the batch, whole sequences each, and each part of an update is run by a block of kThreads threads for each of them: slices
// share nothing before what they make of the gradient is added up, in their order. K is the engine's, so a member's bits depend neither on its pack
// nor on the number of multiprocessors.
//
// Shapes: B sequence, T position on the tape, N = B T tokens, one after the other by sequence; D = 64 features, H = 8 heads of
// 8 features, F = 256 hidden features, V tokens, C classes. Matrices are [in, out].
#pragma once

#include <cstddef>
#include <cstdint>

#include "worker/trainer/random/random_stream.h"

namespace longreach::trainer::resident {

inline constexpr int kThreads = 256;
inline constexpr int kDim = 64;
inline constexpr int kHeads = 8;
inline constexpr int kHeadDim = 8;
inline constexpr int kHidden = 256;
inline constexpr int kMaxLayers = 8;
inline constexpr int kMaxTape = 128;
inline constexpr int kMaxTokens = 32;   // Rows of the embedding.
inline constexpr int kMaxClasses = 32;

// Tables by key - query, one for each head: entry kSpan is that of distance 0. 128 keys and 16 rows of overhang to either side.
inline constexpr int kSpan = 144;
inline constexpr int kTable = 2 * kSpan;

// Rounded copies of a layer's weights, in squares of 64 x 64 that lie as squares.h says: q, k, v and o, then the MLP's two, a square of either for each 64
// hidden features.
inline constexpr int kSquare = kDim * kDim;
inline constexpr int kAtOut = 3 * kSquare, kAtUp = kAtOut + kSquare, kAtDown = kAtUp + kDim * kHidden;
inline constexpr int kLayerMatrices = kAtDown + kHidden * kDim;

// Where things begin in a member's flat buffer, in floats.
struct LayerPlaces {
  int q, k, v, o;  // q, k and v follow each other without a gap.
  int norm1_scale, norm1_offset, norm2_scale, norm2_offset;
  int mlp1_w, mlp1_b, mlp2_w, mlp2_b;
  int kerple_a, kerple_p;  // [H]; -1: none. Layers may share them.
};

struct ModelPlaces {
  int layers = 0;
  int tokens = 0;   // Rows of the embedding.
  int classes = 0;
  int stride = 0;   // Floats of a member, those between parameters too: they are and stay zero.
  int embed = 0;    // [tokens, D].
  int out_w = 0;    // [D, classes].
  int out_b = 0;
  LayerPlaces layer[kMaxLayers] = {};
};

// The numbers of 16 bits that products of matrices read: kernels are compiled once for each (operands.h). bfloat16 has float32's range and 8
// significant bits, float16 has 11 of them, as TF32, and a narrow range.
enum class Operands : int { kBfloat16, kFloat16 };

// What is added to the logits of attention: a table by key - query for each layer and head.
enum class BiasKind : int {
  kNone,
  kFixed,        // Made by the host.
  kLogKerple,    // -p log(1 + a distance), p >= 0.01.
  kPowerKerple,  // -a distance^p, 0.01 <= p <= 2.
};

// What an update's time is divided into.
enum class Phase : int { kPrepare, kEmbed, kForward, kHead, kMlpBackward, kAttentionBackward, kEmbedBackward, kUpdate, kCount };
inline constexpr int kPhases = static_cast<int>(Phase::kCount);
inline constexpr const char* kPhaseNames[] = {"rounded weights and tables of biases", "embedding", "layers forward", "head and loss",
                                              "MLPs backward", "attention backward", "embedding backward", "norm and Adam"};
static_assert(sizeof(kPhaseNames) / sizeof(kPhaseNames[0]) == kPhases);
// Of a block: the clocks of each phase, added up, and when the last one ended.
inline constexpr int kPhaseClocks = kPhases + 1;

// What a slice adds to its member's loss, what its gradient (but for the head's) is to be multiplied by, and the squares of the piece of the
// member's gradient that its block adds up.
struct SliceSums {
  double loss, squares;
  float scale;
};

// One member's numbers of one update.
struct MemberOutcome {
  double loss;  // Mean cross-entropy over batch and outputs, before the update.
  double norm;  // Of the gradient, before clipping.
};

// The sequences of a batch, to be drawn: as FillBatch() of tasks/registry.h and OnTape() of engine/batch.h make them.
struct SampleArguments {
  int task;             // By its place among tasks::Tasks().
  RandomStream stream;
  int batch, tape, outputs;
  uint8_t empty;        // The token of the positions after the input.
  uint8_t* tokens;      // [B, T]
  uint8_t* targets;     // [B, outputs]
};

// The dropout bits of a batch.
struct KeepArguments {
  RandomStream stream;  // Of place 0; that of a place has it as its layer.
  uint32_t threshold;   // As KeepMask has it.
  int places;
  int tokens;           // N.
  uint64_t* keep;       // [places, N].
};

// Everything that an update of one pack needs.
struct StepArguments {
  ModelPlaces places;  // Not a pointer: kernels read their arguments from constant memory, and keep what is made of them once for a warp.
  int layers;                // As places.layers.

  // The batch, the same for all members.
  int batch, tape, outputs;  // The last `outputs` positions of each sequence are asked for.
  const uint8_t* tokens;     // [B, T].
  const uint8_t* targets;    // [B, outputs].
  // Dropout: bit f of keep[place][token] says whether feature f is kept. Places: 0 the embedding, 1 + 2 layer after attention,
  // 2 + 2 layer after the MLP. Null: nothing is dropped.
  const uint64_t* keep;      // [1 + 2 layers, N].
  int keep_stride;           // N, of the whole batch.
  int loss_rows;             // B outputs, of the whole batch: the loss is their mean.
  bool keep_embedding;       // Place 0 is used: only where something is added to the embedding.
  float keep_scale;          // What kept features are multiplied by.
  const float* addition;     // Added to the scaled embedding: [T, D], or [B, T, D]; null: nothing.
  int addition_stride;       // Floats from one sequence's rows to the next; 0: all share them.
  const float* rotation;     // [layers, T, 8]: four cosines, four sines; null: queries and keys do not turn.
  BiasKind bias;
  const float* tables;       // kFixed: [layers, H, kTable], times log2(e).
  const float* distances;    // KERPLE: [layers, kTable], not negative; 0 where no pair has this key - query.

  // The members, one after the other.
  int members;
  float* parameters;         // [E, stride].
  float* moment1;            // [E, stride].
  float* moment2;            // [E, stride].
  float* gradients;          // [E, stride]: written, all of it.
  int* live;                 // [E]: 0 leaves a member as it is. Set to 0 when its loss or its norm is not finite.
  char* work;                // [E, work_bytes].
  size_t work_bytes;         // As WorkBytes() says, or more.

  // Its slices.
  int slices;                // K.
  char* slice_work;          // [E, K, slice_bytes].
  size_t slice_bytes;        // As SliceBytes() says of the largest, or more.
  float* parts;              // [E, K, stride]: the slices' gradients, written, all of them. Where K is 1: `gradients`.
  SliceSums* sums;           // [E, K].

  Operands operands;

  // What is wanted: to fill `gradients` and the losses of `outcomes`; and to take a step with them, which makes the norms.
  bool make_gradients;
  bool update;
  const float* learning_rates;  // [E].
  float clip_norm;
  float correction1, correction2;  // 1 / (1 - beta^t).
  MemberOutcome* outcomes;   // [E]: of live members.
  uint64_t* clocks;          // [E, K, kPhaseClocks]: added to; null: nobody asks.
};

// How the order of tokens enters attention.
enum class Positional {
  kNone,
  kBias,         // A table by key - query is added to the logits.
  kTrainedBias,  // The same, and what its parameters' gradients are made of is summed on the way back.
  kRotary,       // Queries and keys turn.
};

// Of an update.
inline Positional PositionalOf(const StepArguments& step) {
  if (step.rotation != nullptr) return Positional::kRotary;
  if (step.bias == BiasKind::kNone) return Positional::kNone;
  return step.bias == BiasKind::kFixed ? Positional::kBias : Positional::kTrainedBias;
}

}  // namespace longreach::trainer::resident
