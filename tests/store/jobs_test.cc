#include "store/jobs.h"

#include <limits>

#include "store/reading.h"
#include "tests/store/fixture.h"

namespace longreach::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class JobsTest : public ::testing::Test {
 protected:
  JobsTest() { test_.AddWorker("w1"); }
  TestStore test_;
};

// A result with one measurement.
JobResult Score(double value) { return {.measurements = {{"accuracy", 0, "", value}}}; }

TEST_F(JobsTest, AJobThatIsThereIsFoundAndNotAddedAgain) {
  const std::vector<int64_t> first = test_.AddSweep("one", MakePack(3));

  InsertedJobs again;
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    ASSIGN_OR_RETURN(again, InsertJobs(tx, MakePack(5)));
    return absl::OkStatus();
  }));

  EXPECT_EQ(again.found, first);
  EXPECT_EQ(std::vector<int64_t>(again.nums.begin(), again.nums.begin() + 3), first);
}

TEST_F(JobsTest, AnotherSpecificationUnderTheSameIdIsRefused) {
  test_.AddSweep("one", MakePack(1));
  std::vector<NewJob> jobs = MakePack(1);
  jobs[0].spec += "x";

  const absl::Status status = test_.Write([&](sql::Transaction& tx) { return InsertJobs(tx, jobs).status(); });

  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
}

// The index has the first 24 digits of an id only.
TEST_F(JobsTest, AnIdThatBeginsAsAnotherIsNeitherTakenForItNorAdded) {
  const NewJob job = MakePack(1)[0];
  test_.AddSweep("one", {job});
  NewJob like = MakeJob("bucket_sort", "rope", false, 0.001, 0);
  like.id = job.id.substr(0, 24) + like.id.substr(24);

  EXPECT_EQ(*FindJobNum(test_.db(), like.id), std::nullopt);
  EXPECT_EQ(*FindJob(test_.db(), like.id), std::nullopt);
  EXPECT_EQ(test_.Write([&](sql::Transaction& tx) { return InsertJobs(tx, std::vector{like}).status(); }).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(*test_.db().One<int>("SELECT count(*) FROM jobs"), 1);
}

TEST_F(JobsTest, IdsAreFoundByABeginningOfAnyLength) {
  std::vector<std::string> ids;
  for (const NewJob& job : MakePack(200)) ids.push_back(job.id);
  test_.AddSweep("one", MakePack(200));
  std::ranges::sort(ids);

  for (const size_t digits : {size_t{1}, size_t{2}, size_t{23}, size_t{24}, size_t{25}, size_t{64}}) {
    const std::string beginning = ids[7].substr(0, digits);
    std::vector<std::string> wanted;
    std::ranges::copy_if(ids, std::back_inserter(wanted), [&](const std::string& id) { return id.starts_with(beginning); });
    EXPECT_EQ(*JobIdsBeginning(test_.db(), beginning, 200), wanted) << digits << " digits";
  }
  const std::string other = ids[7].substr(0, 24) + (ids[7][24] == '0' ? '1' : '0');
  EXPECT_THAT(*JobIdsBeginning(test_.db(), other, 200), IsEmpty());
}

TEST_F(JobsTest, AllColumnsComeBack) {
  NewJob job = MakeJob("bucket_sort", "alibi", true, 0.0003, 4'000'000'000);
  job.requirement.task_revision = 2;
  job.requirement.encoding_revision = 3;
  job.requirement.model_revision = 4;
  job.requirement.data = "enwik8";
  const int64_t num = test_.AddSweep("one", {job}, 5)[0];

  const JobRow row = test_.Job(num);

  EXPECT_EQ(row.id, job.id);
  EXPECT_EQ(row.spec, job.spec);
  EXPECT_EQ(row.requirement.task, "bucket_sort");
  EXPECT_EQ(row.requirement.task_revision, 2);
  EXPECT_EQ(row.requirement.encoding_revision, 3);
  EXPECT_EQ(row.requirement.model_revision, 4);
  EXPECT_EQ(row.requirement.data, "enwik8");
  EXPECT_TRUE(row.randomized);
  EXPECT_EQ(row.learning_rate, 0.0003);
  EXPECT_EQ(row.seed, 4'000'000'000);
  EXPECT_EQ(row.steps, 100);
  EXPECT_EQ(row.pack_key, job.pack_key);
  EXPECT_TRUE(row.wanted);
  EXPECT_EQ(row.priority, 5);
  EXPECT_EQ(row.state, State::kQueued);
  EXPECT_EQ(row.attempt, std::nullopt);
}

TEST_F(JobsTest, ASuccessStoresTheResultOnce) {
  const int64_t job = test_.AddSweep("one", MakePack(1))[0];
  const int64_t attempt = test_.Start("w1", {job});

  test_.Succeed(attempt, 0.75);

  EXPECT_EQ(test_.Job(job).state, State::kSucceeded);
  EXPECT_EQ(test_.Job(job).attempt, attempt);
  EXPECT_EQ(*MeasuredValue(test_.db(), job, "accuracy", 41, ""), 0.75);
  const absl::Status again = test_.Write([&](sql::Transaction& tx) { return CompleteJob(tx, job, attempt, Score(1)); });
  EXPECT_EQ(again.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(*MeasuredValue(test_.db(), job, "accuracy", 0, ""), 0.75);
  EXPECT_THAT(test_.Violations(), IsEmpty());
}

// As text "step=1000" comes before "step=200".
TEST_F(JobsTest, ValuesAtStepsComeInTheOrderOfTheirSteps) {
  const int64_t job = test_.AddSweep("one", MakePack(1))[0];
  const int64_t attempt = test_.Start("w1", {job});
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) {
    return CompleteJob(tx, job, attempt, {.measurements = {{"accuracy", 0, "", 0.5}, {"accuracy", 0, "step=1000", 0.5}, {"accuracy", 0, "step=200", 0.25},
                                                           {"accuracy", 0, "depth=0.05", 1}, {"accuracy", 0, "depth=0.1", 1}, {"accuracy", 41, "", 0.5},
                                                           {"accuracy", 41, "step=1000", 0.5}, {"accuracy", 41, "step=200", 0.25}, {"loss", 0, "step=90", 1}}});
  }));
  const auto places = [](const absl::StatusOr<std::vector<Measurement>>& read) {
    std::vector<std::string> words;
    for (const Measurement& one : *read) words.push_back(one.metric + " " + std::to_string(one.length) + " " + one.slice);
    return words;
  };

  EXPECT_THAT(places(MeasurementsOf(test_.db(), job, MeasurementFilter{})),
              ElementsAre("accuracy 0 ", "accuracy 0 depth=0.05", "accuracy 0 depth=0.1", "accuracy 0 step=200", "accuracy 0 step=1000", "accuracy 41 ",
                          "accuracy 41 step=200", "accuracy 41 step=1000", "loss 0 step=90"));
  EXPECT_THAT(places(MeasurementsOf(test_.db(), job, MeasurementFilter{.metric = "accuracy", .length = 41})),
              ElementsAre("accuracy 41 ", "accuracy 41 step=200", "accuracy 41 step=1000"));
  EXPECT_THAT(places(MeasurementsOf(test_.db(), job, /*over_all_lengths_only=*/true)),
              ElementsAre("accuracy 0 ", "accuracy 0 depth=0.05", "accuracy 0 depth=0.1", "accuracy 0 step=200", "accuracy 0 step=1000", "loss 0 step=90"));
}

TEST_F(JobsTest, AResultOfAnAttemptThatLostTheLeaseIsNotWritten) {
  const int64_t job = test_.AddSweep("one", MakePack(1))[0];
  const int64_t old_attempt = test_.Start("w1", {job});
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(RequeueJob(tx, job, old_attempt, {.losses = 1}));
    return EndAttempt(tx, old_attempt, Outcome::kLost, "", "", At(30));
  }));
  const int64_t new_attempt = test_.Start("w1", {job}, 40);

  const absl::Status late = test_.Write([&](sql::Transaction& tx) { return CompleteJob(tx, job, old_attempt, Score(0.5)); });

  EXPECT_EQ(late.code(), absl::StatusCode::kInternal);
  EXPECT_GT(new_attempt, old_attempt);
  EXPECT_EQ(test_.Job(job).attempt, new_attempt);
  EXPECT_EQ(*test_.db().One<int>("SELECT count(*) FROM measurements"), 0);
}

TEST_F(JobsTest, AResultThatIsNoneIsRefusedAsAWhole) {
  const int64_t job = test_.AddSweep("one", MakePack(1))[0];
  const int64_t attempt = test_.Start("w1", {job});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<JobResult> bad = {
      {},
      {.diverged = true, .measurements = {{"accuracy", 0, "", 0.5}}},
      {.measurements = {{"accuracy", 41, "", 0.5}, {"accuracy", 0, "", nan}}},
      {.measurements = {{"accuracy", 0, "", inf}}},
      {.measurements = {{"accuracy", 0, "", 0.5}, {"accuracy", 0, "", 0.6}}},
  };
  for (const JobResult& result : bad) {
    const absl::Status status = test_.Write([&](sql::Transaction& tx) { return CompleteJob(tx, job, attempt, result); });
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
  EXPECT_EQ(test_.Job(job).state, State::kLeased);
  EXPECT_EQ(*test_.db().One<int>("SELECT count(*) FROM measurements"), 0);
}

TEST_F(JobsTest, ADivergedJobSucceedsWithoutMeasurements) {
  const int64_t job = test_.AddSweep("one", MakePack(1))[0];
  const int64_t attempt = test_.Start("w1", {job});

  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(CompleteJob(tx, job, attempt, {.diverged = true, .diverged_at = 17}));
    return EndAttempt(tx, attempt, Outcome::kSucceeded, "", "libtorch", At(30));
  }));

  EXPECT_TRUE(test_.Job(job).diverged);
  EXPECT_EQ(test_.Job(job).diverged_at, 17);
  EXPECT_EQ(test_.SweepCounts(1).diverged, 1);
  EXPECT_THAT(test_.Violations(), IsEmpty());
}

TEST_F(JobsTest, AJobWaitsUntilItsInputIsThere) {
  std::vector<NewJob> jobs = MakePack(2);
  jobs[1].inputs = {{.name = "weights", .source = jobs[0].id, .artifact = "weights", .metric = ""}};
  const std::vector<int64_t> nums = test_.AddSweep("one", jobs);
  EXPECT_EQ(test_.Job(nums[0]).state, State::kQueued);
  EXPECT_EQ(test_.Job(nums[1]).state, State::kWaiting);
  const auto release = [&] { return test_.Write([&](sql::Transaction& tx) { return ReleaseJob(tx, nums[1]); }); };
  EXPECT_EQ(release().code(), absl::StatusCode::kInternal) << "too early";

  test_.Succeed(test_.Start("w1", {nums[0]}), 0.5);

  ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> dependants, DependantsOf(test_.db(), nums[0]));
  EXPECT_THAT(dependants, ElementsAre(nums[1]));
  ASSERT_OK(release());
  EXPECT_EQ(test_.Job(nums[1]).state, State::kQueued);
  EXPECT_THAT(test_.Violations(), IsEmpty());
  ASSERT_OK_AND_ASSIGN(std::vector<JobInputRow> inputs, InputsOf(test_.db(), nums[1]));
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_EQ(inputs[0].source_id, jobs[0].id);
  EXPECT_EQ(inputs[0].source_state, State::kSucceeded);
}

TEST_F(JobsTest, AnInputThatIsNotInTheStoreIsRefused) {
  std::vector<NewJob> jobs = MakePack(1);
  jobs[0].inputs = {{.name = "weights", .source = std::string(64, 'a'), .artifact = "weights", .metric = ""}};

  const absl::Status status = test_.Write([&](sql::Transaction& tx) { return InsertJobs(tx, jobs).status(); });

  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("weights"));
  EXPECT_EQ(*test_.db().One<int>("SELECT count(*) FROM jobs"), 0);
}

TEST_F(JobsTest, OnlyTheHolderOfTheLeaseRequeuesOrFails) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(2));
  const int64_t attempt = test_.Start("w1", jobs);
  const Requeue counters{.failures = 3, .losses = 1, .failure = "out of memory", .split_group = 8};
  EXPECT_FALSE(test_.Write([&](sql::Transaction& tx) { return RequeueJob(tx, jobs[0], attempt + 1, counters); }).ok());
  EXPECT_FALSE(test_.Write([&](sql::Transaction& tx) { return FailJob(tx, jobs[0], attempt + 1, counters); }).ok());
  EXPECT_FALSE(test_.Write([&](sql::Transaction& tx) { return FailUnstartedJob(tx, jobs[0], "x"); }).ok());

  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(RequeueJob(tx, jobs[0], attempt, counters));
    return FailJob(tx, jobs[1], attempt, counters);
  }));

  EXPECT_EQ(test_.Job(jobs[0]).state, State::kQueued);
  EXPECT_EQ(test_.Job(jobs[0]).failures, 3);
  EXPECT_EQ(test_.Job(jobs[0]).losses, 1);
  EXPECT_EQ(test_.Job(jobs[0]).split_group, 8);
  EXPECT_EQ(test_.Job(jobs[1]).state, State::kFailed);
  EXPECT_EQ(test_.Job(jobs[1]).failure, "out of memory");
  EXPECT_EQ(test_.Job(jobs[1]).attempt, std::nullopt);
}

TEST_F(JobsTest, ALossCurveEndsWhereItsJobDiverged) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(2));
  const std::vector<ProgressRow> points = {{.step = 10, .loss = 1, .at = At(1)}, {.step = 20, .loss = 0.5, .at = At(2)}, {.step = 30, .loss = 0.25, .at = At(3)}};
  for (const int64_t job : jobs) ASSERT_OK(test_.Write([&](sql::Transaction& tx) { return AddProgress(tx, job, points); }));
  const int64_t attempt = test_.Start("w1", jobs);

  ASSERT_OK(test_.Write([&](sql::Transaction& tx) { return CompleteJob(tx, jobs[0], attempt, {.diverged = true, .diverged_at = 20}); }));

  ASSERT_OK_AND_ASSIGN(const std::vector<ProgressRow> kept, ProgressOf(test_.db(), jobs[0]));
  ASSERT_EQ(kept.size(), 2u) << "an attempt before had come further";
  EXPECT_EQ(kept.back().step, 20);
  EXPECT_EQ(ProgressOf(test_.db(), jobs[1])->size(), 3u) << "another job's";
}

TEST_F(JobsTest, ALossCurveKeepsItsFirstThousandPointsAndReplacesRepeatedOnes) {
  const int64_t job = test_.AddSweep("one", MakePack(1))[0];
  std::vector<ProgressRow> points;
  for (int step = 1; step <= 1100; ++step) points.push_back({.step = step, .loss = 2.0, .at = At(step)});
  points.push_back({.step = 3, .loss = std::numeric_limits<double>::quiet_NaN(), .at = At(2000)});

  ASSERT_OK(test_.Write([&](sql::Transaction& tx) { return AddProgress(tx, job, points); }));

  ASSERT_OK_AND_ASSIGN(std::vector<ProgressRow> kept, ProgressOf(test_.db(), job));
  ASSERT_EQ(kept.size(), 1000u);
  EXPECT_EQ(kept.back().step, 1000);
  EXPECT_TRUE(std::isnan(kept[2].loss));
  EXPECT_EQ(kept[2].at, At(2000));
}

TEST_F(JobsTest, ALossThatIsNotFiniteIsKeptAsNone) {
  const int64_t job = test_.AddSweep("one", MakePack(1))[0];
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<ProgressRow> points = {{.step = 1, .loss = inf, .at = At(1)}, {.step = 2, .loss = 2, .at = At(2)}, {.step = 3, .loss = -inf, .at = At(3)}};
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) { return AddProgress(tx, job, points); }));
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) { return AddProgress(tx, job, std::vector<ProgressRow>{{.step = 2, .loss = inf, .at = At(4)}}); }));

  EXPECT_EQ(*test_.db().One<int>("SELECT count(*) FROM progress WHERE loss IS NULL"), 3);

  // As a program of before left it.
  ASSERT_OK(test_.Write([](sql::Transaction& tx) { return tx.Run("UPDATE progress SET loss = 9e999 WHERE step = 1").status(); }));
  ASSERT_OK_AND_ASSIGN(const std::vector<ProgressRow> kept, ProgressOf(test_.db(), job));
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_TRUE(std::isnan(kept[0].loss));
}

}  // namespace
}  // namespace longreach::store
