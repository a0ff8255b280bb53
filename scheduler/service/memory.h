// Gives memory back to the system after a flood of calls: glibc keeps what was freed, and a scheduler runs for weeks.
#pragma once

#include <chrono>
#include <cstdio>

#include <malloc.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace longreach::service {

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
