// The ledger checks find each kind of contradiction that is planted, and nothing in a sound store.
#include <algorithm>

#include "tests/store/fixture.h"

namespace longreach::store {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using longreach::testing::TemporaryFolder;

// One job in each state: 1 succeeded, 2 diverged, 3 leased, 4 queued with a checkpoint, 5 failed, 6 waiting (for 4), 7 cancelled.
class CheckTest : public ::testing::TestWithParam<std::pair<const char*, const char*>> {
 protected:
  CheckTest() : test_(folder_ / "s.db") {
    test_.AddWorker("w1");
    std::vector<NewJob> jobs = MakePack(6);
    jobs[5].inputs = {{.name = "weights", .source = jobs[3].id, .artifact = "weights", .metric = ""}};
    const std::vector<int64_t> nums = test_.AddSweep("one", jobs, 4);
    const int64_t seventh = test_.AddSweep("two", {MakeJob("odds_first", "none", false, 1, 0)}, 0, 1)[0];
    const int64_t done = test_.Start("w1", {nums[0], nums[1]}, 10);
    EXPECT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
      RETURN_IF_ERROR(CompleteJob(tx, nums[0], done, {.measurements = {{"accuracy", 0, "", 0.5}}}));
      RETURN_IF_ERROR(CompleteJob(tx, nums[1], done, {.diverged = true, .diverged_at = 9}));
      return EndAttempt(tx, done, Outcome::kSucceeded, "", "libtorch", At(20));
    }));
    test_.AddFile(nums[0], "weights", 100, done, "the weights");
    test_.Start("w1", {nums[2]}, 30);  // Attempt 2.
    const int64_t back = test_.Start("w1", {nums[3], nums[4]}, 40);
    test_.AddFile(nums[3], "checkpoint", 60, back, "the checkpoint");
    EXPECT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
      RETURN_IF_ERROR(RequeueJob(tx, nums[3], back, {.failures = 1}));
      RETURN_IF_ERROR(FailJob(tx, nums[4], back, {.failures = 3, .failure = "crashed"}));
      RETURN_IF_ERROR(EndAttempt(tx, back, Outcome::kFailed, "crashed", "", At(50)));
      RETURN_IF_ERROR(SetSweepState(tx, 2, SweepState::kCancelled));
      RETURN_IF_ERROR(RefreshWanted(tx, 2));
      return CancelUnwantedJobs(tx, 2).status();
    }));
    EXPECT_EQ(test_.Job(seventh).state, State::kCancelled);
  }

  TemporaryFolder folder_;
  TestStore test_;
};

TEST_F(CheckTest, ASoundStoreHasNoViolationAndIsCounted) {
  ASSERT_OK_AND_ASSIGN(CheckReport report, Check(test_.db(), test_.store->artifacts(), true));

  EXPECT_THAT(report.violations, IsEmpty());
  EXPECT_EQ(report.sweeps, 2);
  EXPECT_EQ(report.jobs, 7);
  EXPECT_EQ(report.attempts, 3);
  EXPECT_EQ(report.measurements, 1);
  EXPECT_EQ(report.artifacts, 2);
}

TEST_F(CheckTest, TheChecksRunOnAReadOnlyConnection) {
  ASSERT_OK_AND_ASSIGN(Snapshot snapshot, test_.store->Read());
  ASSERT_OK_AND_ASSIGN(CheckReport report, Check(snapshot.db(), test_.store->artifacts(), true));
  EXPECT_THAT(report.violations, IsEmpty());
}

// Written past all rules of the schema, as a bug or a damaged disk would.
TEST_P(CheckTest, FindsWhatWasPlanted) {
  const auto& [plant, expected] = GetParam();
  ASSERT_OK(test_.db().Execute("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; DROP TRIGGER jobs_counted"));
  ASSERT_OK(test_.db().Execute(plant));
  ASSERT_OK(test_.db().Execute("PRAGMA ignore_check_constraints = OFF"));

  EXPECT_THAT(test_.Violations(), Contains(HasSubstr(expected)));
}

TEST_F(CheckTest, ValuesThatTheSchemaDoesNotAdmitAreSaidOnceForEachTableWithHowManyThereAre) {
  ASSERT_OK(test_.db().Execute("PRAGMA ignore_check_constraints = ON; DROP TRIGGER jobs_counted; UPDATE jobs SET diverged = 2; UPDATE sweeps SET state = 'odd' WHERE num = 2; "
                               "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) "
                               "INSERT INTO workers(id, name, incarnation, abilities, build, device, threads, pack_limit, first_seen_at, seen_at, device_id, state) "
                               "SELECT 'odd' || i, name, incarnation, abilities, build, device, threads, pack_limit, first_seen_at, seen_at, device_id, 'odd' FROM workers, n; "
                               "PRAGMA ignore_check_constraints = OFF"));

  ASSERT_OK_AND_ASSIGN(CheckReport report, Check(test_.db(), test_.store->artifacts(), false));

  std::vector<std::string> told;
  for (const std::string& line : report.violations) {
    if (line.find("CHECK") != line.npos) told.push_back(report.Told(line));
  }
  EXPECT_THAT(told, ::testing::UnorderedElementsAre("CHECK constraint failed in jobs (7 times)", "CHECK constraint failed in sweeps", "CHECK constraint failed in workers (50 times)"));
  for (const char* table : {"jobs", "sweeps", "workers"}) EXPECT_EQ(report.concerns.at(std::string("CHECK constraint failed in ") + table), Concern::kFile) << table;
}

INSTANTIATE_TEST_SUITE_P(
    Planted, CheckTest,
    ::testing::Values(
        std::pair("DELETE FROM measurements", "has succeeded and has no measurements"),
        std::pair("INSERT INTO measurements VALUES (1, 'accuracy', 41, '', 0.5); DELETE FROM measurements WHERE length = 0", "has succeeded and has no accuracy over all lengths"),
        std::pair("INSERT INTO measurements VALUES (4, 'accuracy', 0, '', 1.0)", "is queued and has measurements"),
        std::pair("INSERT INTO measurements VALUES (2, 'accuracy', 0, '', 1.0)", "is diverged and has measurements"),
        std::pair("UPDATE measurements SET value = 9e999", "accuracy = Inf at length 0"),
        std::pair("INSERT INTO measurements VALUES (1, 'accuracy', 41, '', 0.5), (1, 'accuracy', 42, '', 0.4)",
                  "has accuracy = 0.5 over all lengths, and the mean of its lengths is 0.45"),
        std::pair("INSERT INTO measurements VALUES (1, 'passkey_accuracy', 0, 'depth=0.5', 1), (1, 'passkey_accuracy', 256, 'depth=0.5', 0)",
                  "has passkey_accuracy of depth=0.5 = 1.0 over all lengths, and the mean of its lengths is 0.0"),
        std::pair("UPDATE jobs SET experiment = 'llama' WHERE num = 1; INSERT INTO measurements VALUES (1, 'passkey_accuracy', 256, '', 0.5), "
                  "(1, 'passkey_accuracy', 256, 'depth=0', 1), (1, 'passkey_accuracy', 256, 'depth=0.5', 0.5)",
                  "has passkey_accuracy = 0.5 at length 256, and the mean of its parts is 0.75"),
        std::pair("UPDATE jobs SET experiment = 'llama' WHERE num = 1; INSERT INTO measurements VALUES (1, 'longbench', 0, '', 0.5), "
                  "(1, 'longbench', 0, 'longbench_task=qasper', 0.25), (1, 'longbench', 0, 'longbench_task=trec', 0.5)",
                  "has longbench = 0.5, and the mean of its parts is 0.375"),
        std::pair("UPDATE attempts SET outcome = 'lost' WHERE id = 1", "has the result of attempt 1, which ended lost"),
        std::pair("UPDATE jobs SET attempt = 2 WHERE num = 1", "has the result of attempt 2, which ended never"),
        std::pair("DELETE FROM attempt_jobs WHERE job = 1", "has the result of attempt 1, which did not have it"),
        std::pair("UPDATE attempts SET ended_at = 1, outcome = 'lost' WHERE id = 2", "is leased to attempt 2, which has ended"),
        std::pair("UPDATE attempt_jobs SET dropped = 1 WHERE attempt = 2", "is leased to attempt 2, which does not have it"),
        std::pair("UPDATE jobs SET state = 'queued', attempt = NULL WHERE num = 3", "attempt 2 runs with job"),
        std::pair("DELETE FROM attempt_jobs WHERE attempt = 2", "attempt 2 runs without any member"),
        std::pair("UPDATE sweeps SET jobs_queued = 7 WHERE num = 1", "counts 1, 7, 1, 2, 1, 0, 1"),
        std::pair("UPDATE jobs SET priority = 3 WHERE num = 4", "and priority 3, its live sweeps say 1 and 4"),
        std::pair("UPDATE jobs SET wanted = 0 WHERE num = 4", "has wanted = 0"),
        std::pair("UPDATE jobs SET state = 'cancelled' WHERE num = 4", "is cancelled, but a live sweep wants it"),
        std::pair("UPDATE jobs SET state = 'queued' WHERE num = 6", "is queued, but not all of its inputs are there"),
        std::pair("DELETE FROM job_inputs", "is waiting, but all of its inputs are there"),
        std::pair("UPDATE jobs SET state = 'failed', failure = 'x' WHERE num = 4", "which is failed"),
        std::pair("UPDATE jobs SET failure = '' WHERE num = 5", "has failed and does not say why"),
        std::pair("UPDATE jobs SET checkpoint_step = 61 WHERE num = 4", "says its checkpoint is of step 61, its rows say 60"),
        std::pair("DELETE FROM attempt_jobs WHERE attempt = 1 AND member = 1", "attempt 1 began with 2 members and has 1"),
        std::pair("UPDATE attempt_jobs SET member = 5 WHERE attempt = 1 AND member = 1", "and has 2, numbered up to 5"),
        std::pair("UPDATE attempt_jobs SET from_attempt = 1 WHERE attempt = 1 AND member = 1", "from attempt 1, which is no earlier one"),
        std::pair("UPDATE attempt_jobs SET from_attempt = 1 WHERE attempt = 2", "from attempt 1, which did not have it"),
        std::pair("UPDATE attempts SET ended_at = started_at - 7 WHERE id = 1", "attempt 1 ended 7 microseconds before it began"),
        std::pair("UPDATE jobs SET failures = 3 WHERE num = 4", "is queued after 3 failures of its own and 0 lost workers"),
        std::pair("UPDATE jobs SET losses = 10 WHERE num = 3", "is leased after 0 failures of its own and 10 lost workers"),
        std::pair("UPDATE jobs SET task = 'odds_first' WHERE num = 4", "is algorithmic, odds_first, rope and asks for algorithmic, even_pairs, rope"),
        std::pair("UPDATE jobs SET learning_rate = 9e999 WHERE num = 4", "learning rate Inf, seed 3, 100 steps, and its specification says otherwise"),
        std::pair("UPDATE jobs SET seed = 0 WHERE num = 4", "is algorithmic, even_pairs, rope, learning rate 0.001, seed 0, 100 steps, and its specification says otherwise"),
        std::pair("UPDATE jobs SET seed = 7 WHERE num = 1", "seed 7, 100 steps, and its specification says otherwise"),
        std::pair("UPDATE jobs SET randomized = 1 WHERE num = 4", "rope:randomized, learning rate 0.001, seed 3, 100 steps, and its specification says otherwise"),
        std::pair("UPDATE requirements SET model_revision = 2", "asks for the revisions 1, 1 and 2 of its task, encoding and model, and its specification says otherwise"),
        std::pair("DELETE FROM sweep_jobs WHERE sweep = 1 AND position = 2", "has 5 members, numbered 0 to 5"),
        std::pair("UPDATE artifacts SET attempt = 2 WHERE kind = 'checkpoint'", "is of attempt 2, which did not have it"),
        std::pair("INSERT INTO artifacts SELECT job, kind, step - 1, attempt, member, sha256, bytes, created_at FROM artifacts "
                  "WHERE kind = 'checkpoint' UNION ALL SELECT job, kind, step - 2, attempt, member, sha256, bytes, created_at FROM artifacts "
                  "WHERE kind = 'checkpoint'",
                  "is queued and has 3 checkpoints"),
        std::pair("UPDATE artifacts SET kind = 'checkpoint' WHERE kind = 'weights'", "is succeeded and has 1 checkpoints"),
        std::pair("INSERT INTO unused_files SELECT sha256 FROM artifacts WHERE kind = 'weights'", "is marked as unused, and 1 rows name it"),
        std::pair("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1001) "
                  "INSERT INTO progress SELECT 1, i, 0.5, 0 FROM n",
                  "has 1001 points in its loss curve"),
        std::pair("UPDATE jobs SET spec = spec || 'x' WHERE num = 1", "is not the SHA-256 of its specification"),
        std::pair("UPDATE sweeps SET spec = spec || 'x' WHERE num = 1", "sweeps: the id"),
        std::pair("UPDATE attempts SET worker = 'nobody' WHERE id = 1", "refers to a row of workers that does not exist"),
        std::pair("UPDATE jobs SET diverged = 1 WHERE num = 4", "CHECK constraint failed in jobs"),
        std::pair("UPDATE artifacts SET bytes = 5 WHERE kind = 'weights'", "its file has 11 bytes instead of 5"),
        std::pair("UPDATE artifacts SET sha256 = '../../x' WHERE kind = 'weights'", "'../../x' is not a hash")));

// What trainers and studies measure, added in another order than SQLite's, and what is no mean.
// The fixture's specifications name none.
TEST_F(CheckTest, InputsAreThoseThatSpecificationsName) {
  std::vector<NewJob> jobs = MakePack(3, "reverse_string");
  NewJob& tuned = jobs[2];
  tuned.spec += "inputs.weights.artifact=weights\ninputs.weights.job=" + jobs[0].id + "\n";
  tuned.id = Sha256Of(tuned.spec);
  tuned.inputs = {{.name = "weights", .source = jobs[0].id, .artifact = "weights", .metric = ""}};
  const std::vector<int64_t> nums = test_.AddSweep("three", jobs);
  ASSERT_THAT(test_.Violations(), IsEmpty());

  ASSERT_OK(test_.db().Run("UPDATE job_inputs SET source = ? WHERE job = ?", nums[1], nums[2]));
  EXPECT_THAT(test_.Violations(), ElementsAre("job " + tuned.id.substr(0, 8) + " begins with weights of job " + jobs[1].id.substr(0, 8) + " for its weights, and its specification says otherwise"));

  ASSERT_OK(test_.db().Run("UPDATE job_inputs SET source = ?, artifact = 'series' WHERE job = ?", nums[0], nums[2]));
  EXPECT_THAT(test_.Violations(), ElementsAre("job " + tuned.id.substr(0, 8) + " begins with series of job " + jobs[0].id.substr(0, 8) + " for its weights, and its specification says otherwise"));

  ASSERT_OK(test_.db().Run("DELETE FROM job_inputs WHERE job = ?", nums[2]));
  EXPECT_THAT(test_.Violations(), Contains("job " + tuned.id.substr(0, 8) + " has 0 inputs, and its specification names 1"));
}

// A lease without the hash of its corpus lets a worker train on whatever it has under the name.
TEST_F(CheckTest, DataSetsAreThoseThatSpecificationsName) {
  // Fields of a specification, and what their job asks for.
  const std::vector<std::pair<std::string, std::string>> sound = {
      {"", "enwik8"},  // Its kind's own.
      {"data=pg19\n", "pg19"},
      {"data=pg19\nmodel.folder=tinyllama\n", "pg19 tinyllama"},
      {"model.folder=tinyllama\n", "tokens tinyllama"},
      {"data=pg19\nevaluation.longbench=bench\nmodel.folder=tinyllama\ntraining.mixture=code,prose\n", "pg19 tinyllama bench +code +prose"},
  };
  std::vector<NewJob> jobs;
  for (const auto& [fields, data] : sound) {
    NewJob& job = jobs.emplace_back(MakeJob("task " + std::to_string(jobs.size()), "rope", false, 0.001, 0));
    job.spec += fields;
    job.id = Sha256Of(job.spec);
    job.requirement.data = data;
  }
  const std::vector<int64_t> nums = test_.AddSweep("three", jobs);
  ASSERT_THAT(test_.Violations(), IsEmpty());

  for (const auto& [job, data] : std::vector<std::pair<size_t, std::string>>{
           {0, "enwik8 tinyllama"}, {1, ""}, {1, "enwik8"}, {1, "pg19 +code"}, {2, "pg19"}, {3, "tokens"}, {3, "tokens other"}, {4, "pg19 tinyllama bench +code"}}) {
    ASSERT_OK(test_.db().Run("UPDATE requirements SET data = ? WHERE num = (SELECT requirement FROM jobs WHERE num = ?)", data, nums[job]));
    EXPECT_THAT(test_.Violations(), ElementsAre("job " + jobs[job].id.substr(0, 8) + " asks for the data sets '" + data + "', and its specification says otherwise"));
    ASSERT_OK(test_.db().Run("UPDATE requirements SET data = ? WHERE num = (SELECT requirement FROM jobs WHERE num = ?)", sound[job].second, nums[job]));
  }
}

TEST_F(CheckTest, ScoresThatAreTheMeansOfTheirPartsAreNoViolation) {
  ASSERT_OK(test_.db().Execute(
      "INSERT INTO measurements VALUES (1, 'loss', 0, '', 0.20000000000000004), (1, 'loss', 41, '', 0.1), (1, 'loss', 42, '', 0.2), (1, 'loss', 500, '', 0.3), "
      "(1, 'loss', 41, 'pg19/yarn', 7), "
      "(1, 'cross_entropy', 0, '', 12), "
      "(1, 'perplexity', 256, '', 3), "
      "(1, 'passkey_accuracy', 0, '', 0.625), (1, 'passkey_accuracy', 0, 'depth=0', 0.5), (1, 'passkey_accuracy', 0, 'depth=0.5', 0.75), "
      "(1, 'passkey_accuracy', 256, '', 0.75), (1, 'passkey_accuracy', 256, 'depth=0', 0.5), (1, 'passkey_accuracy', 256, 'depth=0.5', 1), "
      "(1, 'passkey_accuracy', 512, '', 0.5), (1, 'passkey_accuracy', 512, 'depth=0', 0.5), (1, 'passkey_accuracy', 512, 'depth=0.5', 0.5), "
      "(1, 'longbench', 0, '', 0.375), (1, 'longbench', 0, 'longbench_task=qasper', 0.25), (1, 'longbench', 0, 'longbench_task=trec', 0.5), "
      "(1, 'best_attention_scale', 0, '', 1.5), (1, 'best_attention_scale', 64, '', 1), (1, 'best_attention_scale', 128, '', 1.2), "
      "(1, 'position_loss', 64, '', 2), (1, 'position_loss', 64, 'attention_scale=1.2', 3), (1, 'head_scale', 0, 'layer=0,head=0', 1.1), "
      "(1, 'attention_entropy', 128, '', 1), (1, 'attention_entropy', 128, 'layer=0,head=0', 9)"));

  EXPECT_THAT(test_.Violations(), IsEmpty());
}

TEST_F(CheckTest, WhatAnotherTrainerSaysOverAllLengthsNeedBeNoMean) {
  ASSERT_OK(test_.db().Execute("UPDATE attempts SET engine = 'theirs' WHERE id = 1; INSERT INTO measurements VALUES (1, 'accuracy', 41, '', 0.4)"));

  EXPECT_THAT(test_.Violations(), IsEmpty());
}

TEST_F(CheckTest, AMissingFileIsFoundAndADamagedOneWhenFilesAreRead) {
  const ArtifactFiles& files = test_.store->artifacts();
  WriteFile(files.PathOf(Sha256Of("the weights")), "the wEights");
  EXPECT_THAT(test_.Violations(false), IsEmpty());
  EXPECT_THAT(test_.Violations(true), ElementsAre(HasSubstr("is damaged")));

  std::filesystem::remove(files.PathOf(Sha256Of("the weights")));

  EXPECT_THAT(test_.Violations(false), ElementsAre(HasSubstr("its file is missing")));
}

TEST_F(CheckTest, ARowThatNamesAnotherJobsPartOfAFileIsFoundWhenFilesAreRead) {
  // A pack of two that was interrupted, whose rows have changed places.
  const std::vector<NewJob> pack = {MakeJob("reverse_string", "rope", false, 0.001, 0), MakeJob("reverse_string", "rope", false, 0.001, 1)};
  const std::vector<int64_t> jobs = test_.AddSweep("three", pack);
  const int64_t attempt = test_.Start("w1", jobs, 60);
  const std::string bytes = PackFileBytes("checkpoint", 60, {pack[0].id, pack[1].id});
  test_.AddFile(jobs[0], "checkpoint", 60, attempt, bytes, 0);
  test_.AddFile(jobs[1], "checkpoint", 60, attempt, bytes, 1);
  ASSERT_THAT(test_.Violations(true), IsEmpty());
  const std::string of_file = " AND sha256 = '" + Sha256Of(bytes) + "'";

  ASSERT_OK(test_.db().Execute("UPDATE artifacts SET member = 1 - member WHERE kind = 'checkpoint'" + of_file));

  EXPECT_THAT(test_.Violations(false), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const CheckReport swapped, Check(test_.db(), test_.store->artifacts(), true));
  EXPECT_THAT(swapped.violations, ::testing::UnorderedElementsAre(HasSubstr("its member 1 is of job " + pack[1].id.substr(0, 8)),
                                                                  HasSubstr("its member 0 is of job " + pack[0].id.substr(0, 8))));
  EXPECT_TRUE(swapped.Has(Concern::kParts));
  ASSERT_EQ(swapped.misplaced.size(), 2u);
  EXPECT_EQ(swapped.misplaced[0].member, swapped.misplaced[0].part.job == jobs[0] ? 0 : 1);

  // Of another step, which is in no file, and with a member too many.
  ASSERT_OK(test_.db().Execute("UPDATE artifacts SET member = 1 - member WHERE kind = 'checkpoint'" + of_file));
  ASSERT_OK(test_.db().Execute("UPDATE artifacts SET step = 61 WHERE job = " + std::to_string(jobs[0]) + of_file));
  ASSERT_OK(test_.db().Execute("UPDATE jobs SET checkpoint_step = 61 WHERE num = " + std::to_string(jobs[0])));
  ASSERT_OK(test_.db().Execute("UPDATE artifacts SET member = 2 WHERE job = " + std::to_string(jobs[1]) + of_file));
  ASSERT_OK_AND_ASSIGN(const CheckReport other, Check(test_.db(), test_.store->artifacts(), true));
  EXPECT_THAT(other.violations, ::testing::UnorderedElementsAre(HasSubstr("the file says that it is of step 60, and its row of step 61"),
                                                                HasSubstr("the file has 2 members and none with the number 2")));
  ASSERT_EQ(other.misplaced.size(), 2u);
  for (const MisplacedPart& part : other.misplaced) {
    EXPECT_EQ(part.member, part.part.job == jobs[0] ? std::nullopt : std::optional(1)) << "no place in the file makes it one of step 61";
  }
}

// Files may be read for hours, in which the store goes on.
TEST_F(CheckTest, WhatRowsSayOfAFilesPartsIsAskedWhenItIsRead) {
  const NewJob job = MakeJob("reverse_string", "rope", false, 0.001, 0);
  const std::vector<int64_t> jobs = test_.AddSweep("three", {job});
  const int64_t attempt = test_.Start("w1", jobs, 60);
  test_.AddFile(jobs[0], "checkpoint", 60, attempt, PackFileBytes("checkpoint", 60, {job.id}), 7);
  ASSERT_THAT(test_.Violations(true), ElementsAre(HasSubstr("the file has 1 members and none with the number 7")));

  ExpectedFiles expected;
  ASSERT_OK_AND_ASSIGN(CheckReport report, CheckRows(test_.db(), expected));
  ASSERT_OK(test_.db().Run("UPDATE artifacts SET member = 0 WHERE job = ?", jobs[0]));
  std::vector<std::string> asked;
  const AskParts parts_of = [&](const NamedFile& file) {
    asked.push_back(file.What());
    return PartsOf(test_.db(), file);
  };
  ASSERT_OK(CheckFiles(test_.store->artifacts(), std::move(expected), parts_of, {}, report));

  EXPECT_THAT(report.violations, IsEmpty());
  EXPECT_THAT(asked, ::testing::SizeIs(3)) << "each file once";
  EXPECT_THAT(asked, Contains("weights " + Sha256Of("the weights").substr(0, 8) + " of 1 jobs"));
}

TEST_F(CheckTest, AFileThatRowsNameIsNobodysNeitherWhereItIsLostNorWhereItsKindIsNone) {
  const ArtifactFiles& files = test_.store->artifacts();
  WriteFile(files.PathOf(Sha256Of("the weights")), "the wEights");
  WriteFile(files.PathOf(Sha256Of("the checkpoint")), "short");
  ASSERT_OK(test_.db().Execute("PRAGMA ignore_check_constraints = ON; UPDATE artifacts SET kind = 'odd' WHERE kind = 'weights'; PRAGMA ignore_check_constraints = OFF"));

  ASSERT_OK_AND_ASSIGN(const CheckReport report, Check(test_.db(), files, true));

  EXPECT_THAT(report.violations, Contains(HasSubstr("file " + Sha256Of("the weights").substr(0, 8) + " of 1 jobs: ")));
  EXPECT_THAT(report.violations, Contains(HasSubstr("checkpoint " + Sha256Of("the checkpoint").substr(0, 8) + " of 1 jobs: its file has 5 bytes instead of 14")));
  EXPECT_EQ(report.lost.size(), 2u);
  EXPECT_TRUE(report.unnamed.empty());
}

TEST_F(CheckTest, AFileThatNothingNamesIsNamedWhenFilesAreReadAndIsNoViolation) {
  ArtifactFiles& files = test_.store->artifacts();
  test_.PutFile("nobody's");
  files.Settle(Sha256Of("nobody's"));
  test_.PutFile("on its way");  // Unsettled.
  test_.PutFile("to be removed");
  files.Settle(Sha256Of("to be removed"));
  ASSERT_OK(test_.Write([](sql::Transaction& tx) { return NoteUnnamed(tx, Sha256Of("to be removed")); }));

  ASSERT_OK_AND_ASSIGN(const CheckReport report, Check(test_.db(), files, true));

  EXPECT_THAT(report.violations, IsEmpty());
  ASSERT_EQ(report.unnamed.size(), 1u);
  EXPECT_EQ(report.unnamed[0].sha256, Sha256Of("nobody's"));
  EXPECT_EQ(report.unnamed[0].bytes, 8);
  ASSERT_OK_AND_ASSIGN(const CheckReport quick, Check(test_.db(), files, false));
  EXPECT_TRUE(quick.unnamed.empty());
}

TEST_F(CheckTest, AMultitudeIsCutShort) {
  ASSERT_OK(test_.db().Execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) "
                               "INSERT INTO sweeps(id, name, submitted_at, asked_at, spec, jobs_failed) "
                               "SELECT 'id' || i, 'x', 0, 0, '', 1 FROM n"));
  // Neither is a sweep's id the hash of what it is, nor do its counts hold.
  EXPECT_GE(std::ranges::count(test_.Violations(), std::string("... and 10 more of this kind")), 2);
}

TEST_F(CheckTest, AMultitudeOfFilesIsCutShortAndNothingElseIs) {
  CheckReport report{.violations = {"the sweep one counts 7 jobs, and has 2"}};
  for (int file = 0; file < 30; ++file) {
    report.violations.push_back("file " + std::to_string(file));
    report.concerns[report.violations.back()] = Concern::kArtifacts;
  }
  report.concerns[report.violations.front()] = Concern::kWork;

  CutFilesShort(report);

  ASSERT_EQ(report.violations.size(), 22u);
  EXPECT_EQ(report.violations.front(), "the sweep one counts 7 jobs, and has 2");
  EXPECT_EQ(report.violations[20], "file 19");
  EXPECT_EQ(report.violations.back(), "... and 10 more of this kind");
  EXPECT_TRUE(report.Has(Concern::kArtifacts));
}

TEST_F(CheckTest, DamagedPagesAreFound) {
  // The middle of the file is overwritten behind SQLite's back.
  const std::filesystem::path copy = folder_ / "copy.db";
  ASSERT_OK(Backup(test_.db(), copy));
  std::string bytes = ReadWhole(copy);
  ASSERT_GT(bytes.size(), 40'000u);
  for (size_t at = 20'480; at < 32'768; ++at) bytes[at] = static_cast<char>(at * 7);
  WriteFile(copy, bytes);

  ASSERT_OK_AND_ASSIGN(sql::Connection db, sql::Connection::Open(copy, sql::Mode::kReadOnly));
  const absl::StatusOr<CheckReport> report = Check(db, test_.store->artifacts(), false);

  EXPECT_TRUE(!report.ok() || !report->violations.empty());
}

}  // namespace
}  // namespace longreach::store
