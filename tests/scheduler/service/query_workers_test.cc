#include "scheduler/service/query_workers.h"

#include <span>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "proto/types/time.h"
#include "scheduler/core/packs.h"
#include "scheduler/service/references.h"
#include "store/sweeps.h"
#include "store/workers.h"
#include "tests/scheduler/service/access/still_clock.h"
#include "tests/scheduler/service/query_fixture.h"

namespace longreach::service {
namespace {

using ::testing::HasSubstr;

using QueryWorkersTest = QueryFixture;

TEST_F(QueryWorkersTest, AWorkerIsGoneUnlessItCallsAndShowsWhatItRuns) {
  AddWorker("11111111-aaaa", "alpha");
  AddWorker("22222222-bbbb", "beta");
  AddWorker("33333333-cccc", "gamma");
  board_.SetWorker("22222222-bbbb", now_ + std::chrono::seconds(30));
  board_.SetWorker("33333333-cccc", now_);
  // What it had before the scheduler began, and until its lease runs out; it does not work on it.
  board_.Set(6, {.worker = "11111111-aaaa", .worker_name = "alpha", .task = "even_pairs", .encoding = "rope", .members = 1, .step = 3, .steps = 10, .phase = std::nullopt});
  board_.Set(7, {.worker = "22222222-bbbb", .worker_name = "beta", .task = "even_pairs", .encoding = "rope:randomized",
                 .members = 9, .step = 3, .steps = 10, .phase = AttemptPhase::kTraining, .steps_per_second = 2.5});
  Write([&](sql::Transaction& tx) {
    return store::SetWorkerState(tx, "33333333-cccc", WorkerState::kDraining, "drained");
  });

  store::Snapshot snapshot = Read();
  const absl::StatusOr<v1::ListWorkersResponse> response = ListWorkers(snapshot.db(), board_.Read());

  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(response->workers_size(), 3);
  const v1::WorkerInfo& alpha = response->workers(0);
  EXPECT_EQ(alpha.name(), "alpha");
  EXPECT_EQ(alpha.state(), "gone");
  EXPECT_EQ(alpha.running_size(), 0);
  EXPECT_THAT(alpha.reason(), HasSubstr("last heard of at " + ReadableTime(now_)));
  const v1::WorkerInfo& beta = response->workers(1);
  EXPECT_EQ(beta.state(), "active");
  EXPECT_EQ(beta.reason(), "");
  EXPECT_EQ(beta.device(), "cpu");
  EXPECT_EQ(beta.pack_limit(), 16);
  EXPECT_EQ(FromTimestamp(beta.seen_at()), now_ + std::chrono::seconds(30));
  ASSERT_EQ(beta.running_size(), 1);
  EXPECT_EQ(beta.running(0).attempt(), 7u);
  EXPECT_EQ(beta.running(0).members(), 9);
  EXPECT_EQ(beta.running(0).steps_per_second(), 2.5);
  EXPECT_EQ(response->workers(2).state(), "draining");
  EXPECT_EQ(response->workers(2).reason(), "drained");
  EXPECT_EQ(response->workers(2).running_size(), 0);
}

TEST_F(QueryWorkersTest, DamagedDataSetsAreToldOfThoseThatAreThereAndNotMoreThanAnAnswerHolds) {
  std::string damaged;
  for (int i = 0; i < 300; ++i) damaged += fmt::format(R"({}{{"name":"words-{}","reason":"its bytes have changed"}})", i > 0 ? "," : "", i);
  const std::string abilities = R"({"name":"w","damaged_data_sets":[)" + damaged + "]}";
  AddWorker("00000000-gone", "a-gone", abilities);
  for (int i = 0; i < 5; ++i) {
    const std::string id = fmt::format("{}1111111-here", i);
    AddWorker(id, fmt::format("b-{}", i), abilities);
    board_.SetWorker(id, now_);
  }
  AddWorker("99999999-whole", "c-whole", R"({"name":"w","data_sets":[{"name":"words"}]})");
  board_.SetWorker("99999999-whole", now_);

  store::Snapshot snapshot = Read();
  const absl::StatusOr<v1::ListWorkersResponse> response = ListWorkers(snapshot.db(), board_.Read());

  ASSERT_TRUE(response.ok()) << response.status();
  std::vector<int> counts;
  for (const v1::WorkerInfo& worker : response->workers()) counts.push_back(worker.damaged_data_sets_size());
  EXPECT_THAT(counts, ::testing::ElementsAre(0, 300, 300, 300, 100, 0, 0));
  EXPECT_EQ(response->workers(1).damaged_data_sets(1).name(), "words-1");
  EXPECT_EQ(response->workers(1).damaged_data_sets(1).reason(), "its bytes have changed");
}

// After a start of the scheduler.
TEST_F(QueryWorkersTest, AWorkerThatHasHadNoChanceToCallIsWhatItWas) {
  AddWorker("11111111-aaaa", "alpha");
  AddWorker("22222222-bbbb", "beta");
  AddWorker("33333333-cccc", "gamma");
  Write([&](sql::Transaction& tx) { return store::SetWorkerState(tx, "22222222-bbbb", WorkerState::kDraining, "drained"); });
  board_.Set(6, {.worker = "11111111-aaaa", .worker_name = "alpha", .task = "even_pairs", .encoding = "rope", .members = 9, .step = 3, .steps = 10, .phase = std::nullopt});
  StillClock clock;
  board_.Await({"11111111-aaaa", "22222222-bbbb"}, clock, clock.now + std::chrono::seconds(15));
  const auto listed = [this] {
    store::Snapshot snapshot = Read();
    const absl::StatusOr<v1::ListWorkersResponse> response = ListWorkers(snapshot.db(), board_.Read());
    EXPECT_TRUE(response.ok()) << response.status();
    return *response;
  };

  const v1::ListWorkersResponse begun = listed();
  EXPECT_EQ(begun.workers(0).state(), "active");
  EXPECT_EQ(begun.workers(0).reason(), "not heard of since the scheduler started; last heard of at " + ReadableTime(now_));
  EXPECT_EQ(FromTimestamp(begun.workers(0).seen_at()), now_);
  ASSERT_EQ(begun.workers(0).running_size(), 1);
  EXPECT_EQ(begun.workers(0).running(0).members(), 9);
  EXPECT_EQ(begun.workers(0).running(0).phase(), "");
  EXPECT_EQ(begun.workers(1).state(), "draining");
  EXPECT_EQ(begun.workers(1).reason(), "drained");
  EXPECT_EQ(begun.workers(2).state(), "gone");

  // One calls, and leaves again; the other does not call for a whole term.
  board_.SetWorker("22222222-bbbb", now_);
  board_.RemoveWorker("22222222-bbbb");
  clock.now += std::chrono::seconds(14);
  EXPECT_EQ(listed().workers(0).state(), "active");
  EXPECT_EQ(listed().workers(1).state(), "gone");
  clock.now += std::chrono::seconds(1);
  EXPECT_EQ(listed().workers(0).state(), "gone");
}

// As that of a `longreach run` whose store had one before, which said goodbye: to the user who waits for it, it would be the reason.
TEST_F(QueryWorkersTest, OneThatHasComeBackHasNotLeftBeforeItsFirstCallIsWritten) {
  AddWorker("11111111-aaaa", "alpha");
  Write([&](sql::Transaction& tx) { return store::SetWorkerState(tx, "11111111-aaaa", WorkerState::kActive, store::kHasLeft); });
  const auto alpha = [this] {
    store::Snapshot snapshot = Read();
    const absl::StatusOr<v1::ListWorkersResponse> response = ListWorkers(snapshot.db(), board_.Read());
    EXPECT_TRUE(response.ok()) << response.status();
    return response->workers(0);
  };
  EXPECT_EQ(alpha().state(), "gone");
  EXPECT_EQ(alpha().reason(), "last heard of at " + ReadableTime(now_));

  board_.SetWorker("11111111-aaaa", now_);

  EXPECT_EQ(alpha().state(), "active");
  EXPECT_EQ(alpha().reason(), "");
}

TEST_F(QueryWorkersTest, EachHasItsOwnAttemptsInTheirOrder) {
  AddWorker("11111111-aaaa", "alpha");
  AddWorker("22222222-bbbb", "beta");
  for (const char* id : {"11111111-aaaa", "22222222-bbbb"}) board_.SetWorker(id, now_);
  for (const int64_t attempt : {9, 4, 5, 8}) {
    const bool odd = attempt % 2 == 1;
    board_.Set(attempt, {.worker = odd ? "11111111-aaaa" : "22222222-bbbb", .worker_name = odd ? "alpha" : "beta", .task = "even_pairs", .encoding = "rope", .members = 1,
                         .step = 3, .steps = 10, .phase = std::nullopt});
  }
  board_.Set(6, {.worker = "33333333-cccc", .worker_name = "not written yet", .task = "even_pairs", .encoding = "rope", .members = 1, .step = 3, .steps = 10, .phase = std::nullopt});

  store::Snapshot snapshot = Read();
  const absl::StatusOr<v1::ListWorkersResponse> response = ListWorkers(snapshot.db(), board_.Read());

  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(response->workers_size(), 2);
  std::vector<std::vector<uint32_t>> attempts;
  for (const v1::WorkerInfo& worker : response->workers()) {
    attempts.emplace_back();
    for (const v1::RunningAttempt& one : worker.running()) attempts.back().push_back(static_cast<uint32_t>(one.attempt()));
  }
  EXPECT_THAT(attempts, ::testing::ElementsAre(::testing::ElementsAre(5u, 9u), ::testing::ElementsAre(4u, 8u)));
}

TEST_F(QueryWorkersTest, OneThatIsGoneIsListedForAWeekOfOthersCalls) {
  AddWorker("11111111-aaaa", "long gone");
  AddWorker("22222222-bbbb", "there all the time");  // Its calls since then are not written yet.
  now_ += std::chrono::days(2);
  AddWorker("33333333-cccc", "gone");
  now_ += kListedWhenGone;
  AddWorker("44444444-dddd", "a new one");
  board_.SetWorker("22222222-bbbb", now_);
  board_.SetWorker("44444444-dddd", now_);
  board_.SetWorker("55555555-eeee", now_);  // Its first call is not written yet.

  store::Snapshot snapshot = Read();
  const absl::StatusOr<v1::ListWorkersResponse> response = ListWorkers(snapshot.db(), board_.Read());

  ASSERT_TRUE(response.ok()) << response.status();
  std::vector<std::string> names;
  for (const v1::WorkerInfo& worker : response->workers()) names.push_back(worker.name());
  EXPECT_THAT(names, ::testing::ElementsAre("a new one", "gone", "there all the time"));
  EXPECT_EQ(WorkersThere(snapshot.db(), board_.Read())->size(), 2u);
  EXPECT_EQ(ResolveWorker(snapshot.db(), "long gone", board_.Read())->id, "11111111-aaaa") << "it can be steered as ever";
}

// A worker that comes meanwhile is in no list, so that there seems to be none.
TEST_F(QueryWorkersTest, AStoreThatTakesNothingIsToldBesideTheWorkersThatAreKnown) {
  const auto trouble = [&] {
    store::Snapshot snapshot = Read();
    return ListWorkers(snapshot.db(), board_.Read())->store_trouble();
  };
  EXPECT_EQ(trouble(), "");
  board_.SetFilesTrouble("no room for files of jobs: the disk is full");
  EXPECT_EQ(trouble(), "") << "who comes is written down";
  board_.SetStoreTrouble("the disk is full");
  EXPECT_EQ(trouble(), "the store takes nothing: the disk is full");
  board_.SetStoreTrouble("");
  EXPECT_EQ(trouble(), "");
}

// What more workers could take up.
TEST_F(QueryWorkersTest, PacksThatWaitAreCountedWhereThatIsAskedFor) {
  v1::ListWorkersRequest asked;
  asked.set_count_waiting(true);
  const auto waiting = [&] {
    store::Snapshot snapshot = Read();
    const absl::StatusOr<v1::ListWorkersResponse> response = ListWorkers(snapshot.db(), board_.Read(), asked);
    EXPECT_TRUE(response.ok()) << response.status();
    return response->packs_waiting();
  };
  EXPECT_EQ(waiting(), 0);
  const Made small = AddSweep(SmallSweep("small"));  // Four groups of four jobs.
  EXPECT_EQ(waiting(), 4);
  const Made large = AddSweep(LongSweep("large"));  // One group of 500, two of which the small sweep has in a group with two more.
  EXPECT_EQ(waiting(), 3 + (500 + 2 + 8) / 9);

  AddWorker("11111111-aaaa", "alpha");
  EXPECT_EQ(waiting(), 3 + (500 + 2 + 8) / 9) << "it is not there";
  board_.SetWorker("11111111-aaaa", now_);
  EXPECT_EQ(waiting(), 3 + (500 + 2 + 15) / 16);
  Lease("11111111-aaaa", std::span(large.jobs).first(100));
  EXPECT_EQ(waiting(), 3 + (400 + 2 + 15) / 16);
  Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(store::SetSweepState(tx, large.num, SweepState::kPaused));
    return store::RefreshWanted(tx, large.num);
  });
  EXPECT_EQ(waiting(), 4) << "those of a paused sweep cannot start";

  store::Snapshot snapshot = Read();
  EXPECT_FALSE(ListWorkers(snapshot.db(), board_.Read())->has_packs_waiting());
}

TEST(PackLimitAtHandTest, IsTheLargestOfThoseThatGetWork) {
  EXPECT_EQ(PackLimitAtHand({}), core::kUsualPackLimit);
  std::vector<store::WorkerRow> there(3);
  there[0].pack_limit = 4;
  there[1].pack_limit = 3;
  there[2].pack_limit = 30;
  there[2].state = WorkerState::kDraining;
  EXPECT_EQ(PackLimitAtHand(there), 4);
}

TEST_F(QueryWorkersTest, AWorkerGoesByNameOrIdAndAnAmbiguousOneIsRefused) {
  AddWorker("11111111-aaaa", "alpha");
  AddWorker("22222222-bbbb", "beta");
  AddWorker("22222222-cccc", "beta");
  store::Snapshot snapshot = Read();

  EXPECT_EQ(ResolveWorker(snapshot.db(), "alpha", board_.Read())->id, "11111111-aaaa");
  EXPECT_EQ(ResolveWorker(snapshot.db(), "1111", board_.Read())->id, "11111111-aaaa");
  EXPECT_EQ(ResolveWorker(snapshot.db(), "22222222-c", board_.Read())->id, "22222222-cccc");
  EXPECT_EQ(ResolveWorker(snapshot.db(), "beta", board_.Read()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ResolveWorker(snapshot.db(), "2222", board_.Read()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ResolveWorker(snapshot.db(), "alfa", board_.Read()).status().code(), absl::StatusCode::kNotFound);

  board_.SetWorker("22222222-cccc", now_);
  EXPECT_EQ(ResolveWorker(snapshot.db(), "beta", board_.Read())->id, "22222222-cccc") << "the other is gone";
  EXPECT_EQ(ResolveWorker(snapshot.db(), "2222", board_.Read())->id, "22222222-cccc");
  board_.SetWorker("22222222-bbbb", now_);
  EXPECT_EQ(ResolveWorker(snapshot.db(), "beta", board_.Read()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(QueryWorkersTest, DataSetsAreListedByName) {
  Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(store::BindDataSet(tx, {"pg19", std::string(64, 'b'), 2e9, now_}).status());
    return store::BindDataSet(tx, {"enwik8", std::string(64, 'a'), 1e8, now_}).status();
  });

  store::Snapshot snapshot = Read();
  const absl::StatusOr<v1::ListDataSetsResponse> response = ListDataSets(snapshot.db());

  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(response->data_sets_size(), 2);
  EXPECT_EQ(response->data_sets(0).name(), "enwik8");
  EXPECT_EQ(response->data_sets(0).sha256(), std::string(64, 'a'));
  EXPECT_EQ(response->data_sets(1).bytes(), 2e9);
}

}  // namespace
}  // namespace longreach::service
