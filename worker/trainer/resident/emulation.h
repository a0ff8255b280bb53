// Runs one block of a GPU's threads on one thread of the CPU: every thread of the block is a fiber, and an instruction in which a
// whole warp or block takes part suspends the fiber until its partners have come. warp.h is the same for nvcc.
//
// Exact in order and the same each time. Finds wrong layouts of operands, wrong indices, rows that are not aligned, partners that
// wait at different instructions or never come; by running a block in both orders, most missing barriers; and under the thread
// sanitizer all of them. There only SyncWarp() and SyncBlock() put memory into order: other instructions exchange registers. A copy that
// goes on while its thread does lands as late as it may in one order, and as early in the other: who reads too early is found, and what is
// overwritten too early. A misreading of the PTX manual is not.
#pragma once

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "worker/trainer/resident/copies_under_way.h"
#include "worker/trainer/resident/fiber.h"
#include "worker/trainer/resident/operands.h"

#define LONGREACH_DEVICE inline
#define LONGREACH_DEVICE_UNROLL
#define LONGREACH_DEVICE_ROLLED
#define LONGREACH_DEVICE_UNROLL_BY_2
#define LONGREACH_DEVICE_UNROLL_BY_4

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

// In which order the warps of a block, and the threads of a warp, take turns. What depends on it is a race.
enum class Order { kAscending, kDescending };

namespace emulation {

using namespace fibers;

inline constexpr int kWarpSize = 32;

// The instructions at which a warp meets.
enum class Meeting : uint8_t { kSync, kShuffle, kProduct8, kProduct16, kLoad, kTranspose };

// What the threads of a warp bring to a meeting and take from it.
struct Exchange {
  uint32_t words[kWarpSize][6];
  float sums[kWarpSize][4];
  const void* rows[kWarpSize];
};

// The block that runs on this thread of the CPU, with its fibers. They are made once and wait between two blocks.
class Block {
 public:
  Block() : stacks_(kThreads) {
    for (int i = 0; i < kThreads; ++i) fibers_.push_back(std::make_unique<Fiber>(stacks_[i], Stacks::kBytes, &Enter));
  }

  // Lets all fibers go on to where they may end.
  ~Block() {
    const Unseen unseen;
    run_ = nullptr;
    Publish(&begun_);
    for (current_ = 0; current_ < kThreads; ++current_) main_.SwitchTo(*fibers_[static_cast<size_t>(current_)]);
    Observe(&over_);
    mine_ = nullptr;
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // Of the calling thread.
  static Block& Mine() {
    if (mine_ == nullptr) {
      static thread_local Block block;
      mine_ = &block;
    }
    return *mine_;
  }

  // Calls run(body) in each fiber.
  void Run(void (*run)(const void*), const void* body, Order order) {
    const Unseen unseen;
    if (run_ != nullptr) Fail("a block within a block");
    run_ = run;
    body_ = body;
    step_ = order == Order::kAscending ? 1 : -1;
    std::memset(states_, kReady, sizeof(states_));
    for (Warp& warp : warps_) warp.arrived = 0;
    for (CopiesUnderWay& copies : copies_) copies = {};
    arrived_ = ended_ = 0;
    current_ = order == Order::kAscending ? 0 : kThreads - 1;
    shared_bytes_ = 0;
    Publish(&begun_);
    main_.SwitchTo(*fibers_[static_cast<size_t>(current_)]);
    Observe(&over_);
    run_ = nullptr;
  }

  int current() const { return current_; }
  int lane() const { return current_ % kWarpSize; }

  // What the running thread brings to its next meeting.
  Exchange& Bring() {
    Warp& warp = warps_[current_ / kWarpSize];
    return warp.exchange[warp.turn & 1];
  }

  // Waits for the other threads of the warp; the last one to come does `work` for all with what they brought. Returns what is to
  // be taken, which stays until the meeting after the next.
  template <class Work>
  const Exchange& Meet(Meeting at, const Work& work) {
    Warp& warp = warps_[current_ / kWarpSize];
    Exchange& exchange = warp.exchange[warp.turn & 1];
    if (warp.arrived > 0 && warp.at != at) Fail("the threads of a warp meet at different instructions");
    warp.at = at;
    if (++warp.arrived < kWarpSize) {
      Wait(kInWarp);
      return exchange;
    }
    work(exchange);
    warp.arrived = 0;
    ++warp.turn;
    std::memset(states_ + current_ / kWarpSize * kWarpSize, kReady, kWarpSize);
    return exchange;
  }

  // The memory of a warp is in order after a meeting, and of the block.
  void MeetInOrder() {
    Exchange& exchange = Bring();
    Publish(&exchange);
    Meet(Meeting::kSync, [](Exchange&) {});
    Observe(&exchange);
  }
  void MeetBlock() {
    char* const barrier = &barriers_[barrier_ & 1];
    Publish(barrier);
    if (++arrived_ < kThreads) {
      Wait(kInBlock);
    } else {
      arrived_ = 0;
      ++barrier_;
      std::memset(states_, kReady, sizeof(states_));
    }
    Observe(barrier);
  }

  // Copies that the running thread has begun.
  CopiesUnderWay& Copies() { return copies_[current_]; }
  bool CopiesLandAtOnce() const { return step_ < 0; }
  void BeginCopy(const Copy& copy) {
    const auto aligned = [&](const void* p) { return reinterpret_cast<uintptr_t>(p) % copy.bytes == 0; };
    if (!aligned(copy.to) || !aligned(copy.from)) Fail("a copy that is not aligned to its size");
    LeadsElsewhere(copy.from);
    Copies().Begin(copy);
  }

  // A phase says where its shared memory lies, and of pointers that they lead elsewhere.
  void HasShared(const char* first, size_t bytes) {
    shared_ = first;
    shared_bytes_ = bytes;
  }
  void LeadsElsewhere(const void* p) const {
    const uintptr_t at = reinterpret_cast<uintptr_t>(p), first = reinterpret_cast<uintptr_t>(shared_);
    if (at >= first && at - first < shared_bytes_) Fail("a pointer into shared memory where one into the GPU's was promised");
  }

  [[noreturn]] void Fail(const char* what) const {
    int count[kStates] = {};
    for (const uint8_t state : states_) ++count[state];
    std::fprintf(stderr, "emulated block: %s (thread %d; %d threads wait for their warp, %d for the block, %d have ended)\n", what,
                 current_, count[kInWarp], count[kInBlock], count[kEnded]);
    std::abort();
  }

 private:
  enum State : uint8_t { kReady, kInWarp, kInBlock, kEnded, kStates };
  struct Warp {
    Exchange exchange[2];
    int arrived = 0;
    unsigned turn = 0;
    Meeting at = Meeting::kSync;
  };

  [[noreturn]] static void Enter() {
    Fiber::Entered();
    for (;;) {
      Block* block = nullptr;
      Fiber* fiber = nullptr;
      {
        const Unseen unseen;
        block = mine_;
        fiber = block->fibers_[static_cast<size_t>(block->current_)].get();
        Observe(&block->begun_);
      }
      if (block->run_ == nullptr) {
        Publish(&block->over_);
        fiber->SwitchTo(block->main_);  // For good, and outside of what is unseen: so the sanitizer wants it.
      }
      block->run_(block->body_);
      const Unseen unseen;
      Publish(&block->over_);
      block->End();
    }
  }

  // The next thread that can go on: of the same warp if there is one, so that a warp runs on to where it waits for others.
  int NextReady() const {
    const int warp = current_ / kWarpSize, warps = kThreads / kWarpSize;
    for (int i = 1; i < kWarpSize; ++i) {
      const int thread = warp * kWarpSize + ((current_ + step_ * i) & (kWarpSize - 1));
      if (states_[thread] == kReady) return thread;
    }
    for (int i = 1; i < warps; ++i) {
      const int first = (warp + step_ * i + warps) % warps * kWarpSize;
      for (int lane = 0; lane < kWarpSize; ++lane) {
        const int thread = first + (step_ > 0 ? lane : kWarpSize - 1 - lane);
        if (states_[thread] == kReady) return thread;
      }
    }
    return -1;
  }

  void Wait(State state) {
    states_[current_] = state;
    Leave();
  }

  void End() {
    states_[current_] = kEnded;
    if (Copies().any()) Fail("a thread ends whose copies are under way");
    if (++ended_ < kThreads) return Leave();
    fibers_[static_cast<size_t>(current_)]->SwitchTo(main_);
  }

  void Leave() {
    const int from = current_, next = NextReady();
    if (next < 0) Fail("a dead-lock");
    current_ = next;
    fibers_[static_cast<size_t>(from)]->SwitchTo(*fibers_[static_cast<size_t>(next)]);
  }

  static inline constinit thread_local Block* mine_ = nullptr;

  Stacks stacks_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber main_;
  Warp warps_[kThreads / kWarpSize];
  CopiesUnderWay copies_[kThreads];
  uint8_t states_[kThreads] = {};
  int current_ = 0, arrived_ = 0, ended_ = 0, step_ = 1;
  void (*run_)(const void*) = nullptr;
  const void* body_ = nullptr;
  const char* shared_ = nullptr;
  size_t shared_bytes_ = 0;
  unsigned barrier_ = 0;
  char begun_ = 0, over_ = 0, barriers_[2] = {};  // By their addresses fibers find each other.
};

}  // namespace emulation

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

// sums += A B for a warp: A [16][kInner], B [kInner][8], spread over the threads as warp.h says. B's words follow A's.
template <int kInner>
void MultiplyTiles(Exchange& exchange) {
  constexpr int kWordsOfA = kInner / 4;
  float a[16][kInner];
  alignas(16) float b[kInner][8];
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const int g = lane / 4, c = lane % 4;
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
#pragma GCC unroll 4
      for (int word = 0; word < kWordsOfA; ++word) {
        a[g + 8 * (word & 1)][2 * c + 8 * (word >> 1) + i] = HalfOf(exchange.words[lane][word], i);
      }
      for (int word = 0; word < kInner / 8; ++word) b[2 * c + 8 * word + i][g] = HalfOf(exchange.words[lane][kWordsOfA + word], i);
    }
  }
  for (int row = 0; row < 16; ++row) {
    float(*const of_row)[4] = exchange.sums + row % 8 * 4;
    const int half = row / 8 * 2;
    FourFloats left = {of_row[0][half], of_row[0][half + 1], of_row[1][half], of_row[1][half + 1]};
    FourFloats right = {of_row[2][half], of_row[2][half + 1], of_row[3][half], of_row[3][half + 1]};
    const FourFloats* of_b = reinterpret_cast<const FourFloats*>(b);
#pragma GCC unroll 8
    for (int k = 0; k < kInner; ++k) {
      left += a[row][k] * of_b[2 * k];
      right += a[row][k] * of_b[2 * k + 1];
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      of_row[i / 2][half + i % 2] = left[i];
      of_row[2 + i / 2][half + i % 2] = right[i];
    }
  }
}

// As far as sanitizers see, the thread that has brought a row reads it.
inline void ReadRow(const void* row) {
  const volatile Half* const numbers = static_cast<const Half*>(row);
  for (int i = 0; i < 8; ++i) static_cast<void>(numbers[i]);
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
      uint16_t tile[8][8];
      for (int r = 0; r < 8; ++r) std::memcpy(tile[r], exchange.rows[8 * i + r], sizeof(tile[r]));
      for (int lane = 0; lane < kWarpSize; ++lane) {
        const int g = lane / 4, c = lane % 4;
        const uint16_t low = transposed ? tile[2 * c][g] : tile[g][2 * c], high = transposed ? tile[2 * c + 1][g] : tile[g][2 * c + 1];
        exchange.words[lane][i] = low | static_cast<uint32_t>(high) << 16;
      }
    }
  });
  std::memcpy(to, taken.words[block.lane()], kCount * sizeof(uint32_t));
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
void RunBlock(const Body& body, Order order = Order::kAscending) {
  emulation::Block::Mine().Run([](const void* of) { (*static_cast<const Body*>(of))(); }, &body, order);
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
  block.Bring().words[block.lane()][0] = std::bit_cast<uint32_t>(x);
  const emulation::Exchange& taken = block.Meet(emulation::Meeting::kShuffle, [](emulation::Exchange&) {});
  return std::bit_cast<float>(taken.words[block.lane() ^ mask][0]);
}

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
using emulation::ToFloat;

inline void Mma8(float (&sums)[4], uint32_t a0, uint32_t a1, uint32_t b0) {
  const emulation::Unseen unseen;
  emulation::Block& block = emulation::Block::Mine();
  emulation::Exchange& brought = block.Bring();
  const int lane = block.lane();
  const uint32_t words[3] = {a0, a1, b0};
  std::memcpy(brought.words[lane], words, sizeof(words));
  std::memcpy(brought.sums[lane], sums, sizeof(sums));
  const emulation::Exchange& taken = block.Meet(emulation::Meeting::kProduct8, emulation::MultiplyTiles<8>);
  std::memcpy(sums, taken.sums[lane], sizeof(sums));
}

inline void Mma16(float (&sums)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1) {
  const emulation::Unseen unseen;
  emulation::Block& block = emulation::Block::Mine();
  emulation::Exchange& brought = block.Bring();
  const int lane = block.lane();
  const uint32_t words[6] = {a0, a1, a2, a3, b0, b1};
  std::memcpy(brought.words[lane], words, sizeof(words));
  std::memcpy(brought.sums[lane], sums, sizeof(sums));
  const emulation::Exchange& taken = block.Meet(emulation::Meeting::kProduct16, emulation::MultiplyTiles<16>);
  std::memcpy(sums, taken.sums[lane], sizeof(sums));
}

inline void Load4(uint32_t (&to)[4], const void* row) { emulation::LoadTiles<4>(to, row, false); }
inline void Load4Transposed(uint32_t (&to)[4], const void* row) { emulation::LoadTiles<4>(to, row, true); }
inline void Load2Transposed(uint32_t (&to)[2], const void* row) { emulation::LoadTiles<2>(to, row, true); }

inline uint32_t Transpose8x8(uint32_t x) {
  const emulation::Unseen unseen;
  emulation::Block& block = emulation::Block::Mine();
  const int lane = block.lane(), g = lane / 4, c = lane % 4;
  block.Bring().words[lane][0] = x;
  const emulation::Exchange& taken = block.Meet(emulation::Meeting::kTranspose, [](emulation::Exchange&) {});
  const auto at = [&](int row, int column) { return (taken.words[row * 4 + column / 2][0] >> (16 * (column & 1))) & 0xffffu; };
  return at(2 * c, g) | at(2 * c + 1, g) << 16;
}

namespace emulation {

inline void BeginCopy(const Copy& copy) {
  {
    const Unseen unseen;
    Block::Mine().BeginCopy(copy);
    if (!Block::Mine().CopiesLandAtOnce()) return;
  }
  std::memcpy(copy.to, copy.from, copy.bytes);
}

inline void EndCopies(size_t later) {
  std::vector<Copy> done;
  {
    const Unseen unseen;
    done = Block::Mine().Copies().Take(later);
    if (Block::Mine().CopiesLandAtOnce()) return;
  }
  for (const Copy& copy : done) std::memcpy(copy.to, copy.from, copy.bytes);
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
