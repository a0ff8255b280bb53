// Where a member keeps, from the way forward to the way back, what no other update needs.
#pragma once

#include "worker/trainer/random/host_device.h"
#include "worker/trainer/resident/operands.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

struct MemberWork {
  Half* matrices;          // [layers, kLayerMatrices].
  float* tables;           // [layers, H, kTable], times log2(e).
  float* slopes;           // [layers, H, kTable].
  float* slope_sums;       // [H, 2].
  float* h[kMaxLayers + 1];  // [N, D]: the input of each layer, and what comes out of the last.
  // Of each layer: [N, D] before the first norm, the same before the second, attention's output, and [N, H] the log2 of the softmax's
  // denominators. Of the last layer, and of its gradients, only the rows that are asked for are used (asked_rows.h).
  float* x1[kMaxLayers];
  Half* x2[kMaxLayers];
  Half* o[kMaxLayers];
  float* lse[kMaxLayers];
  float* dh;               // [N, D]: gradients between the layers,
  float* du;               // and within one.
  size_t bytes;            // Of all.

  // With memory == nullptr only the size is made.
  LONGREACH_HD MemberWork(char* memory, int layers, int tokens) : bytes(0) {
    const auto take = [&](size_t count, size_t size) {
      char* const at = memory == nullptr ? nullptr : memory + bytes;
      bytes += (count * size + 255) / 256 * 256;
      return at;
    };
    const size_t rows = static_cast<size_t>(tokens), sets = static_cast<size_t>(layers);
    const auto floats = [&](size_t count) { return reinterpret_cast<float*>(take(count, sizeof(float))); };
    const auto halves = [&](size_t count) { return reinterpret_cast<Half*>(take(count, sizeof(Half))); };
    matrices = halves(sets * kLayerMatrices);
    tables = floats(sets * kHeads * kTable);
    slopes = floats(sets * kHeads * kTable);
    slope_sums = floats(kHeads * 2);
    h[0] = floats(rows * kDim);
    for (int layer = 0; layer < layers; ++layer) {
      h[layer + 1] = floats(rows * kDim);
      x1[layer] = floats(rows * kDim);
      x2[layer] = halves(rows * kDim);
      o[layer] = halves(rows * kDim);
      lse[layer] = floats(rows * kHeads);
    }
    dh = floats(rows * kDim);
    du = floats(rows * kDim);
  }
};

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
