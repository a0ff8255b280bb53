// Taking over another store's jobs, results, attempts and artifacts.
#include "store/given_up.h"
#include "tests/store/merge_fixture.h"

namespace longreach::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(MergeTest, WhatANewSweepGaveUpItHasGivenUpHereToo) {
  const std::vector<NewJob> pack = MakePack(3);
  const std::vector<int64_t> jobs = theirs_->AddSweep("new", pack);
  ASSERT_OK(theirs_->Write([&](sql::Transaction& tx) -> absl::Status {
    const std::vector<int64_t> named = {jobs[1]};
    RETURN_IF_ERROR(GiveUpJobs(tx, 1, named).status());
    ASSIGN_OR_RETURN(const SweepRow sweep, GetSweep(tx, 1));
    return SettlePart(tx, sweep, {}).status();
  }));

  ASSERT_OK(Merge());

  EXPECT_EQ(OurJob(pack[0]).state, State::kQueued);
  EXPECT_EQ(OurJob(pack[1]).state, State::kCancelled);
  EXPECT_FALSE(OurJob(pack[1]).wanted);
  EXPECT_THAT(ours_.Violations(), ::testing::IsEmpty());
}

TEST_F(MergeTest, AnEmptyStoreTakesOverEverything) {
  const std::vector<NewJob> jobs = MakePack(4);
  const std::vector<int64_t> nums = theirs_->AddSweep("one", jobs, 3);
  const int64_t attempt = theirs_->Start("w2", {nums[0], nums[1]});
  theirs_->AddFile(nums[0], "weights", 100, attempt, "weights of both");
  theirs_->AddFile(nums[1], "weights", 100, attempt, "weights of both");
  theirs_->Succeed(attempt, 0.75);
  const int64_t running = theirs_->Start("w2", {nums[2]}, 50);  // It was stopped in the middle.
  theirs_->AddFile(nums[2], "checkpoint", 60, running, "a checkpoint");

  ASSERT_OK_AND_ASSIGN(MergeReport report, Merge());

  EXPECT_EQ(report.sweeps_added, 1);
  EXPECT_EQ(report.jobs_added, 4);
  EXPECT_EQ(report.results_added, 2);
  EXPECT_EQ(report.artifacts_added, 3);
  EXPECT_EQ(report.results_in_both, 0);
  EXPECT_THAT(report.differences, IsEmpty());
  EXPECT_THAT(ours_.Violations(true), IsEmpty());
  EXPECT_EQ(OurJob(jobs[0]).state, State::kSucceeded);
  EXPECT_EQ(*MeasuredValue(ours_.db(), OurJob(jobs[0]).num, "accuracy", 41, ""), 0.75);
  EXPECT_EQ(OurJob(jobs[2]).state, State::kQueued);
  EXPECT_EQ(OurJob(jobs[2]).checkpoint_step, 60);
  EXPECT_EQ(OurJob(jobs[3]).priority, 3);
  EXPECT_TRUE(OurJob(jobs[3]).wanted);
  ASSERT_OK_AND_ASSIGN(SweepRow sweep, NewestSweep(ours_.db(), "one"));
  EXPECT_EQ(sweep.counts.succeeded, 2);
  EXPECT_EQ(sweep.counts.queued, 2);
  ASSERT_OK_AND_ASSIGN(std::vector<AttemptRow> attempts, AttemptsOfJob(ours_.db(), OurJob(jobs[2]).num));
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_EQ(attempts[0].outcome, Outcome::kLost);
  EXPECT_EQ(attempts[0].worker_name, "name of w2");
  EXPECT_EQ(attempts[0].device_id, "device of w2");
  EXPECT_EQ((*FindWorker(ours_.db(), "w2"))->device_id, "device of w2");
}

TEST_F(MergeTest, AttemptsGetNumbersThatNoneOfOursHas) {
  const std::vector<NewJob> mine = {MakeJob("odds_first", "none", false, 1, 0)};
  ours_.Succeed(ours_.Start("w1", ours_.AddSweep("mine", mine)), 0.25);
  const std::vector<NewJob> jobs = MakePack(1);
  theirs_->Succeed(theirs_->Start("w2", theirs_->AddSweep("one", jobs)), 0.75);

  ASSERT_OK(Merge());

  EXPECT_EQ(OurJob(mine[0]).attempt, 1);
  EXPECT_EQ(OurJob(jobs[0]).attempt, 2);
  EXPECT_EQ((*FindAttempt(ours_.db(), 2))->worker, "w2");
  EXPECT_THAT(ours_.Violations(), IsEmpty());
}

TEST_F(MergeTest, ASweepBringsItsTableUnlessItHasOneHere) {
  const auto give = [](TestStore& test, int64_t sweep, const std::string& table) {
    EXPECT_OK(test.Write([&](sql::Transaction& tx) { return SetSweepTable(tx, sweep, table); }));
  };
  ours_.AddSweep("both", MakePack(1));
  give(ours_, 1, "ours");
  ours_.AddSweep("silent here", MakePack(2), 0, 1);
  ours_.AddSweep("silent there", MakePack(3), 0, 2);
  give(ours_, 3, "kept");
  theirs_->AddSweep("new", MakePack(4));
  give(*theirs_, 1, "with it");
  theirs_->AddSweep("both", MakePack(1), 0, 1);
  give(*theirs_, 2, "theirs");
  theirs_->AddSweep("silent here", MakePack(2), 0, 2);
  give(*theirs_, 3, "known there");
  theirs_->AddSweep("silent there", MakePack(3), 0, 3);

  ASSERT_OK_AND_ASSIGN(const MergeReport report, Merge());

  EXPECT_EQ(report.sweeps_added, 1) << "what both have is not added";

  const auto table = [&](const std::string& sweep) { return *TableOfSweep(ours_.db(), NewestSweep(ours_.db(), sweep)->num); };
  EXPECT_EQ(table("new"), "with it");
  EXPECT_EQ(table("both"), "ours");
  EXPECT_EQ(table("silent here"), "known there");
  EXPECT_EQ(table("silent there"), "kept");
  EXPECT_THAT(ours_.Violations(), IsEmpty());
}

TEST_F(MergeTest, TheSameMergeAgainAddsNothing) {
  const std::vector<int64_t> nums = theirs_->AddSweep("one", MakePack(3));
  const int64_t attempt = theirs_->Start("w2", {nums[0]});
  theirs_->AddFile(nums[0], "weights", 100, attempt, "weights");
  theirs_->Succeed(attempt, 0.75);
  theirs_->AddFile(nums[1], "checkpoint", 60, theirs_->Start("w2", {nums[1]}, 50), "a checkpoint");
  ASSERT_OK(Merge());
  const auto dump = [&] {
    std::string all;
    for (const std::string table : {"jobs", "attempts", "attempt_jobs", "sweeps", "sweep_jobs", "artifacts", "measurements", "workers"}) {
      all += table + *ours_.db().One<std::string>("SELECT count(*) || ' ' FROM " + table);
    }
    return all;
  };
  const std::string before = dump();

  ASSERT_OK_AND_ASSIGN(MergeReport again, Merge());

  EXPECT_EQ(dump(), before);
  EXPECT_EQ(again.sweeps_added, 0);
  EXPECT_EQ(again.jobs_added, 0);
  EXPECT_EQ(again.results_added, 0);
  EXPECT_EQ(again.artifacts_added, 0);
  EXPECT_EQ(again.results_in_both, 1);
  EXPECT_THAT(ours_.Violations(true), IsEmpty());
}

TEST_F(MergeTest, AnAttemptThatRanAtTheLastMergeMaySucceedBeforeTheNext) {
  const std::vector<NewJob> jobs = MakePack(2);
  const std::vector<int64_t> nums = theirs_->AddSweep("one", jobs);
  const int64_t attempt = theirs_->Start("w2", nums);
  theirs_->AddFile(nums[0], "checkpoint", 60, attempt, "a checkpoint");
  ASSERT_OK(Merge());
  EXPECT_EQ(OurJob(jobs[0]).checkpoint_step, 60);

  theirs_ = std::make_unique<TestStore>(folder_ / "theirs.db");
  theirs_->AddFile(nums[0], "weights", 100, attempt, "weights");
  theirs_->Succeed(attempt, 0.75);
  ASSERT_OK(Merge());

  EXPECT_THAT(ours_.Violations(true), IsEmpty());
  for (const NewJob& job : jobs) {
    EXPECT_EQ(OurJob(job).state, State::kSucceeded);
    EXPECT_EQ((*FindAttempt(ours_.db(), *OurJob(job).attempt))->outcome, Outcome::kSucceeded);
  }
  const auto attempts = [&] { return *ours_.db().One<int64_t>("SELECT count(*) FROM attempts"); };
  const int64_t before = attempts();
  ASSERT_OK(Merge());
  EXPECT_EQ(attempts(), before);
}

TEST_F(MergeTest, AResultOfAnAttemptThatRunsInACopyOfTheStoreIsNotGivenToThatAttempt) {
  const std::vector<NewJob> jobs = MakePack(2);
  const int64_t attempt = theirs_->Start("w2", theirs_->AddSweep("one", jobs));
  ASSERT_OK(Merge());
  // As it is in a copy of the file, whose scheduler has found it running.
  ASSERT_OK(ours_.db().Execute("UPDATE attempts SET outcome = NULL, ended_at = NULL, detail = ''; UPDATE jobs SET state = 'leased', attempt = 1"));
  theirs_ = std::make_unique<TestStore>(folder_ / "theirs.db");
  theirs_->Succeed(attempt, 0.75);

  ASSERT_OK_AND_ASSIGN(const MergeReport report, Merge());

  EXPECT_EQ(report.dropped.size(), 2u);
  EXPECT_EQ((*FindAttempt(ours_.db(), *OurJob(jobs[0]).attempt))->outcome, Outcome::kSucceeded);
  EXPECT_NE(OurJob(jobs[0]).attempt, 1);
}

TEST_F(MergeTest, AResultThatBothHaveStaysAndADifferenceIsReported) {
  const std::vector<NewJob> jobs = MakePack(2);
  ours_.AddSweep("one", jobs);
  ours_.Succeed(ours_.Start("w1", {1}), 0.25);
  ours_.Succeed(ours_.Start("w1", {2}), 0.5);
  theirs_->AddSweep("one", jobs);
  theirs_->Succeed(theirs_->Start("w2", {1, 2}), 0.5);

  ASSERT_OK_AND_ASSIGN(MergeReport report, Merge());

  EXPECT_EQ(report.results_in_both, 2);
  EXPECT_EQ(report.results_added, 0);
  EXPECT_THAT(report.differences,
              ElementsAre("job " + jobs[0].id.substr(0, 8) + " (even_pairs, rope, learning rate 0.001, seed 0): accuracy over all "
                          "lengths is 0.25 here and 0.5 there, and 1 more values differ"));
  EXPECT_EQ(*MeasuredValue(ours_.db(), 1, "accuracy", 0, ""), 0.25);
  EXPECT_THAT(ours_.Violations(), IsEmpty());
}

TEST_F(MergeTest, AJobUnfinishedHereGetsTheResultFromThereWhateverItsStateWas) {
  const std::vector<NewJob> jobs = MakePack(5);
  ours_.AddSweep("one", jobs);  // 1 queued; 2, 3 leased together; 4 leased alone; 5 failed.
  const int64_t pair = ours_.Start("w1", {2, 3});
  const int64_t alone = ours_.Start("w1", {4});
  const int64_t bad = ours_.Start("w1", {5});
  ours_.AddFile(1, "checkpoint", 40, alone, "old");
  ASSERT_OK(ours_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(FailJob(tx, 5, bad, {.failures = 3, .failure = "crashed"}));
    return EndAttempt(tx, bad, Outcome::kFailed, "crashed", "", At(30));
  }));
  theirs_->AddSweep("one", jobs);
  theirs_->Succeed(theirs_->Start("w2", {1, 2, 4, 5}), 0.75);

  ASSERT_OK_AND_ASSIGN(MergeReport report, Merge());

  EXPECT_EQ(report.results_added, 4);
  for (const size_t i : {0, 1, 3, 4}) EXPECT_EQ(OurJob(jobs[i]).state, State::kSucceeded) << i;
  EXPECT_EQ(OurJob(jobs[2]).state, State::kLeased) << "the other member goes on";
  EXPECT_EQ(OurJob(jobs[2]).attempt, pair);
  ASSERT_EQ(report.dropped.size(), 2u);
  EXPECT_EQ(report.dropped[0].job, 2);
  EXPECT_EQ(report.dropped[0].attempt, pair);
  EXPECT_EQ(report.dropped[1].attempt, alone);
  ASSERT_OK_AND_ASSIGN(std::vector<JobRow> left, JobsOfAttempt(ours_.db(), pair));
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].id, jobs[2].id);
  ASSERT_OK(ours_.Write([&](sql::Transaction& tx) { return EndAttempt(tx, alone, Outcome::kDropped, "", "", At(90)); }));
  EXPECT_EQ(ours_.SweepCounts(1).succeeded, 4);
  EXPECT_THAT(ours_.Violations(), IsEmpty());
}

TEST_F(MergeTest, TheLaterCheckpointCountsUnlessTheJobRunsHere) {
  const std::vector<NewJob> jobs = MakePack(3);
  ours_.AddSweep("one", jobs);
  theirs_->AddSweep("one", jobs);
  const auto begin = [](TestStore& test, const std::string& worker, int64_t job, int step, const std::string& content) {
    const int64_t attempt = test.Start(worker, {job}, 100 + job);
    test.AddFile(job, "checkpoint", step, attempt, content);
    return attempt;
  };
  const auto back = [](TestStore& test, int64_t job, int64_t attempt) {
    EXPECT_OK(test.Write([&](sql::Transaction& tx) -> absl::Status {
      RETURN_IF_ERROR(RequeueJob(tx, job, attempt, {}));
      return EndAttempt(tx, attempt, Outcome::kGivenBack, "", "", At(200));
    }));
  };
  back(ours_, 1, begin(ours_, "w1", 1, 10, "ours 1"));
  back(ours_, 2, begin(ours_, "w1", 2, 90, "ours 2"));
  begin(ours_, "w1", 3, 10, "ours 3");
  for (const int64_t job : {1, 2, 3}) back(*theirs_, job, begin(*theirs_, "w2", job, 50, "theirs " + std::to_string(job)));

  ASSERT_OK(Merge());

  EXPECT_EQ(OurJob(jobs[0]).checkpoint_step, 50);
  EXPECT_EQ(OurJob(jobs[1]).checkpoint_step, 90);
  EXPECT_EQ(OurJob(jobs[2]).checkpoint_step, 10);
  EXPECT_THAT(ours_.Violations(true), IsEmpty());
  ASSERT_OK(RemoveUnusedFiles(ours_.db(), ours_.store->artifacts(), 100));
  EXPECT_FALSE(std::filesystem::exists(ours_.store->artifacts().PathOf(Sha256Of("theirs 2")))) << "it was copied for nothing";
  EXPECT_TRUE(std::filesystem::exists(ours_.store->artifacts().PathOf(Sha256Of("theirs 1"))));
}

TEST_F(MergeTest, OfTheCheckpointsOfBothTheFurthestStayWhicheverAttemptIsTheLater) {
  const std::vector<NewJob> jobs = MakePack(1);
  ours_.AddSweep("one", jobs);
  theirs_->AddSweep("one", jobs);
  const auto train = [](TestStore& test, const std::string& worker, std::initializer_list<int> steps) {
    const int64_t attempt = test.Start(worker, {1}, 100);
    for (const int step : steps) test.AddFile(1, "checkpoint", step, attempt, worker + " " + std::to_string(step));
    EXPECT_OK(test.Write([&](sql::Transaction& tx) -> absl::Status {
      RETURN_IF_ERROR(RequeueJob(tx, 1, attempt, {}));
      return EndAttempt(tx, attempt, Outcome::kGivenBack, "", "", At(200));
    }));
  };
  train(ours_, "w1", {35, 45});
  train(*theirs_, "w2", {40, 50});

  ASSERT_OK(Merge());

  ASSERT_OK_AND_ASSIGN(const std::vector<ArtifactRow> kept, CheckpointsOf(ours_.db(), OurJob(jobs[0]).num));
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].step, 50);
  EXPECT_EQ(kept[1].step, 45);
  EXPECT_EQ(OurJob(jobs[0]).checkpoint_step, 50);
  EXPECT_THAT(ours_.Violations(true), IsEmpty());
}

TEST_F(MergeTest, AResultFromThereBringsItsOwnWeights) {
  const std::vector<NewJob> jobs = MakePack(1);
  ours_.AddSweep("one", jobs);
  theirs_->AddSweep("one", jobs);
  // Attempts here have the higher numbers.
  for (int i = 0; i < 3; ++i) {
    const int64_t lost = ours_.Start("w1", {1}, 100 + i);
    ours_.AddFile(1, "weights", 100, lost, "weights without a result");
    ASSERT_OK(ours_.Write([&](sql::Transaction& tx) -> absl::Status {
      RETURN_IF_ERROR(RequeueJob(tx, 1, lost, {}));
      return EndAttempt(tx, lost, Outcome::kLost, "", "", At(200));
    }));
  }
  const int64_t attempt = theirs_->Start("w2", {1});
  theirs_->AddFile(1, "weights", 100, attempt, "weights of the result");
  theirs_->Succeed(attempt, 0.75);

  ASSERT_OK(Merge());

  EXPECT_EQ((*ArtifactOfResult(ours_.db(), 1, "weights"))->sha256, Sha256Of("weights of the result"));
  EXPECT_EQ(ArtifactsOf(ours_.db(), 1)->size(), 1u);
  EXPECT_THAT(ours_.Violations(true), IsEmpty());
}

TEST_F(MergeTest, AResultFromThereReleasesWhatWaitsForItHere) {
  std::vector<NewJob> jobs = MakePack(4);
  jobs[1].inputs = {{.name = "weights", .source = jobs[0].id, .artifact = "weights", .metric = ""}};
  jobs[3].inputs = {{.name = "weights", .source = jobs[2].id, .artifact = "weights", .metric = ""}};
  ours_.AddSweep("one", jobs);
  theirs_->AddSweep("sources", {jobs[0], jobs[2]});
  theirs_->Succeed(theirs_->Start("w2", {1}), 0.75);
  const int64_t attempt = theirs_->Start("w2", {2}, 50);
  ASSERT_OK(theirs_->Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(CompleteJob(tx, 2, attempt, {.diverged = true, .diverged_at = 3}));
    return EndAttempt(tx, attempt, Outcome::kSucceeded, "", "", At(60));
  }));

  ASSERT_OK(Merge());

  EXPECT_EQ(OurJob(jobs[1]).state, State::kQueued);
  EXPECT_EQ(OurJob(jobs[3]).state, State::kFailed) << "a diverged job whose weights are not there either";
  EXPECT_EQ(OurJob(jobs[3]).failure, "input failed: weights (job " + jobs[2].id.substr(0, 8) + " diverged)");
  EXPECT_THAT(ours_.Violations(), IsEmpty());
}

TEST_F(MergeTest, WhatWaitsForAJobThatCannotBeginNamesThatItsInputDiverged) {
  std::vector<NewJob> jobs = MakePack(3);
  jobs[1].inputs = {{.name = "weights", .source = jobs[0].id, .artifact = "weights", .metric = ""}};
  jobs[2].inputs = {{.name = "weights", .source = jobs[1].id, .artifact = "weights", .metric = ""}};
  ours_.AddSweep("one", jobs);
  theirs_->AddSweep("source", {jobs[0]});
  const int64_t attempt = theirs_->Start("w2", {1}, 50);
  ASSERT_OK(theirs_->Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(CompleteJob(tx, 1, attempt, {.diverged = true, .diverged_at = 3}));
    return EndAttempt(tx, attempt, Outcome::kSucceeded, "", "", At(60));
  }));

  ASSERT_OK(Merge());

  EXPECT_EQ(OurJob(jobs[1]).failure, "input failed: weights (job " + jobs[0].id.substr(0, 8) + " diverged)");
  EXPECT_EQ(OurJob(jobs[2]).failure, "input failed: weights (job " + jobs[1].id.substr(0, 8) + ", whose input diverged)");
  EXPECT_THAT(ours_.Violations(), IsEmpty());
}

TEST_F(MergeTest, WhatNoRetryBringsIsTheReasonBeforeAnInputThatOnlyFailed) {
  std::vector<NewJob> jobs = MakePack(3);
  jobs[2].inputs = {{.name = "a", .source = jobs[0].id, .artifact = "weights", .metric = ""}, {.name = "b", .source = jobs[1].id, .artifact = "weights", .metric = ""}};
  ours_.AddSweep("one", jobs);
  ASSERT_OK(ours_.Write([](sql::Transaction& tx) { return FailUnstartedJob(tx, 1, "out of memory"); }));
  theirs_->AddSweep("source", {jobs[1]});
  const int64_t attempt = theirs_->Start("w2", {1}, 50);
  ASSERT_OK(theirs_->Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(CompleteJob(tx, 1, attempt, {.diverged = true, .diverged_at = 3}));
    return EndAttempt(tx, attempt, Outcome::kSucceeded, "", "", At(60));
  }));

  ASSERT_OK(Merge());

  EXPECT_EQ(OurJob(jobs[2]).failure, "input failed: b (job " + jobs[1].id.substr(0, 8) + " diverged)");
}

TEST_F(MergeTest, JobsWithInputsComeOverWithThem) {
  std::vector<NewJob> jobs = MakePack(3);
  jobs[1].inputs = {{.name = "weights", .source = jobs[0].id, .artifact = "weights", .metric = ""}};
  jobs[2].inputs = {{.name = "scale", .source = jobs[1].id, .artifact = "", .metric = "accuracy"}};
  theirs_->AddSweep("one", jobs);
  theirs_->Succeed(theirs_->Start("w2", {1}), 0.75);
  ASSERT_OK(theirs_->Write([](sql::Transaction& tx) { return ReleaseJob(tx, 2); }));

  ASSERT_OK(Merge());

  EXPECT_EQ(OurJob(jobs[1]).state, State::kQueued);
  EXPECT_EQ(OurJob(jobs[2]).state, State::kWaiting);
  ASSERT_OK_AND_ASSIGN(std::vector<JobInputRow> inputs, InputsOf(ours_.db(), OurJob(jobs[2]).num));
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_EQ(inputs[0].source_id, jobs[1].id);
  EXPECT_EQ(inputs[0].metric, "accuracy");
  EXPECT_THAT(ours_.Violations(), IsEmpty());
}

// Weights are what one of the two runs made: a number from the other one would be traced to those that stay.
TEST_F(MergeTest, WhatWasMadeThereOfAResultThatDoesNotStayIsReportedAndNotGoneOnWith) {
  std::vector<NewJob> jobs = MakePack(4);
  for (const size_t i : {1, 2}) jobs[i].inputs = {{.name = "weights", .source = jobs[0].id, .artifact = "weights", .metric = ""}};
  jobs[3].inputs = {{.name = "weights", .source = jobs[1].id, .artifact = "weights", .metric = ""}};
  ours_.AddSweep("one", jobs);
  ours_.Succeed(ours_.Start("w1", {1}), 0.25);
  theirs_->AddSweep("one", jobs);
  theirs_->Succeed(theirs_->Start("w2", {1}), 0.5);
  for (const int64_t job : {2, 3}) ASSERT_OK(theirs_->Write([&](sql::Transaction& tx) { return ReleaseJob(tx, job); }));
  theirs_->Succeed(theirs_->Start("w2", {2}, 30), 0.75, 40);
  theirs_->AddFile(3, "checkpoint", 50, theirs_->Start("w2", {3}, 50), "of the weights there");
  ASSERT_OK(theirs_->Write([](sql::Transaction& tx) { return ReleaseJob(tx, 4); }));
  theirs_->Succeed(theirs_->Start("w2", {4}, 60), 0.75, 70);

  ASSERT_OK_AND_ASSIGN(MergeReport report, Merge());

  const auto named = [&jobs](size_t i) {
    return "job " + jobs[i].id.substr(0, 8) + " (even_pairs, rope, learning rate 0.001, seed " + std::to_string(i) + "): ";
  };
  // The fourth job was made of the second one, which came with it.
  EXPECT_THAT(report.differences,
              ElementsAre(named(0) + "accuracy over all lengths is 0.25 here and 0.5 there, and 1 more values differ",
                          named(1) + "its result comes from there, where its input weights (job " + jobs[0].id.substr(0, 8) + ") has another result than here"));
  EXPECT_EQ(report.results_added, 2);
  EXPECT_EQ(OurJob(jobs[2]).state, State::kQueued);
  EXPECT_EQ(OurJob(jobs[2]).checkpoint_step, 0) << "it begins anew, with our weights";
  EXPECT_THAT(ours_.Violations(), IsEmpty());
}

TEST_F(MergeTest, OtherBytesUnderADataSetsNameAreRefusedAndNothingIsWritten) {
  const auto bind = [](TestStore& test, const std::string& hash) {
    EXPECT_OK(test.Write([&](sql::Transaction& tx) { return BindDataSet(tx, {.name = "enwik8", .sha256 = hash}).status(); }));
  };
  bind(ours_, "first");
  bind(*theirs_, "other");
  theirs_->AddSweep("one", MakePack(2));

  const absl::Status status = Merge().status();

  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'enwik8'"));
  EXPECT_EQ(*ours_.db().One<int>("SELECT count(*) FROM jobs"), 0);
  EXPECT_EQ(*ours_.db().One<int>("SELECT count(*) FROM workers"), 1);
}

TEST_F(MergeTest, FilesComeFromTheFolderThatTheOtherStoreWasGiven) {
  theirs_.reset();
  std::filesystem::remove_all(folder_ / "theirs.db.artifacts");
  ASSERT_OK(Store::Open(folder_ / "theirs.db", {.artifacts = folder_ / "big"}).status());
  theirs_ = std::make_unique<TestStore>(folder_ / "theirs.db");
  const std::vector<NewJob> jobs = MakePack(1);
  theirs_->AddSweep("one", jobs);
  const int64_t attempt = theirs_->Start("w2", {1});
  theirs_->AddFile(1, "weights", 100, attempt, "the weights");
  theirs_->Succeed(attempt, 0.75);
  theirs_.reset();
  std::filesystem::rename(folder_ / "big", folder_ / "away");

  const absl::Status refused = Merge().status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << "not without its files, in silence";
  EXPECT_THAT(std::string(refused.message()), ::testing::HasSubstr("is its disk mounted"));
  std::filesystem::rename(folder_ / "away", folder_ / "big");
  const absl::StatusOr<MergeReport> merged = Merge();
  ASSERT_OK(merged.status());
  EXPECT_EQ(merged->lacking, 0);
  EXPECT_EQ(merged->artifacts_added, 1);
  EXPECT_THAT(ours_.store->artifacts().List(), ::testing::ElementsAre(Sha256Of("the weights")));
}

// It was put where the store was, which uses the folder now.
TEST_F(MergeTest, FilesComeFromAFolderThatACopyOfTheOtherStoreHasTakenOver) {
  theirs_.reset();
  ASSERT_OK(Store::Open(folder_ / "theirs.db", {.artifacts = folder_ / "big"}).status());
  theirs_ = std::make_unique<TestStore>(folder_ / "theirs.db");
  theirs_->AddSweep("one", MakePack(1));
  const int64_t attempt = theirs_->Start("w2", {1});
  theirs_->AddFile(1, "weights", 100, attempt, "the weights");
  theirs_->Succeed(attempt, 0.75);
  theirs_.reset();
  std::filesystem::copy(folder_ / "theirs.db", folder_ / "restored.db");
  std::filesystem::rename(folder_ / "theirs.db", folder_ / "broken.db");
  ASSERT_OK(Store::Open(folder_ / "restored.db", {.artifacts = folder_ / "big"}).status());
  std::filesystem::rename(folder_ / "broken.db", folder_ / "theirs.db");

  const absl::StatusOr<MergeReport> merged = Merge();

  ASSERT_OK(merged.status());
  EXPECT_EQ(merged->lacking, 0);
}

}  // namespace
}  // namespace longreach::store
