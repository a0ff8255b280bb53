// Fibers: several stacks on one thread of the CPU, of which one runs until it hands over to another. They carry the threads of an
// emulated GPU block (emulation.h).
//
// On x86-64 a switch is a dozen instructions; elsewhere it is that of ucontext, which asks the system each time. Rounding modes are
// not kept: nobody changes them. The sanitizers are told of each switch; for the thread sanitizer every fiber is a thread, and a switch
// puts nothing into order, so it finds the races that the fibers would have as threads.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif
// g++ and clang say in different ways which sanitizer they compile for.
#if defined(__SANITIZE_ADDRESS__)
#define LONGREACH_FIBER_ASAN
#elif defined(__SANITIZE_THREAD__)
#define LONGREACH_FIBER_TSAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LONGREACH_FIBER_ASAN
#elif __has_feature(thread_sanitizer)
#define LONGREACH_FIBER_TSAN
#endif
#endif
#if defined(LONGREACH_FIBER_ASAN)
#include <sanitizer/common_interface_defs.h>
#elif defined(LONGREACH_FIBER_TSAN)
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace longreach::trainer::resident::fibers {

// Room for `count` stacks, each with a page below it that nobody may touch: a stack that overflows ends the program there.
class Stacks {
 public:
  static constexpr size_t kGuard = 4096, kBytes = 256 * 1024;

  explicit Stacks(int count) : size_(static_cast<size_t>(count) * (kGuard + kBytes)) {
    void* const memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) Fail("no memory for the stacks of fibers");
    memory_ = static_cast<char*>(memory);
    for (int i = 0; i < count; ++i) {
      if (mprotect((*this)[i] - kGuard, kGuard, PROT_NONE) != 0) Fail("no guards for the stacks of fibers");
    }
  }
  ~Stacks() { munmap(memory_, size_); }
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  // The lowest byte of a stack.
  char* operator[](int i) const { return memory_ + static_cast<size_t>(i) * (kGuard + kBytes) + kGuard; }

 private:
  [[noreturn]] static void Fail(const char* what) {
    std::perror(what);
    std::abort();
  }

  char* memory_;
  size_t size_;
};

#if defined(LONGREACH_FIBER_TSAN)
inline constexpr bool kFibersAreSeen = true;
// What runs in its scope is the fibers' own machinery: its reads and writes are no races.
class Unseen {
 public:
  Unseen() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~Unseen() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;
};
// What a fiber did before it published comes before what others do after they have observed.
inline void Publish(void* at) { __tsan_release(at); }
inline void Observe(void* at) { __tsan_acquire(at); }
#else
inline constexpr bool kFibersAreSeen = false;
struct Unseen {
  Unseen() {}
};
inline void Publish(void*) {}
inline void Observe(void*) {}
#endif

#if defined(__x86_64__)
// Keeps what a callee must keep on the stack, stores the stack's pointer and goes on where `to` was left. Jumps instead of
// returning: fibers that take turns come from the same place, so the jump is predicted, and a return would not be.
[[gnu::naked, gnu::noinline]] inline void SwitchStacks([[maybe_unused]] void** from, [[maybe_unused]] void* to) {
  asm("pushq %rbp\n\t"
      "pushq %rbx\n\t"
      "pushq %r12\n\t"
      "pushq %r13\n\t"
      "pushq %r14\n\t"
      "pushq %r15\n\t"
      "movq %rsp, (%rdi)\n\t"
      "movq %rsi, %rsp\n\t"
      "popq %r15\n\t"
      "popq %r14\n\t"
      "popq %r13\n\t"
      "popq %r12\n\t"
      "popq %rbx\n\t"
      "popq %rbp\n\t"
      "popq %rcx\n\t"
      "jmpq *%rcx");
}
#endif

class Fiber {
 public:
  // The stack that runs already.
  Fiber() {
#if defined(LONGREACH_FIBER_TSAN)
    sanitizer_ = __tsan_get_current_fiber();
#endif
  }
  // A new one: the first switch to it calls `entry`, which must begin with Entered() and never return.
  Fiber(char* stack, size_t bytes, void (*entry)()) : stack_(stack), bytes_(bytes) {
#if defined(LONGREACH_FIBER_TSAN)
    sanitizer_ = __tsan_create_fiber(0);
    owner_ = true;
#endif
#if defined(__x86_64__)
    // What SwitchStacks() takes off: six registers and the entry. Above lies the address that a call would have left there.
    void** const top = reinterpret_cast<void**>(stack + bytes) - 8;
    for (int i = 0; i < 8; ++i) top[i] = nullptr;
    top[6] = reinterpret_cast<void*>(entry);
    at_ = top;
#else
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack;
    context_.uc_stack.ss_size = bytes;
    context_.uc_link = nullptr;
    makecontext(&context_, entry, 0);
#endif
  }
  ~Fiber() {
#if defined(LONGREACH_FIBER_TSAN)
    if (owner_) __tsan_destroy_fiber(sanitizer_);
#endif
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Leaves this fiber, which is the one that runs, for another. Returns when somebody switches back.
  void SwitchTo(Fiber& to) {
#if defined(LONGREACH_FIBER_ASAN)
    left_ = this;
    __sanitizer_start_switch_fiber(&sanitizer_, to.stack_, to.bytes_);
#endif
#if defined(__x86_64__)
    void* const at = to.at_;
#endif
#if defined(LONGREACH_FIBER_TSAN)
    __tsan_switch_to_fiber(to.sanitizer_, __tsan_switch_to_fiber_no_sync);  // From here on for the sanitizer it is the other one.
#endif
#if defined(__x86_64__)
    SwitchStacks(&at_, at);
#else
    swapcontext(&context_, &to.context_);
#endif
#if defined(LONGREACH_FIBER_ASAN)
    __sanitizer_finish_switch_fiber(sanitizer_, &left_->stack_, &left_->bytes_);
#endif
  }

  static void Entered() {
    const Unseen unseen;
#if defined(LONGREACH_FIBER_ASAN)
    __sanitizer_finish_switch_fiber(nullptr, &left_->stack_, &left_->bytes_);
#endif
  }

 private:
#if defined(LONGREACH_FIBER_ASAN)
  static inline thread_local Fiber* left_ = nullptr;  // Who switched last: of the thread's own stack it tells where it lies.
#endif
  [[maybe_unused]] const void* stack_ = nullptr;
  [[maybe_unused]] size_t bytes_ = 0;
  [[maybe_unused]] void* sanitizer_ = nullptr;
  [[maybe_unused]] bool owner_ = false;
#if defined(__x86_64__)
  void* at_ = nullptr;
#else
  ucontext_t context_;
#endif
};

}  // namespace longreach::trainer::resident::fibers
