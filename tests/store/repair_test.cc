// What contradicts the rest of a store is put right, what only a guess could mend is left, and nothing is done twice.
#include "store/repair.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <sqlite3.h>

#include "store/reading.h"
#include "tests/store/fixture.h"

namespace longreach::store {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using longreach::testing::TemporaryFolder;

// One job in each state: 1 succeeded, 2 diverged, 3 leased, 4 queued with a checkpoint, 5 failed, 6 waiting (for 4), 7 cancelled.
class RepairTest : public ::testing::Test {
 protected:
  RepairTest() : test_(folder_ / "s.db") {
    test_.AddWorker("w1");
    jobs_ = MakePack(6);
    jobs_[5].inputs = {{.name = "weights", .source = jobs_[3].id, .artifact = "weights", .metric = ""}};
    const std::vector<int64_t> nums = test_.AddSweep("one", jobs_, 4);
    const int64_t seventh = test_.AddSweep("two", {MakeJob("odds_first", "none", false, 1, 0)}, 0, 1)[0];
    const int64_t done = test_.Start("w1", {nums[0], nums[1]}, 10);
    EXPECT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
      RETURN_IF_ERROR(CompleteJob(tx, nums[0], done, {.measurements = {{"accuracy", 0, "", 0.5}}}));
      RETURN_IF_ERROR(CompleteJob(tx, nums[1], done, {.diverged = true, .diverged_at = 9}));
      return EndAttempt(tx, done, Outcome::kSucceeded, "", "libtorch", At(20));
    }));
    test_.AddFile(nums[0], "weights", 100, done, weights_);
    test_.Start("w1", {nums[2]}, 30);  // Attempt 2.
    const int64_t back = test_.Start("w1", {nums[3], nums[4]}, 40);
    test_.AddFile(nums[3], "checkpoint", 60, back, checkpoint_);
    test_.AddFile(nums[3], "log", 0, back, "the log");
    EXPECT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
      RETURN_IF_ERROR(RequeueJob(tx, nums[3], back, {.failures = 1, .split_group = -back}));
      RETURN_IF_ERROR(FailJob(tx, nums[4], back, {.failures = 3, .failure = "crashed"}));
      RETURN_IF_ERROR(EndAttempt(tx, back, Outcome::kFailed, "crashed", "", At(50)));
      RETURN_IF_ERROR(SetSweepState(tx, 2, SweepState::kCancelled));
      RETURN_IF_ERROR(RefreshWanted(tx, 2));
      return CancelUnwantedJobs(tx, 2).status();
    }));
    EXPECT_EQ(test_.Job(seventh).state, State::kCancelled);
    EXPECT_THAT(test_.Violations(true), IsEmpty());
  }

  // What was written past all rules of the schema, as a bug or a damaged disk would.
  void Plant(const std::string& sql) {
    EXPECT_OK(test_.db().Execute("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON"));
    EXPECT_OK(test_.db().Execute(sql));
    EXPECT_OK(test_.db().Execute("PRAGMA ignore_check_constraints = OFF; PRAGMA foreign_keys = ON"));
    EXPECT_THAT(test_.Violations(true), ::testing::Not(IsEmpty())) << sql;
  }
  Mended MendIt() {
    const absl::StatusOr<CheckReport> found = Check(test_.db(), test_.store->artifacts(), true);
    EXPECT_OK(found);
    Mended mended;
    EXPECT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
      ASSIGN_OR_RETURN(mended, Mend(tx, *found, test_.store->artifacts(), At(100)));
      return absl::OkStatus();
    }));
    return mended;
  }
  template <typename T>
  T Ask(const std::string& query) {
    absl::StatusOr<T> value = test_.db().One<T>(query);
    EXPECT_OK(value);
    return value.ok() ? *value : T();
  }

  TemporaryFolder folder_;
  TestStore test_;
  std::vector<NewJob> jobs_;
  const std::string weights_ = "the weights";
  const std::string checkpoint_ = "the checkpoint";
};

TEST_F(RepairTest, ASoundStoreIsLeftAsItIs) {
  const Mended mended = MendIt();

  EXPECT_THAT(mended.done, IsEmpty());
  EXPECT_FALSE(mended.indexes);
}

struct Planted {
  const char* sql;
  const char* done;
};
class RepairOfTest : public RepairTest, public ::testing::WithParamInterface<Planted> {};

TEST_P(RepairOfTest, WhatFollowsFromTheRestIsPutRightOnce) {
  Plant(GetParam().sql);

  const Mended mended = MendIt();

  EXPECT_THAT(mended.done, Contains(HasSubstr(GetParam().done)));
  EXPECT_THAT(test_.Violations(true), IsEmpty());
  EXPECT_THAT(MendIt().done, IsEmpty()) << "a second time";
}

INSTANTIATE_TEST_SUITE_P(
    Planted, RepairOfTest,
    ::testing::Values(
        Planted{"UPDATE jobs SET attempt = 2 WHERE num = 1", "had the result of attempt 2: the one that succeeded with it is 1"},
        Planted{"UPDATE jobs SET state = 'failed', failure = 'x', attempt = NULL WHERE num = 1", "was failed and had values: they are the result of attempt 1 again"},
        Planted{"INSERT INTO measurements VALUES (4, 'accuracy', 0, '', 1.0)", "is queued and had values of no result that was accepted, which are in the backup alone: 1"},
        Planted{"INSERT INTO measurements VALUES (2, 'accuracy', 0, '', 1.0)", "runs again: its result was not whole; values of it that are in the backup alone: 1"},
        Planted{"UPDATE measurements SET value = 9e999", "runs again: its result was not whole"},
        Planted{"UPDATE attempts SET ended_at = started_at, outcome = 'lost' WHERE id = 2", "is not leased any more: attempt 2 has ended or does not have it"},
        Planted{"UPDATE attempt_jobs SET dropped = 1 WHERE attempt = 2", "attempt 2 has ended, as it has no job"},
        Planted{"UPDATE jobs SET state = 'queued', attempt = NULL WHERE num = 3", "attempt 2 is rid of jobs that are not leased to it: 1"},
        Planted{"UPDATE sweeps SET jobs_queued = 7 WHERE num = 1", "was counted anew: it has 6 jobs, and had counted 12"},
        Planted{"UPDATE jobs SET priority = 3 WHERE num = 4", "is wanted, with priority 4"},
        Planted{"UPDATE jobs SET wanted = 1 WHERE num = 7", "is not wanted, with priority 0"},
        Planted{"UPDATE jobs SET state = 'cancelled' WHERE num = 4", "is cancelled no more, as a live sweep wants it"},
        Planted{"UPDATE jobs SET state = 'queued' WHERE num = 6", "waits: it was queued, and not all of its inputs are there"},
        Planted{"UPDATE jobs SET state = 'leased', attempt = 2 WHERE num = 6", "is not leased any more"},
        Planted{"UPDATE jobs SET state = 'failed', failure = 'x' WHERE num = 4", "has failed with what it waited for: input failed: weights (job "},
        Planted{"UPDATE jobs SET failure = '' WHERE num = 5", "has failed, and why is not known any more"},
        Planted{"UPDATE jobs SET checkpoint_step = 61 WHERE num = 4", "has its checkpoint at step 60, and not at 61"},
        Planted{"UPDATE jobs SET failures = 3 WHERE num = 4", "is tried afresh: it was queued after 3 failures and 0 lost workers"},
        Planted{"INSERT INTO given_up VALUES (2, 4)", "is not given up by sweeps that do not have it"},
        Planted{"UPDATE artifacts SET attempt = 2 WHERE kind = 'checkpoint'", "checkpoints of attempts that did not have it are forgotten: 1"},
        Planted{"INSERT INTO artifacts SELECT job, kind, step - 1, attempt, member, sha256, bytes, created_at FROM artifacts WHERE kind = 'checkpoint' "
                "UNION ALL SELECT job, kind, step - 2, attempt, member, sha256, bytes, created_at FROM artifacts WHERE kind = 'checkpoint'",
                "had 3 checkpoints, of which the newest 2 stay"},
        Planted{"INSERT INTO unused_files SELECT sha256 FROM artifacts WHERE kind = 'weights'", "1 file that rows name is not to be removed any more"},
        Planted{"UPDATE artifacts SET bytes = 5 WHERE kind = 'weights'", "has 11 bytes, as its file has, and not 5"}));

TEST_F(RepairTest, AJobWhoseResultIsNotWholeRunsAgainAndWhatNeedsItWaits) {
  // Job 4 has its weights, and job 6, which begins with them, runs.
  const int64_t fourth = test_.Start("w1", {4}, 60);
  EXPECT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(CompleteJob(tx, 4, fourth, {.measurements = {{"accuracy", 0, "", 0.5}, {"accuracy", 41, "", 0.5}}}));
    RETURN_IF_ERROR(EndAttempt(tx, fourth, Outcome::kSucceeded, "", "libtorch", At(70)));
    return ReleaseJob(tx, 6);
  }));
  const int64_t sixth = test_.Start("w1", {6}, 80);
  Plant("DELETE FROM measurements WHERE job = 4 AND length = 0");

  MendIt();

  EXPECT_EQ(test_.Job(4).state, State::kQueued);
  EXPECT_TRUE(test_.Job(4).wanted);
  EXPECT_EQ(test_.Job(4).priority, 4);
  EXPECT_EQ(Ask<int>("SELECT count(*) FROM measurements WHERE job = 4"), 0);
  EXPECT_EQ(test_.Job(6).state, State::kWaiting);
  EXPECT_EQ(Ask<std::string>("SELECT outcome FROM attempts WHERE id = " + std::to_string(sixth)), "dropped");
  EXPECT_EQ(Ask<double>("SELECT value FROM measurements WHERE job = 1"), 0.5) << "no other's";
  EXPECT_THAT(test_.Violations(true), IsEmpty());
  // It can have a result again.
  test_.Succeed(test_.Start("w1", {4}, 120), 0.25, 130);
  EXPECT_EQ(Ask<double>("SELECT value FROM measurements WHERE job = 4 AND length = 0"), 0.25);
}

// They are true, and of other weights than will be there.
TEST_F(RepairTest, WhatWasMadeOfAResultThatIsNotWholeStaysAndIsCounted) {
  test_.Succeed(test_.Start("w1", {4}, 60), 0.5, 70);
  EXPECT_OK(test_.Write([&](sql::Transaction& tx) { return ReleaseJob(tx, 6); }));
  test_.Succeed(test_.Start("w1", {6}, 80), 0.75, 90);
  EXPECT_THAT(*MembersMadeOfAnotherRun(test_.db(), 1), IsEmpty());
  Plant("DELETE FROM measurements WHERE job = 4 AND length = 0");

  EXPECT_THAT(MendIt().done, Contains(HasSubstr("runs again: its result was not whole; values of it that are in the backup alone: 1; results that were made of it, and stay: 1")));

  EXPECT_EQ(test_.Job(6).state, State::kSucceeded);
  EXPECT_THAT(*MembersMadeOfAnotherRun(test_.db(), 1), ElementsAre(jobs_[5].id));
  test_.Succeed(test_.Start("w1", {4}, 120), 0.5, 130);
  EXPECT_THAT(*MembersMadeOfAnotherRun(test_.db(), 1), ElementsAre(jobs_[5].id)) << "that one was not there yet";
  EXPECT_THAT(test_.Violations(true), IsEmpty());
}

// Its checkpoint is of weights that may be others the next time.
TEST_F(RepairTest, WhatHasBegunWithAResultThatIsNotWholeBeginsAnew) {
  test_.Succeed(test_.Start("w1", {4}, 60), 0.5, 70);
  EXPECT_OK(test_.Write([&](sql::Transaction& tx) { return ReleaseJob(tx, 6); }));
  const int64_t begun = test_.Start("w1", {6}, 80);
  test_.AddFile(6, "checkpoint", 40, begun, "of step 40");
  Plant("DELETE FROM measurements WHERE job = 4 AND length = 0");

  EXPECT_THAT(MendIt().done, Contains(HasSubstr("; jobs that had begun with it, and begin anew: 1")));

  EXPECT_EQ(test_.Job(6).state, State::kWaiting);
  EXPECT_EQ(test_.Job(6).checkpoint_step, 0);
  EXPECT_EQ(Ask<int>("SELECT count(*) FROM artifacts WHERE job = 6 AND kind = 'checkpoint'"), 0);
  EXPECT_THAT(test_.Violations(true), IsEmpty());
}

TEST_F(RepairTest, AJobThatNoSweepWantsDoesNotRunAgain) {
  EXPECT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(SetSweepState(tx, 1, SweepState::kCancelled));
    RETURN_IF_ERROR(RefreshWanted(tx, 1));
    ASSIGN_OR_RETURN(const std::vector<DroppedJob> dropped, CancelUnwantedJobs(tx, 1));
    for (const DroppedJob& job : dropped) RETURN_IF_ERROR(tx.Run("UPDATE attempt_jobs SET dropped = 1 WHERE job = ? AND attempt = ?", job.job, job.attempt).status());
    return EndAttempt(tx, 2, Outcome::kDropped, "", "", At(60));
  }));
  Plant("DELETE FROM measurements");

  MendIt();

  EXPECT_EQ(test_.Job(1).state, State::kCancelled);
  EXPECT_THAT(test_.Violations(true), IsEmpty());
}

TEST_F(RepairTest, AJobThatIsLeasedToNobodyGoesOnWithThePackThatMadeItsCheckpoint) {
  test_.AddFile(3, "checkpoint", 40, 2, "of step 40");
  Plant("UPDATE attempts SET ended_at = started_at, outcome = 'lost' WHERE id = 2");

  MendIt();

  EXPECT_EQ(test_.Job(3).state, State::kQueued);
  EXPECT_EQ(test_.Job(3).split_group, -2);
  EXPECT_THAT(test_.Violations(true), IsEmpty());
}

// Nobody can say which of them is wrong, or what was.
TEST_F(RepairTest, WhatOnlyAGuessCouldMendIsLeft) {
  for (const char* planted : {"INSERT INTO measurements VALUES (1, 'accuracy', 41, '', 0.5), (1, 'accuracy', 42, '', 0.4)", "UPDATE attempts SET outcome = 'lost' WHERE id = 1",
                              "UPDATE jobs SET experiment = 'llama' WHERE num = 1", "DELETE FROM job_inputs", "UPDATE jobs SET spec = spec || 'x' WHERE num = 1"}) {
    Plant(planted);
    const std::vector<std::string> before = test_.Violations(true);
    const int values = Ask<int>("SELECT count(*) FROM measurements");

    EXPECT_THAT(MendIt().done, IsEmpty()) << planted;

    EXPECT_EQ(test_.Violations(true), before) << planted;
    EXPECT_EQ(Ask<int>("SELECT count(*) FROM measurements"), values) << planted;
    EXPECT_EQ(test_.Job(1).state, State::kSucceeded) << planted;
  }
}

// As a merge brings it, with a job whose result here is another one's.
TEST_F(RepairTest, AResultIsNotGivenToAnAttemptThatOnlyMayHaveMeasuredIt) {
  Plant("INSERT INTO attempts(id, worker, incarnation, started_at, ended_at, outcome, build, device, threads, members) VALUES (9, 'w1', 7, 1, 2, 'succeeded', 'b', 'cpu', 1, 1); "
        "INSERT INTO attempt_jobs(attempt, member, job) VALUES (9, 0, 1); DELETE FROM attempt_jobs WHERE attempt = 1 AND job = 1");

  EXPECT_THAT(MendIt().done, IsEmpty());

  EXPECT_EQ(test_.Job(1).attempt, 1);
  // Nor are values, of which either may be the source.
  Plant("INSERT INTO attempt_jobs(attempt, member, job) VALUES (1, 0, 1); UPDATE jobs SET state = 'queued', attempt = NULL WHERE num = 1");

  EXPECT_THAT(MendIt().done, IsEmpty());

  EXPECT_EQ(test_.Job(1).state, State::kQueued);
  EXPECT_EQ(Ask<int>("SELECT count(*) FROM measurements WHERE job = 1"), 1);
}

TEST_F(RepairTest, ALostCheckpointIsForgottenAndItsFileIsNobodysToRemove) {
  const ArtifactFiles& files = test_.store->artifacts();
  WriteFile(files.PathOf(Sha256Of(checkpoint_)), "the chEckpoint");
  std::filesystem::remove(files.PathOf(Sha256Of("the log")));
  ASSERT_EQ(test_.Violations(true).size(), 2u);

  const Mended mended = MendIt();

  EXPECT_THAT(mended.done, ::testing::UnorderedElementsAre(HasSubstr("jobs go on from the checkpoint before, or begin anew"), HasSubstr("log ")));
  EXPECT_EQ(test_.Job(4).checkpoint_step, 0);
  EXPECT_EQ(test_.Job(4).split_group, 0) << "it begins with whom there is";
  EXPECT_THAT(test_.Violations(true), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const CheckReport report, Check(test_.db(), files, true));
  ASSERT_EQ(report.unnamed.size(), 1u);
  EXPECT_EQ(report.unnamed[0].sha256, Sha256Of(checkpoint_));
  EXPECT_EQ(Ask<int>("SELECT count(*) FROM unused_files"), 0);
}

TEST_F(RepairTest, AFileThatWasToBeRemovedWhileARowNamedItStaysWithoutThatRow) {
  const ArtifactFiles& files = test_.store->artifacts();
  Plant("INSERT INTO unused_files VALUES ('" + Sha256Of(checkpoint_) + "')");
  WriteFile(files.PathOf(Sha256Of(checkpoint_)), "the chEckpoint");

  EXPECT_THAT(MendIt().done, Contains(HasSubstr("is forgotten, as its file is lost")));

  EXPECT_EQ(Ask<int>("SELECT count(*) FROM artifacts WHERE kind = 'checkpoint'"), 0);
  EXPECT_EQ(Ask<int>("SELECT count(*) FROM unused_files"), 0);
}

TEST_F(RepairTest, OfManyThingsOfAKindTheFirstAreToldAndTheOthersCounted) {
  Mended mended;
  LinesOfAKind lines;
  for (int line = 0; line < kMostMended + 7; ++line) lines.Add("line " + std::to_string(line));

  std::move(lines).Tell(mended);

  ASSERT_EQ(mended.done.size(), static_cast<size_t>(kMostMended) + 1);
  EXPECT_EQ(mended.done[kMostMended - 1], "line 999");
  EXPECT_EQ(mended.done.back(), "... and 7 more of this kind");
}

TEST_F(RepairTest, WeightsWhoseFileIsLostAreLeftForAMerge) {
  std::filesystem::remove(test_.store->artifacts().PathOf(Sha256Of(weights_)));

  EXPECT_THAT(MendIt().done, IsEmpty());

  EXPECT_EQ(Ask<int>("SELECT count(*) FROM artifacts WHERE kind = 'weights'"), 1);
  EXPECT_THAT(test_.Violations(true), ElementsAre(HasSubstr("its file is missing")));
}

// As on a disk that does not answer, or of somebody else: it may be whole.
TEST_F(RepairTest, AFileThatCannotBeLookedAtIsNotTakenForLost) {
  const std::filesystem::path file = test_.store->artifacts().PathOf(Sha256Of(checkpoint_));
  std::filesystem::remove(file);
  std::filesystem::create_symlink(file, file);
  ASSERT_THAT(test_.Violations(true), ElementsAre(HasSubstr("its file cannot be looked at")));

  EXPECT_THAT(MendIt().done, IsEmpty());

  EXPECT_EQ(test_.Job(4).checkpoint_step, 60);
}

TEST_F(RepairTest, FilesAreNotLostWithTheirFolder) {
  const std::filesystem::path folder = test_.store->artifacts().folder(), away = folder.string() + ".away";
  std::filesystem::rename(folder, away);
  ASSERT_THAT(test_.Violations(true), Contains(HasSubstr("its file is missing")));

  EXPECT_THAT(MendIt().done, IsEmpty());

  EXPECT_EQ(test_.Job(4).checkpoint_step, 60);
  std::filesystem::rename(away, folder);
  EXPECT_THAT(test_.Violations(true), IsEmpty());
}

TEST_F(RepairTest, PartsOfAFileThatChangedPlacesChangeThemBack) {
  const std::vector<NewJob> pack = {MakeJob("reverse_string", "rope", false, 0.001, 0), MakeJob("reverse_string", "rope", false, 0.001, 1)};
  const std::vector<int64_t> jobs = test_.AddSweep("three", pack);
  const int64_t attempt = test_.Start("w1", jobs, 60);
  const std::string earlier = PackFileBytes("checkpoint", 50, {pack[0].id, pack[1].id}), later = PackFileBytes("checkpoint", 60, {pack[0].id, pack[1].id});
  for (const auto& [bytes, step] : {std::pair(earlier, 50), std::pair(later, 60)}) {
    for (const int member : {0, 1}) test_.AddFile(jobs[static_cast<size_t>(member)], "checkpoint", step, attempt, bytes, member);
  }
  const std::string of_them = "SELECT group_concat(member) FROM (SELECT member FROM artifacts WHERE attempt = " + std::to_string(attempt) + " ORDER BY job, step)";
  ASSERT_EQ(Ask<std::string>(of_them), "0,0,1,1");
  Plant("UPDATE artifacts SET member = 1 - member WHERE attempt = " + std::to_string(attempt));

  const Mended mended = MendIt();

  EXPECT_EQ(mended.done.size(), 4u);
  EXPECT_EQ(Ask<std::string>(of_them), "0,0,1,1");
  EXPECT_THAT(test_.Violations(true), IsEmpty());

  // A file that has neither of them: each goes on from the checkpoint before.
  const std::string others = PackFileBytes("checkpoint", 60, {pack[0].id.substr(0, 63) + "_", pack[1].id.substr(0, 63) + "_"});
  test_.PutFile(others);
  test_.store->artifacts().Settle(Sha256Of(others));
  Plant("UPDATE artifacts SET sha256 = '" + Sha256Of(others) + "', bytes = " + std::to_string(others.size()) + " WHERE step = 60 AND attempt = " + std::to_string(attempt));

  EXPECT_EQ(MendIt().done.size(), 2u);

  EXPECT_EQ(test_.Job(jobs[0]).checkpoint_step, 50);
  EXPECT_EQ(test_.Job(jobs[1]).checkpoint_step, 50);
  EXPECT_THAT(test_.Violations(true), IsEmpty());
}

TEST_F(RepairTest, SizeAndPartsOfAFileAreMendedAtOnce) {
  const std::vector<NewJob> pack = {MakeJob("reverse_string", "rope", false, 0.001, 0), MakeJob("reverse_string", "rope", false, 0.001, 1)};
  const std::vector<int64_t> jobs = test_.AddSweep("three", pack);
  const int64_t attempt = test_.Start("w1", jobs, 60);
  const std::string bytes = PackFileBytes("checkpoint", 60, {pack[0].id, pack[1].id});
  for (const int member : {0, 1}) test_.AddFile(jobs[static_cast<size_t>(member)], "checkpoint", 60, attempt, bytes, member);
  Plant("UPDATE artifacts SET member = 1 - member, bytes = 5 WHERE attempt = " + std::to_string(attempt));

  EXPECT_EQ(MendIt().done.size(), 3u) << "one size, and two parts";

  EXPECT_THAT(test_.Violations(true), IsEmpty());
  EXPECT_EQ(Ask<std::string>("SELECT group_concat(member) FROM (SELECT member FROM artifacts WHERE attempt = " + std::to_string(attempt) + " ORDER BY job)"), "0,1");
}

// The index does not see the change of its table. By SQLite itself, as our own connections refuse to write a schema.
TEST_F(RepairTest, IndexesAreMadeAnew) {
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open((folder_ / "s.db").c_str(), &raw), SQLITE_OK);
  const int planted = sqlite3_exec(raw,
                                   "PRAGMA writable_schema = ON; CREATE TEMP TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'sweeps_by_name'; "
                                   "DELETE FROM sqlite_schema WHERE name = 'sweeps_by_name'; PRAGMA writable_schema = RESET; UPDATE sweeps SET name = 'another' WHERE num = 1; "
                                   "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema SELECT * FROM kept; PRAGMA writable_schema = RESET",
                                   nullptr, nullptr, nullptr);
  sqlite3_close(raw);
  ASSERT_EQ(planted, SQLITE_OK);
  ASSERT_THAT(test_.Violations(), Contains(HasSubstr("missing from index sweeps_by_name")));

  EXPECT_THAT(MendIt().done, ElementsAre(HasSubstr("all indexes were made anew: row 1 missing from index sweeps_by_name")));

  EXPECT_THAT(test_.Violations(), IsEmpty());
  EXPECT_EQ(Ask<int>("SELECT num FROM sweeps INDEXED BY sweeps_by_name WHERE name = 'another'"), 1);
  EXPECT_THAT(MendIt().done, IsEmpty());
}

TEST_F(RepairTest, DamagedPagesAreNotMended) {
  const std::filesystem::path copy = folder_ / "copy.db";
  ASSERT_OK(Backup(test_.db(), copy));
  std::string bytes = ReadWhole(copy);
  ASSERT_GT(bytes.size(), 40'000u);
  for (size_t at = 20'480; at < 32'768; ++at) bytes[at] = static_cast<char>(at * 7);
  WriteFile(copy, bytes);
  ASSERT_OK_AND_ASSIGN(sql::Connection db, sql::Connection::Open(copy, sql::Mode::kReadWrite));
  ASSERT_OK_AND_ASSIGN(sql::Transaction tx, sql::Transaction::Begin(db));

  const absl::StatusOr<Mended> mended = Mend(tx, {}, test_.store->artifacts(), At(100));

  EXPECT_EQ(mended.status().code(), absl::StatusCode::kDataLoss) << mended.status();
}

TEST_F(RepairTest, AFileThatIsPutAsideReplacesNone) {
  ArtifactFiles& files = test_.store->artifacts();
  const std::string hash = Sha256Of("nobody's");
  for (int i = 0; i < 2; ++i) {
    test_.PutFile("nobody's");
    files.Settle(hash);
    ASSERT_OK_AND_ASSIGN(const bool is_moved, files.MoveAside(hash));
    EXPECT_TRUE(is_moved);
    EXPECT_FALSE(std::filesystem::exists(files.PathOf(hash)));
  }

  EXPECT_EQ(ReadWhole(files.folder_aside() / hash), "nobody's");
  EXPECT_EQ(ReadWhole(files.folder_aside() / (hash + ".2")), "nobody's");
  ASSERT_OK_AND_ASSIGN(const bool again, files.MoveAside(hash));
  EXPECT_FALSE(again) << "there is none any more";
  ASSERT_OK_AND_ASSIGN(const CheckReport report, Check(test_.db(), files, true));
  EXPECT_TRUE(report.unnamed.empty());
}

}  // namespace
}  // namespace longreach::store
