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

// What the way forward leaves to the way back. N: tokens of the slice.
struct SliceWork {
  float* slope_sums;         // [H, 2].
  float* h[kMaxLayers + 1];  // [N, D]: the input of each layer, and what comes out of the last.
  // Of each layer: [N, D] before the first norm, the same before the second, attention's output, and [N, H] the log2 of the softmax's
  // denominators. Of the last layer, and of its gradients, only the rows that are asked for are used (asked_rows.h).
  float* x1[kMaxLayers];
  Half* x2[kMaxLayers];
  Half* o[kMaxLayers];
  float* lse[kMaxLayers];
  float* dh;     // [N, D]: gradients between the layers,
  float* du;     // and within one.
  size_t bytes;  // Of all.

  LONGREACH_HD SliceWork(char* memory, int layers, int tokens) {
    WorkPieces pieces = {memory};
    const size_t rows = static_cast<size_t>(tokens);
    slope_sums = pieces.Take<float>(kHeads * 2);
    h[0] = pieces.Take<float>(rows * kDim);
    for (int layer = 0; layer < layers; ++layer) {
      h[layer + 1] = pieces.Take<float>(rows * kDim);
      x1[layer] = pieces.Take<float>(rows * kDim);
      x2[layer] = pieces.Take<Half>(rows * kDim);
      o[layer] = pieces.Take<Half>(rows * kDim);
      lse[layer] = pieces.Take<float>(rows * kHeads);
    }
    dh = pieces.Take<float>(rows * kDim);
    du = pieces.Take<float>(rows * kDim);
    bytes = pieces.bytes;
  }
};

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
