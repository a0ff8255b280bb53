// An answer has no more leases than can be sent; the others go with later ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/service/engine_fixture.h"

namespace longreach::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Jobs go alone, and two leases fit into an answer.
class EngineAnswerSizeTest : public EngineFixture {
 protected:
  TestWorker Worker(int free_slots) {
    current_ = engine_.get();
    TestWorker worker(&current_, "a");
    worker.next().mutable_abilities()->set_pack_limit(1);
    worker.next().set_free_slots(free_slots);
    return worker;
  }
  // From now on: the scheduler starts anew.
  void AnswersHold(double leases) {
    options_.answer_bytes = static_cast<size_t>(leases * static_cast<double>(bytes_));
    RestartScheduler();
    current_ = engine_.get();
  }
  static std::vector<uint64_t> AttemptsOf(const v1::SynchronizeResponse& answer) {
    std::vector<uint64_t> attempts;
    for (const v1::Lease& lease : answer.leases()) attempts.push_back(lease.attempt());
    return attempts;
  }
  // Of a lease of Sweep(), which is given back.
  void MeasureLease() {
    Submit(Sweep("s", 5));
    TestWorker worker = Worker(1);
    const v1::Lease lease = worker.Take();
    bytes_ = lease.ByteSizeLong();
    ASSERT_GT(bytes_, 500u);
    worker.GiveBack(lease);
    worker.next().set_free_slots(0);
    worker.next().set_leaving(true);
    worker.Sync();
    ASSERT_EQ(Counts("s").queued(), 5);
  }

  Engine* current_ = nullptr;
  size_t bytes_ = 0;
};

TEST_F(EngineAnswerSizeTest, WhatDoesNotFitGoesWithTheNextAnswer) {
  MeasureLease();
  AnswersHold(2.5);
  TestWorker worker = Worker(5);

  const v1::SynchronizeResponse first = worker.Sync();
  EXPECT_EQ(first.leases_size(), 2);
  EXPECT_LE(first.ByteSizeLong(), options_.answer_bytes);
  EXPECT_EQ(Counts("s").leased(), 2);  // The others are free for whoever comes.
  worker.next().set_free_slots(3);
  EXPECT_EQ(worker.Sync().leases_size(), 2);
  worker.next().set_free_slots(1);
  EXPECT_EQ(worker.Sync().leases_size(), 1);
}

TEST_F(EngineAnswerSizeTest, LeasesThatAreSentAgainComeInTurnsAndCountFromTheFirstOn) {
  MeasureLease();
  AnswersHold(20);
  const std::vector<uint64_t> given = AttemptsOf(Worker(4).Sync());
  ASSERT_EQ(given.size(), 4u);
  AnswersHold(2.5);
  TestWorker worker = Worker(4);  // That answer never came.

  const v1::SynchronizeResponse first = worker.Sync();
  EXPECT_LE(first.ByteSizeLong(), options_.answer_bytes);
  EXPECT_THAT(AttemptsOf(first), ElementsAre(given[0], given[1]));
  EXPECT_EQ(Counts("s").leased(), 4);
  worker.next().set_free_slots(2);
  EXPECT_THAT(AttemptsOf(worker.Sync()), ElementsAre(given[2], given[3]));
  worker.next().set_free_slots(0);
  EXPECT_EQ(worker.Sync().directives_size(), 4);
  EXPECT_EQ(Counts("s").queued(), 1);
}

TEST_F(EngineAnswerSizeTest, APackHasNoMoreJobsThanAnAnswerHolds) {
  MeasureLease();
  AnswersHold(2.5);
  TestWorker worker = Worker(2);
  worker.next().mutable_abilities()->set_pack_limit(16);

  const v1::SynchronizeResponse answer = worker.Sync();

  ASSERT_EQ(answer.leases_size(), 1);
  EXPECT_EQ(answer.leases(0).jobs_size(), 2);
  EXPECT_EQ(Counts("s").queued(), 3);
}

TEST_F(EngineAnswerSizeTest, AJobThatNoAnswerHoldsFailsWithTheReason) {
  MeasureLease();
  AnswersHold(0.5);
  TestWorker worker = Worker(1);

  EXPECT_EQ(worker.Sync().leases_size(), 0);

  EXPECT_EQ(Counts("s").failed(), 5);
  const auto failure = store_->writer_connection().One<std::string>("SELECT failure FROM jobs ORDER BY num LIMIT 1");
  ASSERT_TRUE(failure.ok());
  EXPECT_THAT(*failure, HasSubstr("fewer lengths or inputs"));
}

}  // namespace
}  // namespace longreach::service
