// The pool's promise: each item once, all done when Run() returns, whatever the helpers were doing: working, looking for work or asleep.
#include "worker/trainer/engine/thread_pool.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <latch>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace longreach::trainer {

namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(ThreadPoolTest, DoesEachItemOnceInRunsOfAnyNumber) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int round = 0; round < 2'000; ++round) {
      const int64_t count = round % 7;
      std::vector<std::atomic<int>> times(static_cast<size_t>(count));
      pool.Run(count, [&](int64_t item) { ++times[static_cast<size_t>(item)]; });
      for (const std::atomic<int>& one : times) ASSERT_EQ(one, 1) << "round " << round << ", " << threads << " threads";
    }
  }
}

TEST(ThreadPoolTest, ItemsRunAtTheSameTime) {
  ThreadPool pool(3);
  for (int round = 0; round < 50; ++round) {
    std::latch all(3);  // Nobody goes on before three have come: one after the other they never would.
    Synchronized<std::set<std::thread::id>> seen;
    pool.Run(3, [&](int64_t) {
      seen.Lock()->insert(std::this_thread::get_id());
      all.arrive_and_wait();
    });
    EXPECT_EQ(seen.Lock()->size(), 3u);
  }
}

// Items of one Run(), each on which thread, with all of `together` under way at the same time.
std::set<std::thread::id> ThreadsOf(ThreadPool& pool, int64_t items, int together) {
  std::latch all(together);
  Synchronized<std::set<std::thread::id>> seen;
  pool.Run(items, [&](int64_t item) {
    seen.Lock()->insert(std::this_thread::get_id());
    if (item < together) all.arrive_and_wait();
  });
  return *seen.Lock();
}

TEST(ThreadPoolTest, ALimitHoldsFromTheNextRunOnAndCanBeLifted) {
  ThreadPool pool(4), other(2);
  for (int round = 0; round < 50; ++round) {
    LimitThreads(1);
    EXPECT_THAT(ThreadsOf(pool, 100, 1), ElementsAre(std::this_thread::get_id()));
    EXPECT_THAT(ThreadsOf(other, 100, 1), ElementsAre(std::this_thread::get_id()));
    LimitThreads(3);
    EXPECT_THAT(ThreadsOf(pool, 100, 3), SizeIs(3));
    EXPECT_THAT(ThreadsOf(other, 100, 2), SizeIs(2));
    LimitThreads(0);
    EXPECT_THAT(ThreadsOf(pool, 4, 4), SizeIs(4));
  }
  LimitThreads(1);
  const ThreadPool ended_with_a_limit(3);
  LimitThreads(0);
}

TEST(ThreadPoolTest, AFailureIsToldWhenAllIsDoneAndHarmsNoLaterRun) {
  ThreadPool pool(2);
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> done = 0;
    EXPECT_THROW(pool.Run(8,
                          [&](int64_t item) {
                            ++done;
                            if (item == 3) throw std::runtime_error("of item 3");
                          }),
                 std::runtime_error);
    EXPECT_EQ(done, 8);
    pool.Run(8, [&](int64_t) { ++done; });
    EXPECT_EQ(done, 16);
  }
}

// A sanitizer reserves address space of its own, which no limit can be set on.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(ThreadPoolDeathTest, ThreadsThatTheMachineDoesNotGiveAreAnErrorAndNoHang) {
  const auto with_room_for_few = [] {
    alarm(600);
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t bytes = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE)) + (512U << 20);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
    setrlimit(RLIMIT_AS, &limit);
    try {
      const ThreadPool pool(10'000);
    } catch (const std::system_error&) {
      _exit(3);
    }
    _exit(0);
  };
  EXPECT_EXIT(with_room_for_few(), ::testing::ExitedWithCode(3), "");
}
#endif

}  // namespace

}  // namespace longreach::trainer
