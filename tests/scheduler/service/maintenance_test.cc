// Backup, check and merge as a client asks for them, while the scheduler's writer and engine run.
#include "scheduler/service/maintenance.h"

#include <algorithm>
#include <filesystem>
#include <stop_token>
#include <vector>

#include "proto/base/build_info.h"
#include "proto/types/time.h"
#include "store/migrate.h"
#include "tests/store/fixture.h"

namespace longreach::service {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using longreach::testing::TemporaryFolder;
using store::At;
using store::MakePack;
using store::TestStore;

class MaintenanceTest : public ::testing::Test {
 protected:
  // Sweeps of these stores are names alone, of which nobody knows what jobs they have: each check says so, behind what it advises.
  static auto NotCompared() { return HasSubstr("('one') were not compared with its specification"); }

  MaintenanceTest() : ours_(folder_ / "ours.db") { ours_.AddWorker("w1"); }

  // From here on the connection is the writer's.
  void StartWriter() {
    EXPECT_OK(engine_.Restore(ours_.db()));
    writer_ = std::make_unique<store::Writer>(ours_.db(), clock_, store::WriterOptions{});
  }
  template <typename T>
  T Read(const std::string& query) {
    absl::StatusOr<store::Snapshot> snapshot = ours_.store->Read();
    EXPECT_OK(snapshot);
    return *snapshot->db().One<T>(query);
  }
  absl::StatusOr<v1::MergeStoreResponse> Merge(const std::string& file) {
    v1::MergeStoreRequest request;
    request.set_path(file.empty() ? "" : (folder_ / file).string());
    return MergeStore(*ours_.store, *writer_, engine_, request);
  }

  TemporaryFolder folder_;
  SystemClock clock_;
  TestStore ours_;
  std::unique_ptr<store::Writer> writer_;
  Engine engine_{clock_, EngineOptions{}, [this](store::Event event) { writer_->Submit(std::move(event)); }, [] {}};
};

TEST_F(MaintenanceTest, AMergeBringsResultsAndEndsAttemptsThatHaveNothingLeftToDo) {
  const std::vector<store::NewJob> jobs = MakePack(3);
  ours_.AddSweep("one", jobs);
  const int64_t pair = ours_.Start("w1", {1, 2});
  const int64_t alone = ours_.Start("w1", {3});
  {
    TestStore theirs(folder_ / "theirs.db");
    theirs.AddWorker("w2");
    theirs.AddSweep("one", jobs);
    theirs.Succeed(theirs.Start("w2", {1, 3}), 0.75);
    theirs.AddSweep("two", jobs, 0, 1);
    theirs.AddSweep("three", jobs, 0, 2);
  }
  StartWriter();

  ASSERT_OK_AND_ASSIGN(v1::MergeStoreResponse response, Merge("theirs.db"));

  EXPECT_EQ(response.sweeps_added(), 2);
  EXPECT_EQ(response.results_added(), 2);
  EXPECT_EQ(Read<int>("SELECT count(*) FROM jobs WHERE state = 'succeeded'"), 2);
  EXPECT_EQ(Read<std::string>("SELECT outcome FROM attempts WHERE id = " + std::to_string(alone)), "dropped");
  EXPECT_EQ(Read<int>("SELECT ended_at IS NULL FROM attempts WHERE id = " + std::to_string(pair)), 1);
  ASSERT_OK_AND_ASSIGN(v1::CheckStoreResponse check, CheckStore(*ours_.store, {}));
  EXPECT_THAT(check.violations(), IsEmpty());
}

TEST_F(MaintenanceTest, AMergeTellsHowFarItIsOfItsFilesAndThenOfItsJobs) {
  {
    TestStore theirs(folder_ / "theirs.db");
    theirs.AddWorker("w2");
    const std::vector<int64_t> jobs = theirs.AddSweep("one", MakePack(3));
    const int64_t attempt = theirs.Start("w2", jobs);
    theirs.AddFile(jobs[0], "weights", 100, attempt, "of both");
    theirs.AddFile(jobs[1], "weights", 100, attempt, "of both");
    theirs.AddFile(jobs[2], "weights", 100, attempt, "of this one alone");
    theirs.Succeed(attempt, 0.75);
  }
  StartWriter();
  std::vector<double> of_files, jobs;
  v1::MergeStoreRequest request;
  request.set_path((folder_ / "theirs.db").string());

  ASSERT_OK(MergeStore(*ours_.store, *writer_, engine_, request, {}, {}, nullptr, [&](const store::MergeStep& step) {
    EXPECT_EQ(step.of, step.part == store::MergeStep::Part::kFiles ? 24 : 3);
    (step.part == store::MergeStep::Part::kFiles ? of_files : jobs).push_back(step.done);
  }));

  EXPECT_TRUE(std::ranges::is_sorted(of_files));
  ASSERT_FALSE(of_files.empty());
  EXPECT_EQ(of_files.back(), 24) << "each file once";
  EXPECT_THAT(jobs, ElementsAre(1, 2, 3));
}

TEST_F(MaintenanceTest, AMergeSaysWhichRowsOfOursTheFilesContradictAndThatARepairMendsThem) {
  const std::vector<store::NewJob> pack = MakePack(2);
  // Swapped: each job has the other one's part of the file, as a damaged page or a bug would leave it.
  const auto fill = [&pack](TestStore& test, const std::string& worker, bool swapped) {
    const std::vector<int64_t> jobs = test.AddSweep("one", pack);
    const int64_t attempt = test.Start(worker, jobs);
    for (const int member : {0, 1}) {
      test.AddFile(jobs[static_cast<size_t>(member)], "weights", 100, attempt, store::PackFileBytes("weights", 100, {pack[0].id, pack[1].id}), swapped ? 1 - member : member);
    }
    test.Succeed(attempt, 0.75);
  };
  fill(ours_, "w1", /*swapped=*/true);
  {
    TestStore theirs(folder_ / "theirs.db");
    theirs.AddWorker("w2");
    fill(theirs, "w2", /*swapped=*/false);
  }
  StartWriter();

  ASSERT_OK_AND_ASSIGN(const v1::MergeStoreResponse response, Merge("theirs.db"));

  const std::string first = pack[0].id.substr(0, 8), second = pack[1].id.substr(0, 8);
  EXPECT_THAT(response.differences(),
              ElementsAre(AllOf(StartsWith("here, weights "), AnyOf(HasSubstr(" of job " + first + ": its member 1 is of job " + second), HasSubstr(" of job " + second + ": its member 0 is of job " + first)),
                                HasSubstr(" (and 1 more such row): such a row of this store names another job's part of a file that both have, or another file than it says. It stays, and a worker refuses to "
                                          "begin with that part; 'longreach store check --repair' of this store takes from the files where each job's part is"))));
  EXPECT_EQ(Read<int>("SELECT count(*) FROM artifacts WHERE member = 2 - job"), 2) << "they stay";

  ASSERT_OK(RepairStore(*ours_.store, *writer_, At(100)));

  EXPECT_EQ(Read<int>("SELECT count(*) FROM artifacts WHERE member = job - 1"), 2);
  ASSERT_OK_AND_ASSIGN(const v1::MergeStoreResponse again, Merge("theirs.db"));
  EXPECT_THAT(again.differences(), IsEmpty());
}

TEST_F(MaintenanceTest, AMergeThatIsRefusedSaysWhyAndWritesNothing) {
  StartWriter();

  EXPECT_EQ(Merge("").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Merge("none.db").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Merge("ours.db").status().code(), absl::StatusCode::kFailedPrecondition) << "a store into itself";
  EXPECT_EQ(Read<int>("SELECT count(*) FROM jobs"), 0);
}

TEST_F(MaintenanceTest, AMergeThatIsRefusedLeavesNoFiles) {
  const auto fill = [](TestStore& test, const std::string& sha256) {
    test.AddWorker("w2");
    const std::vector<int64_t> jobs = test.AddSweep("one", MakePack(2));
    const int64_t attempt = test.Start("w2", jobs);
    test.AddFile(jobs[0], "weights", 100, attempt, "the weights");
    test.AddFile(jobs[1], "weights", 100, attempt, "the other's weights");
    test.Succeed(attempt, 0.75);
    EXPECT_OK(test.db().Run("INSERT INTO data_sets(name, sha256, bytes, first_seen_at) VALUES ('corpus', ?, 1, 0)", sha256).status());
  };
  {
    TestStore theirs(folder_ / "other_data.db");
    fill(theirs, std::string(64, 'b'));
  }
  {
    TestStore theirs(folder_ / "theirs.db");
    fill(theirs, std::string(64, 'a'));
  }
  EXPECT_OK(ours_.db().Run("INSERT INTO data_sets(name, sha256, bytes, first_seen_at) VALUES ('corpus', ?, 1, 0)", std::string(64, 'a')).status());
  StartWriter();

  EXPECT_EQ(Merge("other_data.db").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(ours_.store->artifacts().List(), IsEmpty()) << "nothing was copied";
  // Of two files the one with the higher hash finds no place here, when the other is copied.
  const std::string behind = Sha256Of("the weights");
  ASSERT_LT(Sha256Of("the other's weights"), behind);
  const std::filesystem::path in_the_way = ours_.store->artifacts().folder() / "tmp" / behind;
  std::filesystem::create_directory(in_the_way);
  EXPECT_FALSE(Merge("theirs.db").ok());
  std::filesystem::remove(in_the_way);
  EXPECT_EQ(ours_.store->artifacts().List().size(), 1u);

  EXPECT_THAT(ours_.store->artifacts().Unsettled(), IsEmpty());
  writer_.reset();
  EXPECT_EQ(*store::RemoveUnusedFiles(ours_.db(), ours_.store->artifacts(), 10), 1);
  EXPECT_THAT(ours_.store->artifacts().List(), IsEmpty());
}

TEST_F(MaintenanceTest, ABackupIsAStore) {
  ours_.Succeed(ours_.Start("w1", ours_.AddSweep("one", MakePack(2))), 0.5);
  StartWriter();
  v1::BackupStoreRequest request;
  EXPECT_EQ(BackupStore(*ours_.store, request).status().code(), absl::StatusCode::kInvalidArgument);
  request.set_path((folder_ / "copy.db").string());

  ASSERT_OK_AND_ASSIGN(v1::BackupStoreResponse response, BackupStore(*ours_.store, request));

  EXPECT_GT(response.bytes(), 0);
  EXPECT_EQ(BackupStore(*ours_.store, request).status().code(), absl::StatusCode::kAlreadyExists);
  TestStore copy(folder_ / "copy.db");
  EXPECT_EQ(copy.SweepCounts(1).succeeded, 2);
}

TEST_F(MaintenanceTest, TheCheckCountsAndReportsWhatItFinds) {
  const std::vector<int64_t> jobs = ours_.AddSweep("one", MakePack(2));
  const int64_t attempt = ours_.Start("w1", jobs);
  ours_.AddFile(jobs[0], "log", 0, attempt, "a log");
  ours_.Succeed(attempt, 0.5);
  store::WriteFile(ours_.store->artifacts().PathOf(Sha256Of("a log")), "A log");
  v1::CheckStoreRequest request;
  ASSERT_OK_AND_ASSIGN(v1::CheckStoreResponse quick, CheckStore(*ours_.store, request));
  EXPECT_THAT(quick.violations(), IsEmpty());
  EXPECT_EQ(quick.jobs(), 2);
  EXPECT_EQ(quick.attempts(), 1);
  EXPECT_EQ(quick.measurements(), 4);
  EXPECT_EQ(quick.artifacts(), 1);
  request.set_artifacts(true);

  ASSERT_OK_AND_ASSIGN(v1::CheckStoreResponse thorough, CheckStore(*ours_.store, request));

  EXPECT_THAT(thorough.violations(), ElementsAre(HasSubstr("is damaged")));
}

// What reads a store alone does not know these rules, so that nothing but a merge of it found them broken.
TEST_F(MaintenanceTest, TheCheckFindsValuesThatTheSchemaDoesNotAdmit) {
  ours_.AddSweep("one", MakePack(2));
  ASSERT_OK(ours_.db().Execute("PRAGMA ignore_check_constraints = ON; UPDATE jobs SET diverged = 1 WHERE num = 1; UPDATE sweeps SET jobs_diverged = 1; PRAGMA ignore_check_constraints = OFF"));

  ASSERT_OK_AND_ASSIGN(const v1::CheckStoreResponse check, CheckStore(*ours_.store, {}));

  EXPECT_THAT(check.violations(), ElementsAre("CHECK constraint failed in jobs"));
}

TEST_F(MaintenanceTest, EachKindOfViolationSaysWhatIsAtStakeAndWhatToDo) {
  const std::vector<int64_t> jobs = ours_.AddSweep("one", MakePack(2));
  const int64_t attempt = ours_.Start("w1", jobs);
  ours_.AddFile(jobs[0], "log", 0, attempt, "a log");
  ours_.Succeed(attempt, 0.5);
  const auto remarks = [&] {
    const absl::StatusOr<v1::CheckStoreResponse> check = CheckStore(*ours_.store, {});
    EXPECT_OK(check);
    return check.ok() ? std::vector<std::string>(check->remarks().begin(), check->remarks().end()) : std::vector<std::string>();
  };
  const auto work = HasSubstr("what jobs have measured is not touched"), results = HasSubstr("values of these jobs in tables and figures may be lacking or wrong"),
             file = HasSubstr("the database's file is damaged"), artifacts = HasSubstr("'longreach store merge OTHER' brings files back");
  EXPECT_THAT(remarks(), ElementsAre(NotCompared()));

  // Past the rules of the schema, one after the other.
  ASSERT_OK(ours_.db().Execute("PRAGMA foreign_keys = OFF; UPDATE sweeps SET jobs_queued = 7"));
  EXPECT_THAT(remarks(), ElementsAre(work, NotCompared()));
  ASSERT_OK(ours_.db().Execute("DELETE FROM measurements"));
  EXPECT_THAT(remarks(), ElementsAre(results, work, NotCompared()));
  ASSERT_OK(ours_.db().Execute("UPDATE attempts SET worker = 'nobody'"));
  EXPECT_THAT(remarks(), ElementsAre(file, results, work, NotCompared()));
  ASSERT_OK(ours_.db().Execute("UPDATE artifacts SET bytes = 3"));
  EXPECT_THAT(remarks(), ElementsAre(file, results, work, artifacts, NotCompared()));
  for (const std::string& remark : remarks()) EXPECT_THAT(remark, ::testing::AnyOf(HasSubstr("docs/OPERATIONS.md, Restore"), artifacts, NotCompared()));
}

// As of a backup of the database alone: a line for each would be no answer any more where there are many.
TEST_F(MaintenanceTest, WithoutTheFolderOfArtifactsTheFirstFilesAreNamedAndTheOthersCounted) {
  const std::vector<int64_t> jobs = ours_.AddSweep("one", MakePack(30));
  const int64_t attempt = ours_.Start("w1", jobs);
  for (size_t i = 0; i < jobs.size(); ++i) ours_.AddFile(jobs[i], "log", 0, attempt, "the log " + std::to_string(i));
  ours_.Succeed(attempt, 0.5);
  std::filesystem::remove_all(ours_.store->artifacts().folder());

  ASSERT_OK_AND_ASSIGN(const v1::CheckStoreResponse check, CheckStore(*ours_.store, {}));

  ASSERT_EQ(check.violations_size(), 21);
  for (int i = 0; i < 20; ++i) EXPECT_THAT(check.violations(i), HasSubstr("its file is missing"));
  EXPECT_EQ(check.violations(20), "... and 10 more of this kind");
  EXPECT_THAT(check.remarks(), ElementsAre(HasSubstr("'longreach store merge OTHER' brings files back"), NotCompared()));
}

TEST_F(MaintenanceTest, FilesThatNothingNamesAreARemark) {
  for (const char* content : {"a", "bb", "ccc", "dddd"}) ours_.store->artifacts().Settle(ours_.PutFile(content));
  v1::CheckStoreRequest request;
  ASSERT_OK_AND_ASSIGN(const v1::CheckStoreResponse quick, CheckStore(*ours_.store, request));
  EXPECT_THAT(quick.remarks(), IsEmpty());
  request.set_artifacts(true);

  ASSERT_OK_AND_ASSIGN(const v1::CheckStoreResponse thorough, CheckStore(*ours_.store, request));

  EXPECT_THAT(thorough.violations(), IsEmpty());
  const std::string first = std::min({Sha256Of("a"), Sha256Of("bb"), Sha256Of("ccc"), Sha256Of("dddd")});
  EXPECT_THAT(thorough.remarks(), ElementsAre(::testing::AllOf(HasSubstr("4 files of 10 bytes in '" + (folder_ / "ours.db.artifacts").string()),
                                                             HasSubstr(first.substr(0, 2) + "/" + first), HasSubstr("and 1 more"))));
}

TEST_F(MaintenanceTest, ARepairMakesACopyMendsAndSaysWhatIsLeftAndASecondOneDoesNothing) {
  const std::vector<int64_t> jobs = ours_.AddSweep("one", MakePack(2));
  const int64_t attempt = ours_.Start("w1", jobs);
  ours_.AddFile(jobs[0], "log", 0, attempt, "a log");
  ours_.AddFile(jobs[0], "weights", 100, attempt, "the weights");
  ours_.Succeed(attempt, 0.5);
  ASSERT_OK(ours_.db().Execute("DELETE FROM measurements WHERE job = 2 AND length = 0; UPDATE sweeps SET jobs_failed = 7"));
  store::WriteFile(ours_.store->artifacts().PathOf(Sha256Of("a log")), "A log");
  std::filesystem::remove(ours_.store->artifacts().PathOf(Sha256Of("the weights")));
  ours_.PutFile("nobody's");
  ours_.store->artifacts().Settle(Sha256Of("nobody's"));
  StartWriter();

  ASSERT_OK_AND_ASSIGN(const v1::RepairStoreResponse repair, RepairStore(*ours_.store, *writer_, At(100)));

  EXPECT_THAT(repair.done(), ElementsAre(HasSubstr("runs again: its result was not whole; values of it that are in the backup alone: 1"), HasSubstr("is forgotten, as its file is lost"),
                                         HasSubstr("was counted anew"), HasSubstr("2 files that nothing names are now in '" + (folder_ / "ours.db.artifacts/aside").string() + "'")));
  EXPECT_THAT(repair.check().remarks(), ElementsAre(HasSubstr("'longreach store merge OTHER' brings files back"), NotCompared()));
  EXPECT_EQ(repair.backup(), (folder_ / "ours.db.repair-1.backup").string());
  EXPECT_THAT(repair.check().violations(), ElementsAre(HasSubstr("its file is missing"))) << "weights, which a merge may bring";
  EXPECT_EQ(Read<int>("SELECT count(*) FROM jobs WHERE state = 'queued'"), 1);
  EXPECT_EQ(Read<int>("SELECT count(*) FROM measurements WHERE job = 1"), 2);
  EXPECT_EQ(store::ReadWhole(ours_.store->artifacts().folder_aside() / Sha256Of("nobody's")), "nobody's");
  EXPECT_EQ(store::ReadWhole(ours_.store->artifacts().folder_aside() / Sha256Of("a log")), "A log") << "as it was";
  ASSERT_OK_AND_ASSIGN(sql::Connection before, sql::Connection::Open(repair.backup(), sql::Mode::kReadOnly));
  EXPECT_EQ(*before.One<int>("SELECT count(*) FROM measurements WHERE job = 2"), 1);
  EXPECT_EQ(*before.One<int>("SELECT jobs_failed FROM sweeps"), 7);

  ASSERT_OK_AND_ASSIGN(const v1::RepairStoreResponse again, RepairStore(*ours_.store, *writer_, At(200)));

  EXPECT_THAT(again.done(), IsEmpty());
  EXPECT_EQ(again.backup(), "");
  EXPECT_THAT(again.check().violations(), ElementsAre(HasSubstr("its file is missing")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "ours.db.repair-2.backup"));
}

TEST_F(MaintenanceTest, ARepairOfWhatIsSoundWritesNothing) {
  ours_.Succeed(ours_.Start("w1", ours_.AddSweep("one", MakePack(2))), 0.5);
  StartWriter();

  ASSERT_OK_AND_ASSIGN(const v1::RepairStoreResponse repair, RepairStore(*ours_.store, *writer_, At(100)));

  EXPECT_THAT(repair.done(), IsEmpty());
  EXPECT_EQ(repair.backup(), "");
  EXPECT_THAT(repair.check().violations(), IsEmpty());
  EXPECT_EQ(repair.check().jobs(), 2);
}

TEST_F(MaintenanceTest, ARepairThatIsStoppedChangesNothingAndItsCopyTakesNoNameThatIsTaken) {
  ours_.AddSweep("one", MakePack(2));
  ASSERT_OK(ours_.db().Execute("UPDATE sweeps SET jobs_failed = 7"));
  StartWriter();
  std::stop_source stopped;
  stopped.request_stop();
  EXPECT_EQ(RepairStore(*ours_.store, *writer_, At(100), stopped.get_token()).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Read<int>("SELECT jobs_failed FROM sweeps"), 7);
  std::filesystem::create_symlink(folder_ / "nowhere" / "at" / "all", folder_ / "ours.db.repair-1.backup");

  ASSERT_OK_AND_ASSIGN(const v1::RepairStoreResponse repair, RepairStore(*ours_.store, *writer_, At(100)));

  EXPECT_EQ(repair.backup(), (folder_ / "ours.db.repair-2.backup").string()) << "no name is taken that somebody has";
  EXPECT_EQ(Read<int>("SELECT jobs_failed FROM sweeps"), 0);
}

TEST_F(MaintenanceTest, TheInfoNamesVersionsTheFileAndTheTime) {
  const WallTime now(std::chrono::microseconds(1'800'000'000'250'000));

  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<store::Store> made, store::Store::Open((folder_ / "new.db").string()));

  ASSERT_OK_AND_ASSIGN(v1::GetInfoResponse info, GetInfo(*made, now));

  EXPECT_EQ(FromTimestamp(info.now()), now);
  EXPECT_EQ(info.build(), BuildDescription());
  EXPECT_EQ(info.protocol(), kProtocolVersion);
  EXPECT_EQ(info.store_version(), store::SchemaVersion());
  EXPECT_EQ(info.store_version_found(), 0);
  EXPECT_EQ(info.store_path(), (folder_ / "new.db").string());
}

}  // namespace
}  // namespace longreach::service
