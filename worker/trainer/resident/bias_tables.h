// KERPLE inside of an update: its parameters into their range, the tables of a layer from them, and their gradients from
// attention's sums. Sources: KerpleParameters and Log and Power KERPLE of worker/trainer/encodings.
//
// Thread h has head h's parameters, of all layers: layers that share them do not meet.
#pragma once

#include <math.h>

#include <cstdint>

#include "worker/trainer/resident/block.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

inline constexpr float kKerpleLeast = 0.01f;
inline constexpr float kKerpleMostPower = 2;

LONGREACH_DEVICE bool IsKerple(BiasKind kind) { return kind == BiasKind::kLogKerple || kind == BiasKind::kPowerKerple; }

// A parameter in its range. A NaN stays one.
LONGREACH_DEVICE float ClampedA(float a) { return a < kKerpleLeast ? kKerpleLeast : a; }
LONGREACH_DEVICE float ClampedP(BiasKind kind, float p) {
  return p < kKerpleLeast ? kKerpleLeast : kind == BiasKind::kPowerKerple && p > kKerpleMostPower ? kKerpleMostPower : p;
}

// Brings a member's parameters back into their range, in place.
LONGREACH_DEVICE void ClampKerple(const ModelPlaces& places, BiasKind kind, float* parameters) {
  for (int layer = 0; IsKerple(kind) && layer < places.layers && Thread() < kHeads; ++layer) {
    float& a = parameters[places.layer[layer].kerple_a + Thread()];
    float& p = parameters[places.layer[layer].kerple_p + Thread()];
    a = ClampedA(a);
    p = ClampedP(kind, p);
  }
  SyncBlock();
}

// A bias at one distance, and its derivative by the parameter that it is not proportional to.
struct BiasAndSlope {
  float bias;
  float slope;
};

// By a.
LONGREACH_DEVICE BiasAndSlope LogKerple(float a, float p, float distance) {
  const float x = a * distance;
  return {-p * log1pf(x), -p * distance / (1 + x)};
}

// By p; at distance 0 both are 0. In float64: biases go into the millions, where a float32 power is several units off.
LONGREACH_DEVICE BiasAndSlope PowerKerple(float a, float p, float distance) {
  if (distance == 0) return {0, 0};
  const double power = static_cast<double>(p), logarithm = log(static_cast<double>(distance));
  const double bias = -static_cast<double>(a) * exp(power * logarithm);
  return {static_cast<float>(bias), static_cast<float>(bias * logarithm)};
}

// A layer's tables: log2(e) times the bias, and slopes in natural units. a, p: [H], taken as ClampKerple() leaves them; distances: [kTable], one layer's
// of StepArguments; table and slopes: [H, kTable], slopes may be null. Only for KERPLE.
LONGREACH_DEVICE void FillTables(BiasKind kind, const float* a, const float* p, const float* distances, float* table, float* slopes) {
  constexpr float kLog2OfE = 1.44269504088896341f;
  for (int i = Thread(); i < kHeads * kTable; i += kThreads) {
    const int head = i / kTable;
    const float distance = distances[i % kTable];
    const float of_a = ClampedA(a[head]), of_p = ClampedP(kind, p[head]);
    const BiasAndSlope at = kind == BiasKind::kLogKerple ? LogKerple(of_a, of_p, distance) : PowerKerple(of_a, of_p, distance);
    table[i] = kLog2OfE * at.bias;
    if (slopes != nullptr) slopes[i] = at.slope;
  }
  SyncBlock();
}

// Sets the gradients of all layers' parameters to 0: once in an update, before the first AddSlopeGradients().
LONGREACH_DEVICE void ClearSlopeGradients(const ModelPlaces& places, BiasKind kind, float* gradient) {
  for (int layer = 0; IsKerple(kind) && layer < places.layers && Thread() < kHeads; ++layer) {
    gradient[places.layer[layer].kerple_a + Thread()] = 0;
    gradient[places.layer[layer].kerple_p + Thread()] = 0;
  }
  SyncBlock();
}

// Adds a layer's part to a member's gradient: added, because layers may share parameters. parameters and gradient: the
// member's flat buffers; sums: [H, 2], over all pairs of the head: dS bias, in natural units, and dS slope. Only for KERPLE.
LONGREACH_DEVICE void AddSlopeGradients(BiasKind kind, const LayerPlaces& at, const float* parameters, const float* sums, float* gradient) {
  if (Thread() < kHeads) {
    const int a = at.kerple_a + Thread(), p = at.kerple_p + Thread();
    const float of_bias = sums[2 * Thread()], of_slope = sums[2 * Thread() + 1];
    const bool log = kind == BiasKind::kLogKerple;
    gradient[a] += log ? of_slope : of_bias / parameters[a];
    gradient[p] += log ? of_bias / parameters[p] : of_slope;
  }
  SyncBlock();
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
