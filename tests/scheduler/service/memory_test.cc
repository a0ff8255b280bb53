#include "scheduler/service/memory.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include <fcntl.h>

#include <gtest/gtest.h>

namespace longreach::service {
namespace {

TEST(MemoryTest, AProcessWithoutMemoryEndsAndSaysWhatToDo) {
  const auto run_out = [] {
    std::set_new_handler(EndWithoutMemory);
    try {
      std::get_new_handler()();  // As operator new does when it finds no memory.
    } catch (...) {
      _exit(2);  // As gRPC does around handlers: nobody must get the chance.
    }
  };

  EXPECT_EXIT(run_out(), ::testing::ExitedWithCode(1), "out of memory; what was answered is on disk");
}

// Sanitizers have heaps of their own.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LONGREACH_HEAP_IS_NOT_GLIBCS
#endif
#endif
#if !defined(LONGREACH_HEAP_IS_NOT_GLIBCS) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// Without taking memory for it, which would lie behind what is measured.
size_t ResidentMib() {
  std::array<char, 100> text{};
  const int file = open("/proc/self/statm", O_RDONLY);
  if (file < 0 || read(file, text.data(), text.size() - 1) <= 0) return 0;
  close(file);
  return std::strtoul(std::strchr(text.data(), ' '), nullptr, 10) * static_cast<size_t>(sysconf(_SC_PAGESIZE)) >> 20;
}

TEST(MemoryTest, AThreadThatLivesOnGivesBackWhatItHadAfterALargeMessage) {
  const auto take_and_give_back = [] {
    BoundWhatIsKept();
    void* volatile message = std::malloc(size_t{16} << 20);
    std::free(message);
    size_t before = 0, highest = 0, after = 0;
    std::thread([&] {
      static std::array<void*, 16'000> all;
      before = ResidentMib();
      for (void*& one : all) {
        one = std::malloc(2000);
        std::memset(one, 1, 2000);
      }
      highest = ResidentMib();
      std::for_each(all.begin(), all.end(), std::free);
      malloc_trim(0);
      after = ResidentMib();
    }).join();
    _exit(highest < before + 25 ? 2 : after < before + 8 ? 0 : 1);
  };

  EXPECT_EXIT(take_and_give_back(), ::testing::ExitedWithCode(0), "");
}

#endif

}  // namespace
}  // namespace longreach::service
