// A block of a GPU's threads as fibers of one thread of the CPU: who runs when, where warps and blocks meet, and which copies and products are under way. For
// emulation.h alone.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "worker/trainer/resident/fiber.h"
#include "worker/trainer/resident/operands.h"
#include "worker/trainer/resident/under_way.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

// In which order the warps of a block, and the threads of a warp, take turns, at first and from each place on where they meet: of two threads each is
// before the other in one of the orders. What depends on it is a race.
enum class Order { kAscending, kDescending };
// When what goes on while its thread does, a copy or a warpgroup's product, is done: as late as it may, when it is waited for, or at once.
enum class Done { kLate, kAtOnce };
// How a warp makes its part of a warpgroup's product: meeting once for all of it, or by its own instructions, as a GPU without wgmma does.
enum class GroupProducts { kAtOnce, kByWarps };

namespace emulation {

using namespace fibers;

inline constexpr int kWarpSize = 32;

// The instructions at which a warp meets.
enum class Meeting : uint8_t { kSync, kShuffle, kProduct8, kProduct16, kLoad, kTranspose, kGroupProduct };

// What the threads of a warp have brought to a meeting, each something of its own: the last one to come reads and changes it for all.
template <class T>
class Brought {
 public:
  explicit Brought(void* const (&all)[kWarpSize]) : all_(all) {}
  T& operator[](int lane) const { return *static_cast<T*>(all_[lane]); }

 private:
  void* const (&all_)[kWarpSize];
};

// The block that runs on this thread of the CPU, with its fibers. They are made once and wait between two blocks.
class Block {
 public:
  Block() : stacks_(kThreads) {
    for (int i = 0; i < kThreads; ++i) fibers_.push_back(std::make_unique<Fiber>(stacks_[i], Stacks::kBytes - Shift(i), &Enter));
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
  static Block& Mine() { return mine_ != nullptr ? *mine_ : Make(); }

  // Calls run(body) in each fiber.
  void Run(void (*run)(const void*), const void* body, Order order, Done done, GroupProducts group_products) {
    const Unseen unseen;
    if (run_ != nullptr) Fail("a block within a block");
    run_ = run;
    body_ = body;
    step_ = order == Order::kAscending ? 1 : -1;
    at_once_ = done == Done::kAtOnce;
    by_warps_ = group_products == GroupProducts::kByWarps;
    std::memset(states_, kReady, sizeof(states_));
    for (Warp& warp : warps_) warp.arrived = 0;
    for (UnderWay<Copy>& copies : copies_) copies.Clear();
    for (Products& products : products_) {
      products.under_way.Clear();
      products.open = false;
    }
    arrived_ = ended_ = publishers_ = 0;
    barrier_ = 0;
    std::memset(published_at_, 0, sizeof(published_at_));
    current_ = order == Order::kAscending ? 0 : kThreads - 1;
    shared_bytes_ = 0;
    published_.clear();
    Publish(&begun_);
    main_.SwitchTo(*fibers_[static_cast<size_t>(current_)]);
    Observe(&over_);
    run_ = nullptr;
  }

  int current() const { return current_; }
  int lane() const { return current_ % kWarpSize; }

  // Waits for the other threads of the warp; the last one to come does `work` for all with what they have brought.
  template <class T, class Work>
  void Meet(Meeting at, T& mine, const Work& work) {
    Warp& warp = warps_[current_ / kWarpSize];
    if (warp.arrived > 0 && (warp.at != at || warp.bytes != sizeof(T))) Fail("the threads of a warp meet at different instructions");
    warp.at = at;
    warp.bytes = sizeof(T);
    warp.brought[lane()] = &mine;
    if (++warp.arrived < kWarpSize) return Wait(kInWarp);
    work(Brought<T>(warp.brought));
    warp.arrived = 0;
    ++warp.turn;
    GoOn(current_ / kWarpSize * kWarpSize, kWarpSize);
  }

  // The memory of a warp is in order after a meeting, and of the block.
  void MeetInOrder() {
    Warp& warp = warps_[current_ / kWarpSize];
    char& barrier = warp.barriers[warp.turn & 1];
    Publish(&barrier);
    Meet(Meeting::kSync, barrier, [](const Brought<char>&) {});
    Observe(&barrier);
  }
  void MeetBlock() {
    char* const barrier = &barriers_[barrier_ & 1];
    Publish(barrier);
    if (++arrived_ < kThreads) {
      Wait(kInBlock);
    } else {
      arrived_ = publishers_ = 0;
      ++barrier_;
      GoOn(0, kThreads);
    }
    Observe(barrier);
  }

  // Copies that the running thread has begun.
  UnderWay<Copy>& Copies() { return copies_[current_]; }
  bool AtOnce() const { return at_once_; }
  bool ByWarps() const { return by_warps_; }
  void BeginCopy(const Copy& copy) {
    const auto aligned = [&](const void* p) { return reinterpret_cast<uintptr_t>(p) % copy.bytes == 0; };
    if (!aligned(copy.to) || !aligned(copy.from)) Fail("a copy that is not aligned to its size");
    LeadsElsewhere(copy.from);
    Copies().Begin(copy);
  }

  // Batches of products of the running thread.
  void BeginProducts() { products_[current_].open = true; }
  void BeginProduct(const Deferred& product) {
    if (!products_[current_].open) Fail("a product outside of a batch");
    products_[current_].under_way.Begin(product);
  }
  void EndProducts() {
    if (!products_[current_].open) Fail("a batch of products ends that has not begun");
    products_[current_].open = false;
    products_[current_].under_way.EndGroup();
  }
  UnderWay<Deferred>& ProductsToAwait() {
    if (products_[current_].open) Fail("products are waited for whose batch has not ended");
    return products_[current_].under_way;
  }

  // What the running thread has written to shared memory is there for products. Once all threads have said so since they met last, what lies there is.
  void PublishToProducts() {
    unsigned& last = published_at_[current_];
    if (last == barrier_ + 1) return;
    last = barrier_ + 1;
    if (++publishers_ == kThreads) published_.assign(shared_, shared_ + shared_bytes_);
  }
  // A product reads so many bytes: of shared memory they must be those that were published.
  void ReadByProduct(const void* from, size_t bytes) const {
    const size_t at = reinterpret_cast<uintptr_t>(from) - reinterpret_cast<uintptr_t>(shared_);
    if (at >= shared_bytes_) return;
    if (at + bytes > published_.size() || std::memcmp(from, published_.data() + at, bytes) != 0) {
      Fail("a product reads what was not published to it, or has been overwritten since");
    }
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
  struct Products {
    UnderWay<Deferred> under_way;
    bool open = false;  // A batch has begun.
  };
  struct Warp {
    void* brought[kWarpSize];
    size_t bytes = 0;  // Of what each has brought.
    int arrived = 0;
    unsigned turn = 0;
    Meeting at = Meeting::kSync;
    char barriers[2] = {};  // By their addresses its fibers find each other.
  };

  // How far below the end of its room a thread's stack begins. The rooms are whole pages apart, so that the same variable of all threads of
  // a warp, which take turns, would lie in the same few lines of a cache; shifted, they are spread over all lines of a page.
  static size_t Shift(int thread) { return static_cast<size_t>(thread % kWarpSize) * (4096 / kWarpSize); }

  [[gnu::noinline]] static Block& Make() {
    static thread_local Block block;
    mine_ = &block;
    return block;
  }

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

  // All threads of a warp, or of the block, have come: they go on from the first one on, as they came. If the one that runs went on before them it would be
  // before them in either order.
  void GoOn(int first, int count) {
    std::memset(states_ + first, kReady, static_cast<size_t>(count));
    const int from = current_, next = step_ > 0 ? first : first + count - 1;
    if (next == from) return;
    current_ = next;
    fibers_[static_cast<size_t>(from)]->SwitchTo(*fibers_[static_cast<size_t>(next)]);
  }

  void End() {
    states_[current_] = kEnded;
    if (Copies().any()) Fail("a thread ends whose copies are under way");
    if (products_[current_].open || products_[current_].under_way.any()) Fail("a thread ends whose products are under way");
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
  UnderWay<Copy> copies_[kThreads];
  Products products_[kThreads];
  uint8_t states_[kThreads] = {};
  int current_ = 0, arrived_ = 0, ended_ = 0, step_ = 1;
  bool at_once_ = false, by_warps_ = false;
  void (*run_)(const void*) = nullptr;
  const void* body_ = nullptr;
  const char* shared_ = nullptr;
  size_t shared_bytes_ = 0;
  std::vector<char> published_;            // The shared memory as it was when it was published.
  unsigned published_at_[kThreads] = {};   // Before which barrier each thread has published, counted from 1 on.
  int publishers_ = 0;                     // Threads that have since the last one.
  unsigned barrier_ = 0;
  char begun_ = 0, over_ = 0, barriers_[2] = {};  // By their addresses fibers find each other.
};

}  // namespace emulation

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
