#include "store/workers.h"

#include "tests/store/fixture.h"

namespace longreach::store {
namespace {

using ::testing::HasSubstr;

class WorkersTest : public ::testing::Test {
 protected:
  TestStore test_;
};

TEST_F(WorkersTest, AWorkerThatComesAgainReplacesItsRowButNotWhenItWasFirstSeen) {
  test_.AddWorker("w1");
  ASSERT_OK(test_.Write([](sql::Transaction& tx) {
    return PutWorker(tx, {.id = "w1", .name = "new", .incarnation = 1ull << 63, .abilities = "{}", .build = "build 2", .device = "gpu",
                          .threads = 4, .pack_limit = 3, .state = WorkerState::kPutAside, .reason = "three failed",
                          .recent_failures = "4,5,6", .first_seen_at = At(99), .seen_at = At(100), .device_id = "GPU-2"});
  }));

  ASSERT_OK_AND_ASSIGN(std::optional<WorkerRow> worker, FindWorker(test_.db(), "w1"));

  ASSERT_TRUE(worker.has_value());
  EXPECT_EQ(worker->name, "new");
  EXPECT_EQ(worker->incarnation, 1ull << 63);
  EXPECT_EQ(worker->state, WorkerState::kPutAside);
  EXPECT_EQ(worker->reason, "three failed");
  EXPECT_EQ(worker->recent_failures, "4,5,6");
  EXPECT_EQ(worker->first_seen_at, At(1));
  EXPECT_EQ(worker->seen_at, At(100));
  EXPECT_EQ(worker->device_id, "GPU-2");
}

TEST_F(WorkersTest, StateFailuresAndSeenTimeAreSetOneByOneAndOnlyForAKnownWorker) {
  test_.AddWorker("w1");
  ASSERT_OK(test_.Write([](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(SetWorkerState(tx, "w1", WorkerState::kDraining, "drained"));
    RETURN_IF_ERROR(SetWorkerFailures(tx, "w1", "9"));
    return SetWorkerSeen(tx, "w1", At(50));
  }));
  const WorkerRow worker = **FindWorker(test_.db(), "w1");
  EXPECT_EQ(worker.state, WorkerState::kDraining);
  EXPECT_EQ(worker.reason, "drained");
  EXPECT_EQ(worker.recent_failures, "9");
  EXPECT_EQ(worker.seen_at, At(50));
  EXPECT_OK(test_.Write([](sql::Transaction& tx) { return SetWorkerSeen(tx, "w2", At(50)); }));
  EXPECT_EQ(*FindWorker(test_.db(), "w2"), std::nullopt) << "nor is it made";
  EXPECT_FALSE(test_.Write([](sql::Transaction& tx) { return SetWorkerState(tx, "w2", WorkerState::kActive, ""); }).ok());
}

TEST_F(WorkersTest, AWorkerIsFoundByIdItsBeginningOrName) {
  test_.AddWorker("aaaa1111-0000");
  test_.AddWorker("aaaa2222-0000");

  EXPECT_EQ(ResolveWorker(test_.db(), "aaaa1111-0000")->id, "aaaa1111-0000");
  EXPECT_EQ(ResolveWorker(test_.db(), "aaaa2")->id, "aaaa2222-0000");
  EXPECT_EQ(ResolveWorker(test_.db(), "name of aaaa2222-0000")->id, "aaaa2222-0000");
  EXPECT_EQ(ResolveWorker(test_.db(), "aaaa").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(ResolveWorker(test_.db(), "name of aaaa2222-000").status().message()),
              HasSubstr("did you mean 'name of aaaa2222-0000'?"));
  EXPECT_EQ(ResolveWorker(test_.db(), "bbbb").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(WorkersTest, ANameIsSharedByWorkersThatAreGoneToo) {
  test_.AddWorker("w1");
  EXPECT_FALSE(*IsSharedName(test_.db(), "name of w1"));
  EXPECT_FALSE(*IsSharedName(test_.db(), "nobody"));
  ASSERT_TRUE(test_.Write([](sql::Transaction& tx) { return PutWorker(tx, {.id = "w2", .name = "name of w1", .abilities = "{}"}); }).ok());
  EXPECT_TRUE(*IsSharedName(test_.db(), "name of w1"));
}

TEST_F(WorkersTest, ADataSetsNameIsBoundToTheFirstHash) {
  DataSetRow bound;
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(BindDataSet(tx, {.name = "enwik8", .sha256 = "first", .bytes = 1e8, .first_seen_at = At(1)}).status());
    ASSIGN_OR_RETURN(bound, BindDataSet(tx, {.name = "enwik8", .sha256 = "other", .bytes = 2, .first_seen_at = At(2)}));
    return absl::OkStatus();
  }));

  EXPECT_EQ(bound.sha256, "first");
  EXPECT_EQ(bound.bytes, 1e8);
  EXPECT_EQ(ListDataSets(test_.db())->size(), 1u);
  EXPECT_FALSE(FindDataSet(test_.db(), "pg19")->has_value());
}

}  // namespace
}  // namespace longreach::store
