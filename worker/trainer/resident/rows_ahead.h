// Rows that a norm on its way back will read, on their way from global memory while the block computes: two of float32 and one of 16 bits, for each of
// a turn's (row_norm.h). A thread waits for what it has asked for itself, and nobody reads another's.
#pragma once

#include "worker/trainer/resident/row_norm.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

class RowsAhead {
  static constexpr int kPieceBytes = 16 * kThreads, kHalves = 4 * kPieceBytes, kRowBytes = 5 * kPieceBytes;

 public:
  static constexpr size_t kBytes = kPartRows * kRowBytes;

  // shared: kBytes, aligned to 16.
  LONGREACH_DEVICE explicit RowsAhead(char* shared) : mine_(shared + 16 * Thread()) {}

  // Asks for this thread's part of three rows of D numbers, for row k of the next turn: the last one has been taken. A turn's are a group of copies.
  LONGREACH_DEVICE void Ask(int k, const float* a, const float* b, const Half* c) const {
    char* const to = mine_ + k * kRowBytes;
    LONGREACH_DEVICE_UNROLL for (int n = 0; n < 2; ++n) {
      BeginCopy16(to + n * kPieceBytes, a + PartFeature() + kPartApart * n);
      BeginCopy16(to + (2 + n) * kPieceBytes, b + PartFeature() + kPartApart * n);
      BeginCopy8(to + kHalves + 8 * n, c + PartFeature() + kPartApart * n);
    }
  }

  // What was asked for.
  LONGREACH_DEVICE void Take(RowPart (&a)[kPartRows], RowPart (&b)[kPartRows], HalfPart (&c)[kPartRows]) const {
    AwaitCopies<0>();
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < kPartRows; ++k) {
      const char* const from = mine_ + k * kRowBytes;
      LONGREACH_DEVICE_UNROLL for (int n = 0; n < 2; ++n) {
        TakeFour(a[k].at[n], reinterpret_cast<const float*>(from + n * kPieceBytes));
        TakeFour(b[k].at[n], reinterpret_cast<const float*>(from + (2 + n) * kPieceBytes));
        c[k].at[n] = LoadWords(reinterpret_cast<const Half*>(from + kHalves + 8 * n));
      }
    }
  }

 private:
  char* const mine_;
};

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
