// The door between the lanes engine and its kernels: raw pointers and numbers, no torch. The kernels are compiled once
// per instruction set and kind of operands, from the same sources, each in a namespace of its own.
//
// A tile is as many sequences as a register has floats (W): lane i of every vector belongs to sequence i of the tile. Where half
// as many or less are left for the last tile, it has half a register's lanes, and the same bits. An activation is [feature][position][W]. So nothing in the network goes across lanes, and what the batch shares (weights,
// biases, angles) is a scalar that is broadcast.
//
// Shapes: W lane, T position, D features, H heads of 8 features, F hidden features, V tokens, C classes, R entries of a
// table of signed distances.
#pragma once

#include <cstddef>
#include <cstdint>

namespace longreach::trainer::lanes {

inline constexpr int kHeadDim = 8;
inline constexpr int kMaxLayers = 64;

// Where the parameters of a layer lie in a member's flat buffer, in floats. Matrices are [in, out], in the order q, k, v, o, mlp1_w, mlp2_w, behind
// those of the layer before.
struct LayerOffsets {
  int64_t q, k, v, o;  // q, k and v follow each other without a gap.
  int64_t norm1_scale, norm1_offset, norm2_scale, norm2_offset;
  int64_t mlp1_w, mlp1_b, mlp2_w, mlp2_b;
};

struct Model {
  int layers = 0;
  int dim = 0;      // A multiple of 16.
  int heads = 0;    // dim / 8.
  int mlp = 0;      // A multiple of 8.
  int tokens = 0;   // Rows of the embedding.
  int classes = 0;
  int64_t stride = 0;  // Floats of a member.
  int64_t embed = 0;
  int64_t out_w = 0;
  int64_t out_b = 0;
  int64_t table = 0;   // Of a learned encoding.
  // What attention and the MLP read is normalised, not what they are added to; and what the head reads, by a norm of its own (pre_norm.h).
  bool pre_norm = false;
  int64_t final_scale = 0, final_offset = 0;
  LayerOffsets layer[kMaxLayers] = {};
};

// To how many significant bits the operands of matrix products are rounded (operands.h): not at all; as TF32 does it, and
// float16 too as long as numbers stay in its range; as bfloat16 does it.
enum class Operands { kFloat32 = 24, kTf32 = 11, kBf16 = 8 };

// How a layer's table of biases is read: by key - query; by the difference of the two tokens' positions; or it has an entry for each pair, [query][key],
// of the queries that ask.
enum class Bias { kNone, kByOffset, kByPosition, kByPair };

// What all members and sequences of a pass share.
struct Pass {
  int tape = 0;
  int outputs = 0;  // Positions at the end of the tape that are asked for; in the last layer nothing else is computed.
  const float* rotation = nullptr;  // [layers][T][8]: four cosines, four sines; null: no rotation.
  const float* query_rotation = nullptr;  // The same of queries, which may be multiplied by more than keys: with that in it.
  Bias bias = Bias::kNone;
  bool bias_trained = false;
  int64_t bias_stride = 0;              // From one head's table to the next: at least R of each layer, or T T.
  const int32_t* centers = nullptr;     // [layers]: the entry of distance 0; null for kByPair.
  const int32_t* positions = nullptr;   // [layers][T], for kByPosition.
  const int64_t* addition_row = nullptr;  // Where the row that is added at a position begins; null: nothing is added.
  int64_t addition_by_sequence = 0;       // From one sequence's rows to the next; 0: all share them.
  bool table_trained = false;             // The rows are the member's own; their gradient is wanted at Model::table.
  const int64_t* given_row = nullptr;     // [B][T]: where the row of a token's position in the data begins, among the parameters; null: none is added.
  // Distances have keys (Transformer-XL): a logit is q (k + r) / sqrt(8) + bias, where q has Member::content_bias in it.
  bool distance_keys = false;
  float keep_scale = 1;
  const int64_t* keep_offset = nullptr;  // By dropout place: where its bits begin in Tile::keep; -1: no dropout there.
};

struct Member {
  const float* parameters = nullptr;
  const float* packed = nullptr;    // By Kernels::pack.
  const float* addition = nullptr;
  const float* bias = nullptr;      // [layers][H][bias_stride], times log2(e).
  const float* distance_keys = nullptr;  // [layers][H][bias_stride][8].
  const float* content_bias = nullptr;   // [layers][D], added to queries.
};

// Where the gradients of an encoding's tables are added, in the shapes of Member. The gradient of the biases lacks the factor
// log2(e). Null: not wanted.
struct TableGradients {
  float* bias = nullptr;
  float* distance_keys = nullptr;
  float* content_bias = nullptr;
};

struct Tile {
  const int32_t* tokens = nullptr;   // [T][W].
  const int32_t* targets = nullptr;  // [outputs][W].
  int64_t first = 0;                 // Sequence of lane 0.
  int lanes = 0;                     // W.
  int live = 0;                      // Lanes that are sequences; the others fill up the last tile.
  const uint16_t* keep = nullptr;    // [row][D] of each place, bit i for lane i; null: no dropout.
  bool fresh = false;                // Nothing is in `gradient` yet: what is there is overwritten.
};

struct Kernels {
  const char* name;
  int lanes;
  Operands operands;
  // For tiles of half as many lanes: they read the weights that these pack, need no more memory, and make the bits that these make of
  // a tile with as many lanes unused. Null: there are none.
  const Kernels* (*half)();
  // Floats of packed weights of a member.
  int64_t (*packed_size)(const Model& model);
  // Arranges the weights of one layer (or, for layer == layers, of the head) for the products.
  void (*pack)(const Model& model, const float* parameters, int layer, bool backward, float* packed);
  // Floats that a thread needs to take a tile through the network.
  int64_t (*work_size)(const Model& model, const Pass& pass, bool training);
  // Forward, loss and backward of a tile. Adds to `gradient` (Tile::fresh), which has the places of the parameters, but holds q, k, v and
  // mlp1_w as [out, in]; and to the gradients of tables. `weight`: of each output in the loss, which is returned.
  double (*train)(const Model& model, const Pass& pass, const Member& member, const Tile& tile, double weight, float* work,
                  float* gradient, const TableGradients& tables);
  // Logits of a tile: [outputs][C][W].
  void (*test)(const Model& model, const Pass& pass, const Member& member, const Tile& tile, float* work, float* logits);
  // Sets bit `lane` of out[i] where draws[i] is at least `threshold`.
  void (*keep_bits)(const uint16_t* draws, int64_t count, uint32_t threshold, int lane, uint16_t* out);
  // sum[i] = of parts[0][i] + parts[1][i] + ..., in order, for rows x columns floats; written as [columns, rows] when
  // `transposed`. Parts are `stride` floats apart.
  void (*reduce)(const float* parts, int64_t count, int64_t stride, int64_t rows, int64_t columns, bool transposed, float* sum);
};

// By instruction set and operands. On other processors than x86-64 only the portable ones were compiled.
const Kernels* Avx512Kernels();
const Kernels* Avx512HalfKernels();  // Of half a register: Kernels::half.
const Kernels* Avx512Tf32Kernels();
const Kernels* Avx512Bf16Kernels();
const Kernels* Avx512DotBf16Kernels();  // With the processor's own products of bfloat16 (AVX512_BF16).
const Kernels* Avx512AmxBf16Kernels();  // With its matrix unit (AMX), which a process has to ask for (proto/base/instruction_sets.h).
const Kernels* Avx2Kernels();
const Kernels* Avx2Tf32Kernels();
const Kernels* Avx2Bf16Kernels();
const Kernels* PortableKernels();
const Kernels* PortableTf32Kernels();
const Kernels* PortableBf16Kernels();

}  // namespace longreach::trainer::lanes
