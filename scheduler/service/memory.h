// Memory of a scheduler that runs for weeks: what happens when there is none, and how it is given back after a flood of calls,
// since glibc keeps what was freed.
#pragma once

#include <chrono>
#include <cstdio>
#include <string_view>

#include <malloc.h>
#include <unistd.h>

#include <absl/synchronization/mutex.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace longreach::service {

// For std::set_new_handler: the process ends where memory is missing. Whoever caught the exception instead (gRPC does, around
// handlers) would go on with half of a change in memory; on disk every moment is a good one to end, as for kill -9.
[[noreturn]] inline void EndWithoutMemory() {
  static constexpr std::string_view kText =
      "error: out of memory; what was answered is on disk. Start it again, with more memory or fewer callers\n";
  (void)!write(STDERR_FILENO, kText.data(), kText.size());
  _exit(1);
}

// To be called before threads are: what would be kept for good after a flood of calls, and no trim gives back.
inline void BoundWhatIsKept() {
  // malloc_trim leaves the end of every heap but the first, of which threads have one each: free() alone gives that back, once it is longer
  // than a threshold, which glibc raises to twice the largest block that was ever freed unless it is set. One message of 16 MiB, and each
  // thread's heap would keep 32.
  static constexpr int kLargestKept = 1 << 20;  // Above what all but a few messages take.
  mallopt(M_MMAP_THRESHOLD, kLargestKept);
  mallopt(M_TRIM_THRESHOLD, kLargestKept);
  // Abseil as Debian builds it looks for cycles of locks, and each of gRPC's calls has some: a graph that has been large stays so.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

// Looks every few seconds for as long as `io` runs. Work as usual keeps little, so it never pays for a trim.
class MemoryKeeper {
 public:
  explicit MemoryKeeper(boost::asio::io_context& io) : timer_(io) { Wait(); }

 private:
  static constexpr std::chrono::seconds kEvery{2};
  // Programs, libraries, stacks, and what freed memory is kept for the next calls.
  static constexpr size_t kSlack = size_t{24} << 20;

  static size_t Resident() {
    size_t all = 0, resident = 0;
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr) return 0;
    if (std::fscanf(file, "%zu %zu", &all, &resident) != 2) resident = 0;
    std::fclose(file);
    return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  }

  static bool KeepsTooMuch() {
    const struct mallinfo2 heap = mallinfo2();
    return Resident() > heap.uordblks + heap.hblkhd + kSlack;
  }

  void Wait() {
    timer_.expires_after(kEvery);
    timer_.async_wait([this](boost::system::error_code error) {
      if (error) return;
      if (KeepsTooMuch()) malloc_trim(0);
      Wait();
    });
  }

  boost::asio::steady_timer timer_;
};

}  // namespace longreach::service
