// What a norm on its way back will read, on its way from global memory while the block computes: two rows of float32 and one of 16 bits, for each of
// a turn's (row_norm.h), and what belongs to such a row. Of the rows nobody reads another's part; the rest is copied by one thread of the eight that share
// a row.
#pragma once

#include "worker/trainer/resident/row_norm.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

class RowsAhead {
  static constexpr int kPieceBytes = 16 * kThreads, kHalves = 4 * kPieceBytes, kPartBytes = 5 * kPieceBytes;
  static constexpr int kNorms = kPartRows * kPartBytes, kKept = kNorms + kRowsOfTurn * 4 * static_cast<int>(sizeof(float));

 public:
  static constexpr size_t kBytes = kKept + kRowsOfTurn * sizeof(uint64_t);

  // shared: kBytes, aligned to 16.
  LONGREACH_DEVICE explicit RowsAhead(char* shared) : shared_(shared) {}

  // Asks for this thread's part of three rows of D numbers, for row k of the next turn: the last one has been taken. And for the row of `norms` [., 4], and
  // `kept`, its token's bits of a dropout, or null. A turn's are a group of copies.
  LONGREACH_DEVICE void Ask(int k, const float* a, const float* b, const Half* c, const float* norms, const uint64_t* kept) const {
    char* const to = shared_ + k * kPartBytes;
    LONGREACH_DEVICE_UNROLL for (int n = 0; n < 2; ++n) {
      BeginCopy16(to + n * kPieceBytes + 16 * Thread(), a + PartFeature() + kPartApart * n);
      BeginCopy16(to + (2 + n) * kPieceBytes + 16 * Thread(), b + PartFeature() + kPartApart * n);
      BeginCopy8(to + kHalves + n * kPieceBytes / 2 + 8 * Thread(), c + PartFeature() + kPartApart * n);
    }
    if ((Lane() & 7) == 0) {
      BeginCopy16(shared_ + kNorms + 16 * PartRow(0, k), norms);
      if (kept != nullptr) BeginCopy8(shared_ + kKept + 8 * PartRow(0, k), kept);
    }
  }

  // Before anything is taken.
  LONGREACH_DEVICE void Await() const {
    AwaitCopies<0>();
    SyncWarp();
  }

  // Of row k of the turn, this thread's part of the first, second and third row that was asked for.
  LONGREACH_DEVICE RowPart First(int k) const { return Wide(k, 0); }
  LONGREACH_DEVICE RowPart Second(int k) const { return Wide(k, 2); }
  LONGREACH_DEVICE HalfPart Third(int k) const {
    HalfPart part;
    LONGREACH_DEVICE_UNROLL for (int n = 0; n < 2; ++n) {
      part.at[n] = LoadWords(reinterpret_cast<const Half*>(shared_ + k * kPartBytes + kHalves + n * kPieceBytes / 2 + 8 * Thread()));
    }
    return part;
  }
  LONGREACH_DEVICE Float4 Norms(int k) const { return LoadFour(reinterpret_cast<const float*>(shared_ + kNorms + 16 * PartRow(0, k))); }
  // Where none were asked for, anything.
  LONGREACH_DEVICE uint64_t Kept(int k) const {
    const Words2 bits = LoadWords(reinterpret_cast<const Half*>(shared_ + kKept + 8 * PartRow(0, k)));
    return bits.at[0] | static_cast<uint64_t>(bits.at[1]) << 32;
  }
  // All of it has been taken: what is asked for next may take its place.
  LONGREACH_DEVICE void Free() const { SyncWarp(); }

 private:
  LONGREACH_DEVICE RowPart Wide(int k, int piece) const {
    RowPart part;
    LONGREACH_DEVICE_UNROLL for (int n = 0; n < 2; ++n) {
      TakeFour(part.at[n], reinterpret_cast<const float*>(shared_ + k * kPartBytes + (piece + n) * kPieceBytes + 16 * Thread()));
    }
    return part;
  }

  char* const shared_;
};

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
