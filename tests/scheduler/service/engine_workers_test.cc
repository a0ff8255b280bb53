// What people are told of workers, by what the engine knows of their calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proto/types/time.h"
#include "scheduler/service/query_workers.h"
#include "store/workers.h"
#include "tests/scheduler/service/engine_fixture.h"

namespace longreach::service {
namespace {

using std::chrono::seconds;
using ::testing::StartsWith;

class EngineWorkersTest : public EngineFixture {
 protected:
  // As 'longreach workers' shows them, by id.
  std::map<std::string, v1::WorkerInfo> Listed() {
    const absl::StatusOr<v1::ListWorkersResponse> response = ListWorkers(store_->writer_connection(), engine_->board().Read());
    EXPECT_TRUE(response.ok()) << response.status();
    std::map<std::string, v1::WorkerInfo> workers;
    for (const v1::WorkerInfo& worker : response->workers()) workers[worker.id()] = worker;
    return workers;
  }
  WallTime SeenInStore(const std::string& id) { return (*store::FindWorker(store_->writer_connection(), id))->seen_at; }
};

TEST_F(EngineWorkersTest, AnIdleWorkersLastCallIsShownThoughItIsNotWrittenYet) {
  TestWorker worker = Worker("idle");
  const WallTime first = clock_.Wall();
  worker.Sync();
  for (int call = 0; call < 6; ++call) {
    Advance(seconds(5));
    worker.Sync();
    EXPECT_EQ(FromTimestamp(Listed().at("idle").seen_at()), clock_.Wall());
  }
  EXPECT_LT(SeenInStore("idle"), first + seconds(30)) << "written once a minute";
}

TEST_F(EngineWorkersTest, WhenASilentWorkerWasLastHeardOfIsInTheStoreOnceItIsGone) {
  TestWorker worker = Worker("silent");
  worker.Sync();
  for (int call = 0; call < 6; ++call) {
    Advance(seconds(5));
    worker.Sync();
  }
  const WallTime last = clock_.Wall();
  ASSERT_LT(SeenInStore("silent"), last);

  Advance(seconds(15));

  const v1::WorkerInfo gone = Listed().at("silent");
  EXPECT_EQ(gone.state(), "gone");
  EXPECT_EQ(FromTimestamp(gone.seen_at()), last);
  EXPECT_EQ(gone.reason(), "last heard of at " + ReadableTime(last));
}

TEST_F(EngineWorkersTest, WhenASilentWorkerWasLastHeardOfIsWrittenLaterWhereItCouldNotBe) {
  TestWorker worker = Worker("silent");
  worker.Sync();
  Advance(seconds(5));
  worker.Sync();
  const WallTime last = clock_.Wall();
  disk_full_ = true;
  Advance(seconds(15));
  ASSERT_LT(SeenInStore("silent"), last);

  disk_full_ = false;
  Advance(options_.write_every);

  EXPECT_EQ(SeenInStore("silent"), last);
}

// A network that fails under all of them: an event writes some, and those that come after it the others.
TEST_F(EngineWorkersTest, WhenManySilentWorkersWereLastHeardOfIsWrittenSoonAfter) {
  constexpr int kMany = 101;
  std::vector<TestWorker> workers;
  for (int i = 0; i < kMany; ++i) workers.push_back(Worker("silent-" + std::to_string(i)));
  for (TestWorker& worker : workers) worker.Sync();
  Advance(seconds(5));
  for (TestWorker& worker : workers) worker.Sync();
  const WallTime last = clock_.Wall();
  const auto written = [this, last] {
    int count = 0;
    for (int i = 0; i < kMany; ++i) count += SeenInStore("silent-" + std::to_string(i)) == last;
    return count;
  };
  ASSERT_EQ(written(), 0);

  Advance(seconds(15));
  EXPECT_GT(written(), 0);
  Advance(options_.write_every);
  EXPECT_EQ(written(), kMany);
}

TEST_F(EngineWorkersTest, TheEndWritesWhenEachWorkerLastCalled) {
  TestWorker worker = Worker("idle");
  worker.Sync();
  Advance(seconds(10));
  worker.Sync();
  EXPECT_LT(SeenInStore("idle"), clock_.Wall());

  engine_->Shutdown();
  std::optional<store::Event> last = engine_->AtEnd();
  ASSERT_TRUE(last.has_value());
  std::vector<store::Event> group;
  group.push_back(*std::move(last));
  EXPECT_TRUE(store::RunGroup(store_->writer_connection(), group).ok());

  EXPECT_EQ(SeenInStore("idle"), clock_.Wall());
  EXPECT_FALSE(engine_->AtEnd().has_value()) << "there is no more to write";
}

TEST_F(EngineWorkersTest, AfterAStartOfTheSchedulerAWorkerIsWhatItWasUntilItHasHadATermToCallIn) {
  Submit(Sweep("s", 1));
  TestWorker busy = Worker("busy");
  const v1::Lease lease = busy.Take();
  TestWorker idle = Worker("idle");
  idle.Sync();
  Advance(seconds(2));
  RestartScheduler();
  current_ = engine_.get();

  std::map<std::string, v1::WorkerInfo> listed = Listed();
  EXPECT_EQ(listed["busy"].state(), "active");
  EXPECT_THAT(listed["busy"].reason(), StartsWith("not heard of since the scheduler started; last heard of at "));
  ASSERT_EQ(listed["busy"].running_size(), 1) << "as 'longreach status' has it";
  EXPECT_EQ(listed["busy"].running(0).attempt(), lease.attempt());
  EXPECT_EQ(listed["idle"].state(), "active");

  idle.Sync();
  EXPECT_EQ(Listed()["idle"].reason(), "");
  Advance(seconds(14));
  EXPECT_EQ(Listed()["busy"].state(), "active");
  Advance(seconds(1));
  listed = Listed();
  EXPECT_EQ(listed["busy"].state(), "gone");
  EXPECT_EQ(listed["busy"].running_size(), 0);
  EXPECT_THAT(listed["busy"].reason(), StartsWith("last heard of at "));
  EXPECT_EQ(Counts("s").queued(), 1);
}

TEST_F(EngineWorkersTest, WorkersThatWereGoneLongBeforeAreGoneAtOnce) {
  TestWorker gone = Worker("gone");
  gone.Sync();
  Advance(std::chrono::minutes(2));
  TestWorker there = Worker("there");
  there.Sync();
  RestartScheduler();

  std::map<std::string, v1::WorkerInfo> listed = Listed();
  EXPECT_EQ(listed["gone"].state(), "gone");
  EXPECT_EQ(listed["there"].state(), "active");
}

TEST_F(EngineWorkersTest, WhoHasLeftIsNotAwaitedByTheNextSchedulerUnlessItComesBack) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  worker.Succeed(worker.Take());
  worker.next().set_leaving(true);
  worker.Sync();
  EXPECT_EQ(Listed()["a"].state(), "gone");
  RestartScheduler();
  current_ = engine_.get();

  EXPECT_EQ(Listed()["a"].state(), "gone");
  EXPECT_THAT(Listed()["a"].reason(), StartsWith("last heard of at "));

  worker.Restart();
  worker.next().set_leaving(false);
  worker.Sync();
  EXPECT_EQ(Listed()["a"].state(), "active");
  EXPECT_EQ(Listed()["a"].reason(), "");
  RestartScheduler();
  EXPECT_EQ(Listed()["a"].state(), "active");
}

TEST_F(EngineWorkersTest, WhereAStoreIsOnlyLookedAtNobodyIsAwaited) {
  Submit(Sweep("s", 1));
  TestWorker busy = Worker("busy");
  (void)busy.Take();
  options_.awaits_workers = false;
  RestartScheduler();

  EXPECT_EQ(Listed()["busy"].state(), "gone");
}

}  // namespace
}  // namespace longreach::service
