// The pool's promise: each item once, all done when Run() returns, whatever the helpers were doing: working, looking for work or asleep.
#include "worker/trainer/engine/thread_pool.h"

#include <gmock/gmock.h>

#include <atomic>
#include <latch>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace longreach::trainer {

namespace {

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

}  // namespace

}  // namespace longreach::trainer
