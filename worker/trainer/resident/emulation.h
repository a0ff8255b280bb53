// Runs one block of a GPU's threads on one thread of the CPU: every thread of the block is a fiber, and an instruction in which a
// whole warp or block takes part suspends the fiber until its partners have come. warp.h is the same for nvcc.
//
// Exact in order and the same each time. Finds wrong layouts of operands, wrong indices, rows that are not aligned, partners that
// wait at different instructions or never come; by running a block in both orders, missing barriers whose lack shows in what is computed, but those of
// a warp that it meets all the same, at an instruction; and under the thread sanitizer all of them. There only SyncWarp() and SyncBlock() put memory into
// order: other instructions exchange registers. What goes on while its thread does, a copy or a warpgroup's product, can be done as late as it may, or at
// once: who reads too early is found, and what is overwritten too early, by another thread if both orders are run with both. So is shared memory that was not published to a warpgroup's
// product which reads it, where a kernel says which memory that is (AssumeShared()). A misreading of the PTX manual is not found.
#pragma once

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "worker/trainer/resident/emulated_tiles.h"

#define LONGREACH_DEVICE inline
#define LONGREACH_DEVICE_UNROLL
#define LONGREACH_DEVICE_ROLLED
#define LONGREACH_DEVICE_UNROLL_BY_4

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

inline int Thread() {
  const emulation::Unseen unseen;
  return emulation::Block::Mine().current();
}

namespace emulation {

// As far as the thread sanitizer sees, the thread that has brought a row reads it.
inline void ReadRow(const void* row) {
  const volatile Half* const numbers = static_cast<const Half*>(row);
  for (int i = 0; kFibersAreSeen && i < 8; ++i) static_cast<void>(numbers[i]);
}

template <int kCount>
struct Load {
  const void* row;
  uint32_t words[kCount];
};

// Matrices of 8 rows of 8, of which thread 8 i + r has brought the address of row r of matrix i.
template <int kCount>
void LoadTiles(uint32_t (&to)[kCount], const void* row, bool transposed) {
  if (Thread() % kWarpSize < 8 * kCount) ReadRow(row);
  const Unseen unseen;
  Block& block = Block::Mine();
  if (reinterpret_cast<uintptr_t>(row) % 16 != 0) block.Fail("a row of a matrix that is not aligned to 16 bytes");
  Load<kCount> mine = {row, {}};
  block.Meet(Meeting::kLoad, mine, [transposed](const Brought<Load<kCount>>& of) {
    for (int i = 0; i < kCount; ++i) {
      Tile tile = Tile::OfRows([&](int r) { return of[8 * i + r].row; });
      if (transposed) tile.Transpose();
      for (int thread = 0; thread < kWarpSize; ++thread) of[thread].words[i] = tile.PairOf(thread);
    }
  });
  std::memcpy(to, mine.words, sizeof(to));
}

}  // namespace emulation

// Runs body() in kThreads fibers: one block. Aborts, with a message, where a GPU would wait for ever.
template <class Body>
void RunBlock(const Body& body, Order order, Done done, GroupProducts group_products = GroupProducts::kAtOnce) {
  emulation::Block::Mine().Run([](const void* of) { (*static_cast<const Body*>(of))(); }, &body, order, done, group_products);
}
// What goes on while its thread does is done late in one order, and at once in the other.
template <class Body>
void RunBlock(const Body& body, Order order = Order::kAscending, GroupProducts group_products = GroupProducts::kAtOnce) {
  RunBlock(body, order, order == Order::kAscending ? Done::kLate : Done::kAtOnce, group_products);
}

inline void SyncBlock() {
  const emulation::Unseen unseen;
  emulation::Block::Mine().MeetBlock();
}
inline uint64_t Clock() { return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()); }
inline void SyncWarp() {
  const emulation::Unseen unseen;
  emulation::Block::Mine().MeetInOrder();
}

namespace emulation {

template <int kCount>
struct Shuffle {
  float x[kCount];
  int mask;
};

// Each thread has its partner's numbers then.
template <int kCount>
void TakePartners(float (&x)[kCount], int mask) {
  const Unseen unseen;
  Shuffle<kCount> mine = {{}, mask};
  std::memcpy(mine.x, x, sizeof(x));
  Block::Mine().Meet(Meeting::kShuffle, mine, [](const Brought<Shuffle<kCount>>& of) {
    float all[kWarpSize][kCount];
    for (int thread = 0; thread < kWarpSize; ++thread) std::memcpy(all[thread], of[thread].x, sizeof(all[thread]));
    for (int thread = 0; thread < kWarpSize; ++thread) std::memcpy(of[thread].x, all[thread ^ of[thread].mask], sizeof(all[thread]));
  });
  std::memcpy(x, mine.x, sizeof(x));
}

}  // namespace emulation

inline float ShuffleXor(float x, int mask) {
  float one[1] = {x};
  emulation::TakePartners(one, mask);
  return one[0];
}
template <int kCount>
inline void AddPartners(float (&x)[kCount], int mask) {
  float others[kCount];
  std::memcpy(others, x, sizeof(x));
  emulation::TakePartners(others, mask);
  for (int i = 0; i < kCount; ++i) x[i] += others[i];
}

inline int OfWarp(int x) { return x; }

inline float Exp2(float x) { return std::exp2(x); }
inline float Log2(float x) { return std::log2(x); }
inline float Reciprocal(float x) { return 1.0f / x; }
inline float InverseSqrt(float x) { return 1.0f / std::sqrt(x); }
inline float Max(float x, float y) { return std::fmax(x, y); }
inline float Size(float x) { return std::fabs(x); }
inline uint32_t BitsOf(float x) { return std::bit_cast<uint32_t>(x); }
inline float FloatOf(uint32_t bits) { return std::bit_cast<float>(bits); }
inline uint32_t Pack(float low, float high) {
  return emulation::Round(low) | static_cast<uint32_t>(emulation::Round(high)) << 16;
}
inline uint32_t PositiveOf(uint32_t pair) {
  uint32_t positive = 0;
  for (int i = 0; i < 2; ++i) {
    const uint32_t half = pair >> (16 * i) & 0xffffu;
    if (emulation::HalfOf(pair, i) > 0) positive |= half << (16 * i);
  }
  return positive;
}
inline uint32_t SpreadUpperBits(uint32_t x) { return (x >> 31 & 1u) * 0xffff0000u | (x >> 15 & 1u) * 0xffffu; }
using emulation::ToFloat;

namespace emulation {

template <int kInner>
struct Product {
  uint32_t a[kInner / 4], b[kInner / 8];
  float sums[1][4];
};

template <int kInner>
void Multiply(Meeting at, float (&sums)[4], Product<kInner> mine) {
  const Unseen unseen;
  std::memcpy(mine.sums, sums, sizeof(sums));
  Block::Mine().Meet(at, mine, [](const Brought<Product<kInner>>& of) {
    Factors<kInner, 8> factors;
    factors.TakeA([&](int thread) { return of[thread].a; });
    factors.TakeB([&](int thread) { return of[thread].b; });
    factors.template Multiply<false>([&](int thread) { return of[thread].sums; });
  });
  std::memcpy(sums, mine.sums, sizeof(sums));
}

}  // namespace emulation

inline void Mma8(float (&sums)[4], uint32_t a0, uint32_t a1, uint32_t b0) {
  emulation::Multiply<8>(emulation::Meeting::kProduct8, sums, {{a0, a1}, {b0}, {}});
}

inline void Mma16(float (&sums)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1) {
  emulation::Multiply<16>(emulation::Meeting::kProduct16, sums, {{a0, a1, a2, a3}, {b0, b1}, {}});
}

inline void Load4(uint32_t (&to)[4], const void* row) { emulation::LoadTiles<4>(to, row, false); }
inline void Load4Transposed(uint32_t (&to)[4], const void* row) { emulation::LoadTiles<4>(to, row, true); }
inline void Load2Transposed(uint32_t (&to)[2], const void* row) { emulation::LoadTiles<2>(to, row, true); }

template <int kCount>
inline void Transpose8x8(uint32_t (&x)[kCount]) {
  struct Words {
    uint32_t x[kCount];
  };
  const emulation::Unseen unseen;
  Words mine;
  std::memcpy(mine.x, x, sizeof(x));
  emulation::Block::Mine().Meet(emulation::Meeting::kTranspose, mine, [](const emulation::Brought<Words>& of) {
    for (int i = 0; i < kCount; ++i) {
      emulation::Tile tile = emulation::Tile::OfPairs([&](int thread) { return of[thread].x[i]; });
      tile.Transpose();
      for (int thread = 0; thread < emulation::kWarpSize; ++thread) of[thread].x[i] = tile.PairOf(thread);
    }
  });
  std::memcpy(x, mine.x, sizeof(x));
}

namespace emulation {

inline void BeginCopy(const Copy& copy) {
  {
    const Unseen unseen;
    Block::Mine().BeginCopy(copy);
    if (!Block::Mine().AtOnce()) return;
  }
  std::memcpy(copy.to, copy.from, copy.bytes);
}

// Does what is due of a thread's work, which it sees as its own.
template <class Work, class Do>
void DoWhatIsDue(UnderWay<Work>& under_way, size_t later, const Do& run) {
  size_t due = 0;
  {
    const Unseen unseen;
    due = under_way.Due(later);
  }
  for (size_t i = 0; i < due; ++i) run(under_way[i]);
  const Unseen unseen;
  under_way.Drop(later);
}

inline void EndCopies(size_t later) {
  UnderWay<Copy>* copies = nullptr;
  bool done = false;
  {
    const Unseen unseen;
    copies = &Block::Mine().Copies();
    done = Block::Mine().AtOnce();
  }
  DoWhatIsDue(*copies, later, [done](const Copy& copy) {
    if (!done) std::memcpy(copy.to, copy.from, copy.bytes);
  });
}

}  // namespace emulation

template <class... T>
void AssumeGlobal(const T*... pointers) {
  const emulation::Unseen unseen;
  (emulation::Block::Mine().LeadsElsewhere(pointers), ...);
}
template <size_t kBytes>
void AssumeShared(const char* first) {
  const emulation::Unseen unseen;
  emulation::Block::Mine().HasShared(first, kBytes);
}
// Of a warpgroup, as wgmma_emulated.h and wgmma_by_warps.h have them.
inline void BeginBatchOfProducts() {
  const emulation::Unseen unseen;
  emulation::Block::Mine().BeginProducts();
}
template <class Product>
void BeginProduct(const Product& product) {
  {
    const emulation::Unseen unseen;
    emulation::Block& block = emulation::Block::Mine();
    block.BeginProduct(block.AtOnce() ? emulation::Deferred::Of([] {}) : emulation::Deferred::Of(product));
    if (!block.AtOnce()) return;
  }
  product();
}
inline void EndBatchOfProducts() {
  const emulation::Unseen unseen;
  emulation::Block::Mine().EndProducts();
}
template <int kLater>
void AwaitBatchesOfProducts() {
  emulation::UnderWay<emulation::Deferred>* products = nullptr;
  {
    const emulation::Unseen unseen;
    products = &emulation::Block::Mine().ProductsToAwait();
  }
  emulation::DoWhatIsDue(*products, kLater, [](const emulation::Deferred& product) { product.Run(); });
}
inline void PublishShared() {
  const emulation::Unseen unseen;
  emulation::Block::Mine().PublishToProducts();
}
inline void AssumeSquare(const void* at) {
  const emulation::Unseen unseen;
  if (reinterpret_cast<uintptr_t>(at) % 1024 != 0) emulation::Block::Mine().Fail("a factor of a warpgroup that is not aligned to 1024 bytes");
}
inline void PrefetchLine(const void*) {}

inline void BeginCopy16(void* to, const void* from) { emulation::BeginCopy({to, from, 16}); }
inline void BeginCopy8(void* to, const void* from) { emulation::BeginCopy({to, from, 8}); }
inline void BeginCopy4(void* to, const void* from) { emulation::BeginCopy({to, from, 4}); }
inline void EndGroupOfCopies() {
  const emulation::Unseen unseen;
  emulation::Block::Mine().Copies().EndGroup();
}
template <int kLater>
void AwaitCopies() {
  emulation::EndCopies(kLater);
}

inline uint32_t LoadPair(const Half* p) {
  uint32_t pair;
  std::memcpy(&pair, p, sizeof(pair));
  return pair;
}
inline void StorePair(Half* p, uint32_t pair) { std::memcpy(p, &pair, sizeof(pair)); }

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
