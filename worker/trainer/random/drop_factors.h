// Dropout's factors where they are multiplied with: for a GPU, which draws what KeepMask (sampling.h) draws on the host.
#pragma once

#include <cstdint>

#include "worker/trainer/random/host_device.h"
#include "worker/trainer/random/random_stream.h"

namespace longreach::trainer {

// At one place of a model, of the last `rows` of each sequence's `tape` positions. Element (sequence, position, feature) has the number
// (sequence * tape + position) * D + feature, with D, features rounded up to a multiple of 8.
struct DropFactors {
  RandomStream stream;
  uint32_t threshold;  // As KeepMask has it.
  float scale;         // What kept elements are multiplied by.
  int64_t first;       // Of the sequences.
  int64_t count;
  int64_t tape, rows, features;
  float* factors;      // [count, rows, features]: written.
};

// Elements of a row that are drawn together.
inline constexpr int64_t kFactorsOfRun = 8;

LONGREACH_HD constexpr int64_t RunsOfRow(const DropFactors& a) { return (a.features + kFactorsOfRun - 1) / kFactorsOfRun; }
LONGREACH_HD constexpr int64_t RunsOf(const DropFactors& a) { return a.count * a.rows * RunsOfRow(a); }

// One run of [0, RunsOf()): a kernel has a thread for each.
LONGREACH_HD constexpr void FillFactorRun(const DropFactors& a, int64_t run) {
  const int64_t row = run / RunsOfRow(a), begin = run % RunsOfRow(a) * kFactorsOfRun;
  const int64_t token = (a.first + row / a.rows) * a.tape + a.tape - a.rows + row % a.rows;
  const PhiloxBlock block = a.stream.Bits(static_cast<uint32_t>(token * RunsOfRow(a) + begin / kFactorsOfRun));
  float* const out = a.factors + row * a.features + begin;
  for (int i = 0; i < kFactorsOfRun && begin + i < a.features; ++i) {
    const uint32_t half = block.word[i / 2] >> (16 * (i % 2)) & 0xFFFFu;  // The low half of a word comes first.
    out[i] = half >= a.threshold ? a.scale : 0.0f;
  }
}

}  // namespace longreach::trainer
