// Where a member, and each slice of its batch, keeps what no other update needs.
#pragma once

#include "worker/trainer/random/host_device.h"
#include "worker/trainer/resident/operands.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

// Takes pieces of a memory, one after the other. With memory == nullptr only their size is made.
struct WorkPieces {
  char* memory;
  size_t bytes = 0;

  template <class T>
  LONGREACH_HD T* Take(size_t count) {
    char* const at = memory == nullptr ? nullptr : memory + bytes;
    bytes += (count * sizeof(T) + 255) / 256 * 256;
    return reinterpret_cast<T*>(at);
  }
};

// What is made of the parameters, for all slices.
struct MemberWork {
  Half* matrices;  // [layers, kLayerMatrices].
  float* tables;   // [layers, H, kTable], times log2(e).
  float* slopes;   // [layers, H, kTable].
  size_t bytes;    // Of all.

  LONGREACH_HD MemberWork(char* memory, int layers) {
    WorkPieces pieces = {memory};
    const size_t sets = static_cast<size_t>(layers);
    matrices = pieces.Take<Half>(sets * kLayerMatrices);
    tables = pieces.Take<float>(sets * kHeads * kTable);
    slopes = pieces.Take<float>(sets * kHeads * kTable);
    bytes = pieces.bytes;
  }
};

// What a layer leaves to the way back, and to the next one. N: tokens of the slice. Of the last layer only the rows that are asked for are used
// (asked_rows.h).
struct LayerRows {
  float* x1;     // [N, D] before the first norm,
  Half* x2;      // the same before the second,
  Half* o;       // [N, D]: attention's output,
  float* lse;    // [H, N]: log2 of the softmax's denominators,
  float* norms;  // [N, 4]: of x1's row, and of x2's, mean and 1 / deviation,
  float* h_out;  // [N, D]: what comes out.
  size_t bytes;  // Of all.

  LONGREACH_HD LayerRows(char* memory, size_t rows) {
    WorkPieces pieces = {memory};
    x1 = pieces.Take<float>(rows * kDim);
    x2 = pieces.Take<Half>(rows * kDim);
    o = pieces.Take<Half>(rows * kDim);
    lse = pieces.Take<float>(rows * kHeads);
    norms = pieces.Take<float>(rows * 4);
    h_out = pieces.Take<float>(rows * kDim);
    bytes = pieces.bytes;
  }
};

// Of all layers. Pointers to what is one of many are made when they are asked for: an array of them would lie in memory.
struct SliceWork {
  float* slope_sums;  // [H, 2].
  float* embedded;    // [N, D].
  float* dh;          // Gradients between the layers [N, D], of the last one's output in the rows that are asked for,
  float* du;          // and within one.
  char* layers_at;
  size_t rows, layer_bytes;
  size_t bytes;       // Of all.

  LONGREACH_HD SliceWork(char* memory, int layers, int tokens) : rows(static_cast<size_t>(tokens)), layer_bytes(LayerRows(nullptr, rows).bytes) {
    WorkPieces pieces = {memory};
    slope_sums = pieces.Take<float>(kHeads * 2);
    embedded = pieces.Take<float>(rows * kDim);
    dh = pieces.Take<float>(rows * kDim);
    du = pieces.Take<float>(rows * kDim);
    layers_at = pieces.Take<char>(layer_bytes * static_cast<size_t>(layers));
    bytes = pieces.bytes;
  }

  LONGREACH_HD LayerRows Rows(int layer) const { return LayerRows(layers_at + static_cast<size_t>(layer) * layer_bytes, rows); }
  // Of a layer, or of the head: [N, D].
  LONGREACH_HD float* Input(int layer) const { return layer == 0 ? embedded : Rows(layer - 1).h_out; }
};

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
