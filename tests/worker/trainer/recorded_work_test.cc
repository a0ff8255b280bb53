// The times of a pool's work on one thread, and what they say about more threads.
#include "worker/trainer/engine/recorded_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "worker/trainer/engine/thread_pool.h"

namespace longreach::trainer {

namespace {

using ::testing::ElementsAre;

TEST(SimulatedSecondsTest, OnOneThreadAreTheSumOfAll) {
  EXPECT_DOUBLE_EQ(SimulatedSeconds({.runs = {{1, 2, 3}, {4}}, .serial_seconds = 0.5}, 1), 10.5);
  EXPECT_DOUBLE_EQ(SimulatedSeconds({.runs = {}, .serial_seconds = 0.5}, 4), 0.5);
}

TEST(SimulatedSecondsTest, HandItemsInOrderToTheFirstThreadThatIsFree) {
  // 3 | 1, then 2 beside the 3, then 4 when both are free: the longest last is what order makes of it.
  EXPECT_DOUBLE_EQ(SimulatedSeconds({.runs = {{3, 1, 2, 4}}}, 2), 7);
  EXPECT_DOUBLE_EQ(SimulatedSeconds({.runs = {{4, 3, 2, 1}}}, 2), 5);
}

TEST(SimulatedSecondsTest, NoThreadTakesFromTheNextRunBeforeAllAreDone) {
  EXPECT_DOUBLE_EQ(SimulatedSeconds({.runs = {{2, 1}, {1, 2}}}, 2), 4);
  EXPECT_DOUBLE_EQ(SimulatedSeconds({.runs = {{2, 1, 1, 2}}}, 2), 4);
  EXPECT_DOUBLE_EQ(SimulatedSeconds({.runs = {{2, 1, 1, 2}}}, 4), 2);
}

TEST(SimulatedSecondsTest, AreNoLessThanTheLongestItemHoweverManyThreads) {
  EXPECT_DOUBLE_EQ(SimulatedSeconds({.runs = {{1, 5, 1}}, .serial_seconds = 1}, 1000), 6);
}

// Work that moves a clock of its own.
class WorkRecorderTest : public ::testing::Test {
 protected:
  double now_ = 100;
  WorkRecorder recorder_{[this] { return now_; }};
};

TEST_F(WorkRecorderTest, TellsTheTimeOfEachItemAndOfWhatIsBetweenTheRuns) {
  now_ += 0.5;
  recorder_.Run(3, [&](int64_t i) { now_ += static_cast<double>(i + 1); });
  now_ += 0.25;
  recorder_.Run(1, [&](int64_t) { now_ += 8; });
  now_ += 0.25;

  const RecordedWork work = recorder_.Take();

  EXPECT_THAT(work.runs, ElementsAre(ElementsAre(1, 2, 3), ElementsAre(8)));
  EXPECT_DOUBLE_EQ(work.serial_seconds, 1);
}

TEST_F(WorkRecorderTest, BeginsAnewAfterEachTake) {
  recorder_.Run(1, [&](int64_t) { now_ += 8; });
  (void)recorder_.Take();
  now_ += 2;

  const RecordedWork work = recorder_.Take();

  EXPECT_TRUE(work.runs.empty());
  EXPECT_DOUBLE_EQ(work.serial_seconds, 2);
}

TEST_F(WorkRecorderTest, LetsThroughWhatAnItemThrows) {
  EXPECT_THROW(recorder_.Run(2, [](int64_t) { throw std::runtime_error("the first"); }), std::runtime_error);
}

TEST_F(WorkRecorderTest, DoesAllThatAPoolIsAskedForOnTheThreadThatAsks) {
  ThreadPool pool(4, &recorder_);
  std::vector<int64_t> order;
  std::vector<std::thread::id> threads;

  pool.Run(3, [&](int64_t i) {
    order.push_back(i);
    threads.push_back(std::this_thread::get_id());
    now_ += 2;
  });

  EXPECT_EQ(pool.threads(), 1);
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
  EXPECT_THAT(threads, ::testing::Each(std::this_thread::get_id()));
  EXPECT_THAT(recorder_.Take().runs, ElementsAre(ElementsAre(2, 2, 2)));
}

TEST(ThreadCpuSecondsTest, GoOnWithWork) {
  const double before = ThreadCpuSeconds();
  while (ThreadCpuSeconds() == before) {
  }
  EXPECT_GT(ThreadCpuSeconds(), before);
}

}  // namespace

}  // namespace longreach::trainer
