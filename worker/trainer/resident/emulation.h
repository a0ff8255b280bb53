// Runs one block of a GPU's threads on one thread of the CPU: every thread of the block is a fiber, and an instruction in which a
// whole warp or block takes part suspends the fiber until its partners have come. warp.h is the same for nvcc.
//
// Exact in order and the same each time. Finds wrong layouts of operands, wrong indices, rows that are not aligned, partners that
// wait at different instructions or never come; by running a block in both orders, most missing barriers; and under the thread
// sanitizer all of them. There only SyncWarp() and SyncBlock() put memory into order: other instructions exchange registers. What goes
// on while its thread does, a copy or a warpgroup's product, is done as late as it may in one order, and at once in the other: who reads too early is
// found, and what is overwritten too early. That something was not published to products is not, nor is a misreading of the PTX manual.
#pragma once

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "worker/trainer/resident/emulated_block.h"

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

// Exact.
inline float ToFloat(Half x) {
  if constexpr (kOperands == Operands::kBfloat16) return std::bit_cast<float>(static_cast<uint32_t>(x) << 16);
  const uint32_t sign = static_cast<uint32_t>(x & 0x8000u) << 16, exponent = (x >> 10) & 31u, fraction = x & 1023u;
  if (exponent == 0) return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(static_cast<float>(fraction) * 0x1p-24f));
  return std::bit_cast<float>(sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13);
}

inline float HalfOf(uint32_t pair, int i) { return ToFloat(static_cast<Half>(i != 0 ? pair >> 16 : pair)); }

using FourFloats [[gnu::vector_size(16), gnu::may_alias]] = float;
using FourWords [[gnu::vector_size(16), gnu::may_alias]] = uint32_t;
using EightHalves [[gnu::vector_size(16), gnu::may_alias]] = uint16_t;

// Of numbers in the lower half of each word. Exact.
inline FourFloats ToFloats(FourWords x) {
  if constexpr (kOperands == Operands::kBfloat16) return reinterpret_cast<FourFloats>(x << 16);
  const FourWords size = (x & 0x7fffu) << 13, normal = size + 0x38000000u;
  // Those below 2^-14 are as far from 0 as they are from 2^-14 with that exponent.
  const FourWords below = reinterpret_cast<FourWords>(reinterpret_cast<FourFloats>(size + 0x38800000u) - 0x1p-14f);
  const FourWords is_below = reinterpret_cast<FourWords>(size < 0x00800000u), is_infinite = reinterpret_cast<FourWords>(size >= 0x0f800000u);
  const FourWords bits = (is_below & below) | (~is_below & normal) | (is_infinite & 0x7f800000u);
  return reinterpret_cast<FourFloats>(bits | (x & 0x8000u) << 16);
}

// Eight numbers of four threads' words, in order.
inline void ToFloats(float* to, const uint32_t* pairs) {
  FourWords of_pairs;
  std::memcpy(&of_pairs, pairs, sizeof(of_pairs));
  const FourFloats even = ToFloats(of_pairs & 0xffffu), odd = ToFloats(of_pairs >> 16);
  const FourFloats first = __builtin_shufflevector(even, odd, 0, 4, 1, 5), second = __builtin_shufflevector(even, odd, 2, 6, 3, 7);
  std::memcpy(to, &first, sizeof(first));
  std::memcpy(to + 4, &second, sizeof(second));
}

// sums += A B for a warp: A [16][kInner], B [kInner][8], spread over the threads as warp.h says. B's words follow A's.
template <int kInner>
void MultiplyTiles(Exchange& exchange) {
  constexpr int kWordsOfA = kInner / 4;
  float a[16][kInner], b_transposed[8][kInner];
  alignas(16) float b[kInner][8];
  for (int g = 0; g < 8; ++g) {
#pragma GCC unroll 4
    for (int word = 0; word < kWordsOfA; ++word) ToFloats(a[g + 8 * (word & 1)] + 8 * (word >> 1), exchange.words[word] + 4 * g);
#pragma GCC unroll 2
    for (int word = 0; word < kInner / 8; ++word) ToFloats(b_transposed[g] + 8 * word, exchange.words[kWordsOfA + word] + 4 * g);
  }
  for (int k = 0; k < kInner; ++k) {
#pragma GCC unroll 8
    for (int g = 0; g < 8; ++g) b[k][g] = b_transposed[g][k];
  }
  const FourFloats* const of_b = reinterpret_cast<const FourFloats*>(b);
  for (int row = 0; row < 16; ++row) {
    FourFloats* const of_row = reinterpret_cast<FourFloats*>(exchange.sums[row / 8][row % 8 * 4]);
    FourFloats left = of_row[0], right = of_row[1];
#pragma GCC unroll 16
    for (int k = 0; k < kInner; ++k) {
      left += a[row][k] * of_b[2 * k];
      right += a[row][k] * of_b[2 * k + 1];
    }
    of_row[0] = left;
    of_row[1] = right;
  }
}

inline EightHalves LowerOf(EightHalves x, EightHalves y) { return __builtin_shufflevector(x, y, 0, 8, 1, 9, 2, 10, 3, 11); }
inline EightHalves UpperOf(EightHalves x, EightHalves y) { return __builtin_shufflevector(x, y, 4, 12, 5, 13, 6, 14, 7, 15); }
// Each time rows i and i + 4 are shuffled like two halves of a pack of cards; after three times rows are columns.
inline void Transpose(EightHalves (&rows)[8]) {
  for (int time = 0; time < 3; ++time) {
    EightHalves shuffled[8];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      shuffled[2 * i] = LowerOf(rows[i], rows[i + 4]);
      shuffled[2 * i + 1] = UpperOf(rows[i], rows[i + 4]);
    }
    std::memcpy(rows, shuffled, sizeof(rows));
  }
}

// As far as the thread sanitizer sees, the thread that has brought a row reads it.
inline void ReadRow(const void* row) {
  const volatile Half* const numbers = static_cast<const Half*>(row);
  for (int i = 0; kFibersAreSeen && i < 8; ++i) static_cast<void>(numbers[i]);
}

// Matrices of 8 rows of 8, of which thread 8 i + r has brought the address of row r of matrix i.
template <int kCount>
void LoadTiles(uint32_t* to, const void* row, bool transposed) {
  if (Thread() % kWarpSize < 8 * kCount) ReadRow(row);
  const Unseen unseen;
  Block& block = Block::Mine();
  if (reinterpret_cast<uintptr_t>(row) % 16 != 0) block.Fail("a row of a matrix that is not aligned to 16 bytes");
  block.Bring().rows[block.lane()] = row;
  const Exchange& taken = block.Meet(Meeting::kLoad, [&](Exchange& exchange) {
    for (int i = 0; i < kCount; ++i) {
      EightHalves tile[8];
      for (int r = 0; r < 8; ++r) std::memcpy(&tile[r], exchange.rows[8 * i + r], sizeof(tile[r]));
      if (transposed) Transpose(tile);
      std::memcpy(exchange.words[i], tile, sizeof(tile));  // Threads 4 r .. 4 r + 3 take row r.
    }
  });
  const int lane = block.lane();
  for (int i = 0; i < kCount; ++i) to[i] = taken.words[i][lane];
}

inline Half Round(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return 0x7fff;  // As the GPU rounds what is no number.
  if constexpr (kOperands == Operands::kBfloat16) return static_cast<Half>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  const uint32_t sign = bits >> 16 & 0x8000u;
  if (size >= 0x47800000u) return static_cast<Half>(sign | 0x7c00u);  // From 2^16 on.
  // Below 2^-14 numbers are 2^-24 apart, as floats are next to 1/2: the sum rounds.
  if (size < 0x38800000u) return static_cast<Half>(sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3f000000u));
  return static_cast<Half>(sign | (size - 0x38000000u + 0xfffu + ((size >> 13) & 1u)) >> 13);
}

}  // namespace emulation

// Runs body() in kThreads fibers: one block. Aborts, with a message, where a GPU would wait for ever.
template <class Body>
void RunBlock(const Body& body, Order order = Order::kAscending, GroupProducts group_products = GroupProducts::kAtOnce) {
  emulation::Block::Mine().Run([](const void* of) { (*static_cast<const Body*>(of))(); }, &body, order, group_products);
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

inline float ShuffleXor(float x, int mask) {
  const emulation::Unseen unseen;
  emulation::Block& block = emulation::Block::Mine();
  block.Bring().words[0][block.lane()] = std::bit_cast<uint32_t>(x);
  const emulation::Exchange& taken = block.Meet(emulation::Meeting::kShuffle, [](emulation::Exchange&) {});
  return std::bit_cast<float>(taken.words[0][block.lane() ^ mask]);
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

// Brings the words of both factors and the sums to a product of the warp's, and takes the sums.
template <int kInner, size_t kWords>
void Multiply(Meeting at, float (&sums)[4], const uint32_t (&words)[kWords]) {
  static_assert(kWords == kInner / 4 + kInner / 8);
  const Unseen unseen;
  Block& block = Block::Mine();
  Exchange& brought = block.Bring();
  const int lane = block.lane();
  for (size_t i = 0; i < kWords; ++i) brought.words[i][lane] = words[i];
  std::memcpy(brought.sums[0][lane], sums, 2 * sizeof(float));
  std::memcpy(brought.sums[1][lane], sums + 2, 2 * sizeof(float));
  const Exchange& taken = block.Meet(at, MultiplyTiles<kInner>);
  std::memcpy(sums, taken.sums[0][lane], 2 * sizeof(float));
  std::memcpy(sums + 2, taken.sums[1][lane], 2 * sizeof(float));
}

}  // namespace emulation

inline void Mma8(float (&sums)[4], uint32_t a0, uint32_t a1, uint32_t b0) {
  emulation::Multiply<8>(emulation::Meeting::kProduct8, sums, {a0, a1, b0});
}

inline void Mma16(float (&sums)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1) {
  emulation::Multiply<16>(emulation::Meeting::kProduct16, sums, {a0, a1, a2, a3, b0, b1});
}

inline void Load4(uint32_t (&to)[4], const void* row) { emulation::LoadTiles<4>(to, row, false); }
inline void Load4Transposed(uint32_t (&to)[4], const void* row) { emulation::LoadTiles<4>(to, row, true); }
inline void Load2Transposed(uint32_t (&to)[2], const void* row) { emulation::LoadTiles<2>(to, row, true); }

inline uint32_t Transpose8x8(uint32_t x) {
  const emulation::Unseen unseen;
  emulation::Block& block = emulation::Block::Mine();
  const int lane = block.lane(), g = lane / 4, c = lane % 4;
  block.Bring().words[0][lane] = x;
  const emulation::Exchange& taken = block.Meet(emulation::Meeting::kTranspose, [](emulation::Exchange&) {});
  const auto at = [&](int row, int column) { return (taken.words[0][row * 4 + column / 2] >> (16 * (column & 1))) & 0xffffu; };
  return at(2 * c, g) | at(2 * c + 1, g) << 16;
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
