#include "store/migrate.h"

#include <fmt/format.h>

#include "store/attempts.h"
#include "store/jobs.h"
#include "store/workers.h"
#include "tests/store/fixture.h"

namespace longreach::store {
namespace {

using ::testing::HasSubstr;
using longreach::testing::TemporaryFolder;

constexpr std::string_view kSecond = "ALTER TABLE sweeps ADD COLUMN note TEXT NOT NULL DEFAULT ''";
constexpr std::string_view kBroken = "ALTER TABLE sweeps ADD COLUMN note2 TEXT; UPDATE no_such_table SET x = 1";

std::vector<std::string_view> With(std::initializer_list<std::string_view> more) {
  std::vector<std::string_view> all(Migrations().begin(), Migrations().end());
  all.insert(all.end(), more);
  return all;
}

class MigrateTest : public ::testing::Test {
 protected:
  sql::Connection Open() { return *sql::Connection::Open(file_, sql::Mode::kReadWriteCreate); }
  TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_ / "s.db";
};

TEST_F(MigrateTest, ANewFileGetsTheNewestSchemaAndOurMark) {
  sql::Connection db = Open();

  EXPECT_EQ(*Migrate(db), 0);

  EXPECT_EQ(*db.One<int>("PRAGMA user_version"), SchemaVersion());
  EXPECT_EQ(*db.One<int>("PRAGMA application_id"), kApplicationId);
  EXPECT_EQ(*db.One<int>("SELECT count(*) FROM jobs"), 0);
  EXPECT_EQ(*Migrate(db), SchemaVersion()) << "once more changes nothing";
}

TEST_F(MigrateTest, AnOlderFileIsCopiedAndBroughtUpWithItsRows) {
  sql::Connection db = Open();
  ASSERT_OK(Migrate(db));
  ASSERT_OK(db.Run("INSERT INTO sweeps(id, name, submitted_at, asked_at, spec) VALUES ('i', 'kept', 0, 0, '')"));
  const int before = SchemaVersion();

  ASSERT_OK_AND_ASSIGN(int found, Migrate(db, With({kSecond})));

  EXPECT_EQ(found, before);
  EXPECT_EQ(*db.One<int>("PRAGMA user_version"), before + 1);
  EXPECT_EQ(*db.One<std::string>("SELECT name || note FROM sweeps"), "kept");
  EXPECT_EQ(*db.One<int>("PRAGMA foreign_keys"), 1);
  ASSERT_OK_AND_ASSIGN(sql::Connection copy,
                       sql::Connection::Open(file_.string() + ".v" + std::to_string(before) + ".backup", sql::Mode::kReadOnly));
  EXPECT_EQ(*copy.One<int>("PRAGMA user_version"), before);
  EXPECT_EQ(*copy.One<std::string>("SELECT name FROM sweeps"), "kept");
}

// Schema 5 writes the jobs anew, with numbers for their pack keys.
TEST_F(MigrateTest, JobsOfTheFourthSchemaKeepTheirNumbersAndTheirPacks) {
  sql::Connection db = Open();
  ASSERT_OK(Migrate(db, Migrations().first(4)));
  ASSERT_OK(db.Execute("INSERT INTO requirements VALUES (1, 'algorithmic', 'even_pairs', 1, 'none', 1, 1, '');"
                       "INSERT INTO sweeps(num, id, name, submitted_at, asked_at, spec, jobs_queued) VALUES (1, 's', 'kept', 0, 0, '', 3)"));
  for (int seed = 1; seed <= 3; ++seed) {
    ASSERT_OK(db.Run("INSERT INTO jobs(num, id, experiment, task, encoding, randomized, learning_rate, seed, steps, state, wanted, failures, "
                     "requirement, pack_key, spec) VALUES (?, ?, 'algorithmic', 'even_pairs', 'none', 0, 0.1, ?, 9, 'queued', 1, 2, 1, ?, 'text')",
                     10 * seed, Sha256Of(std::to_string(seed)), seed, seed == 2 ? "b" : "a"));
    ASSERT_OK(db.Run("INSERT INTO sweep_jobs VALUES (1, 'member', ?, ?)", seed, 10 * seed));
  }

  EXPECT_EQ(*Migrate(db), 4);

  for (int seed = 1; seed <= 3; ++seed) {
    ASSERT_OK_AND_ASSIGN(const JobRow job, GetJob(db, 10 * seed));
    EXPECT_EQ(job.id, Sha256Of(std::to_string(seed)));
    EXPECT_EQ(job.pack_key, seed == 2 ? "b" : "a");
    EXPECT_EQ(job.failures, 2);
    EXPECT_EQ(*FindJobNum(db, job.id), 10 * seed);
  }
  ASSERT_OK_AND_ASSIGN(const std::optional<LeaseGroup> group, NextGroup(db, 1));
  ASSERT_OK_AND_ASSIGN(const std::vector<JobRow> together, JobsOfGroup(db, *group, 9));
  ASSERT_EQ(together.size(), 2U);
  EXPECT_EQ(together[1].num, 30);
  ASSERT_OK(db.Run("UPDATE jobs SET state = 'failed' WHERE num = 10"));
  EXPECT_EQ(*db.One<int>("SELECT jobs_queued * 10 + jobs_failed FROM sweeps"), 21) << "the counters still follow the jobs";
  EXPECT_EQ(*db.One<int>("SELECT count(*) FROM jobs_view"), 3);
  EXPECT_EQ(*db.One<int>("SELECT jobs FROM table_b1"), 3);
}

// Schema 6 has other views, over the same rows.
TEST_F(MigrateTest, JobsOfTheFifthSchemaHaveTheScoreOfTheirKind) {
  sql::Connection db = Open();
  ASSERT_OK(Migrate(db, Migrations().first(5)));
  ASSERT_OK(db.Execute("INSERT INTO requirements VALUES (1, 'language', 'enwik8', 1, 'none', 1, 1, 'enwik8'); INSERT INTO pack_keys VALUES (1, 'a');"
                       "INSERT INTO workers(id, name, incarnation, abilities, build, device, threads, pack_limit, first_seen_at, seen_at) "
                       "VALUES ('w', 'w', 1, '{}', 'b', 'cpu', 1, 1, 0, 0);"
                       "INSERT INTO attempts(id, worker, incarnation, started_at, ended_at, outcome, build, device, threads, members, start_step) "
                       "VALUES (1, 'w', 1, 0, 1, 'succeeded', 'b', 'cpu', 1, 1, 0);"
                       "INSERT INTO jobs(num, id, experiment, task, encoding, randomized, learning_rate, seed, steps, state, attempt, requirement, "
                       "pack_key, spec) VALUES (1, 'i', 'language', 'enwik8', 'none', 0, 0.1, 0, 9, 'succeeded', 1, 1, 1, 'text');"
                       "INSERT INTO measurements VALUES (1, 'cross_entropy', 0, '', 300), (1, 'cross_entropy', 256, '', 300), (1, 'accuracy', 0, '', 0.5);"
                       "INSERT INTO sweeps(num, id, name, submitted_at, asked_at, spec) VALUES (1, 's', 'kept', 0, 0, '');"
                       "INSERT INTO sweep_jobs VALUES (1, 'member', 0, 1)"));

  EXPECT_EQ(*Migrate(db), 5);

  EXPECT_EQ(*db.One<std::string>("SELECT metric FROM jobs_view"), "cross_entropy");
  EXPECT_EQ(*db.One<double>("SELECT score FROM jobs_view"), 300);
  EXPECT_EQ(*db.One<double>("SELECT accuracy FROM jobs_view"), 0.5);
  EXPECT_EQ(*db.One<double>("SELECT score FROM table_1 WHERE length = 256"), 300);
}

// Schema 9 keeps the tables that sweeps are submitted with.
TEST_F(MigrateTest, SweepsOfTheEighthSchemaHaveNoTableUntilOneIsGiven) {
  sql::Connection db = Open();
  ASSERT_OK(Migrate(db, Migrations().first(8)));
  ASSERT_OK(db.Run("INSERT INTO sweeps(num, id, name, submitted_at, asked_at, spec) VALUES (1, 's', 'kept', 0, 0, 'text')"));

  EXPECT_EQ(*Migrate(db), 8);

  EXPECT_EQ(GetSweep(db, 1)->name, "kept");
  EXPECT_EQ(*TableOfSweep(db, 1), "");
  ASSERT_OK_AND_ASSIGN(sql::Transaction tx, sql::Transaction::Begin(db));
  ASSERT_OK(SetSweepTable(tx, 1, "{}"));
  ASSERT_OK(tx.Commit());
  EXPECT_EQ(*TableOfSweep(db, 1), "{}");
}

TEST_F(MigrateTest, WhatSweepsOfTheTenthSchemaGaveUpIsNoMoreToBeWaitedFor) {
  sql::Connection db = Open();
  ASSERT_OK(Migrate(db, Migrations().first(10)));
  ASSERT_OK(db.Execute("INSERT INTO requirements VALUES (1, 'algorithmic', 'even_pairs', 1, 'none', 1, 1, '');"
                       "INSERT INTO pack_keys(num, key) VALUES (1, 'a');"
                       "INSERT INTO sweeps(num, id, name, submitted_at, asked_at, spec, jobs_queued, jobs_failed) VALUES (1, 's', 'kept', 0, 0, '', 2, 1)"));
  for (int seed = 1; seed <= 3; ++seed) {
    ASSERT_OK(db.Run("INSERT INTO jobs(num, id, experiment, task, encoding, randomized, learning_rate, seed, steps, state, wanted, failure, "
                     "requirement, pack_key, spec) VALUES (?, ?, 'algorithmic', 'even_pairs', 'none', 0, 0.1, ?, 9, ?, 1, 'it broke', 1, 1, 'text')",
                     seed, Sha256Of(std::to_string(seed)), seed, seed == 3 ? "failed" : "queued"));
    ASSERT_OK(db.Run("INSERT INTO sweep_jobs VALUES (1, 'member', ?, ?)", seed - 1, seed));
  }
  ASSERT_OK(db.Execute("INSERT INTO given_up VALUES (1, 2), (1, 3)"));

  EXPECT_EQ(*Migrate(db), 10);

  ASSERT_OK_AND_ASSIGN(const SweepRow sweep, GetSweep(db, 1));
  EXPECT_EQ(sweep.counts.queued, 1);
  EXPECT_EQ(sweep.counts.failed, 0);
  EXPECT_EQ(sweep.counts.cancelled, 2);
}

// Schema 12 has more views, over the same rows.
TEST_F(MigrateTest, SystemsOfTheEleventhSchemaAreRowsOfTheNopePapersTables) {
  sql::Connection db = Open();
  ASSERT_OK(Migrate(db, Migrations().first(11)));
  ASSERT_OK(db.Execute("INSERT INTO requirements VALUES (1, 'llama', 'tokens', 1, 'none', 1, 1, 'pg19 tinyllama-nope'); INSERT INTO pack_keys VALUES (1, 'a');"
                       "INSERT INTO workers(id, name, incarnation, abilities, build, device, threads, pack_limit, first_seen_at, seen_at) "
                       "VALUES ('w', 'w', 1, '{}', 'b', 'cpu', 1, 1, 0, 0);"
                       "INSERT INTO attempts(id, worker, incarnation, started_at, ended_at, outcome, build, device, threads, members, start_step) "
                       "VALUES (1, 'w', 1, 0, 1, 'succeeded', 'b', 'cpu', 1, 1, 0);"
                       "INSERT INTO jobs(num, id, experiment, task, encoding, randomized, learning_rate, seed, steps, state, attempt, requirement, "
                       "pack_key, spec) VALUES (1, 'i', 'llama', 'tokens', 'none', 0, 0.1, 0, 0, 'succeeded', 1, 1, 1, 'text'), "
                       "(2, 'j', 'llama', 'tokens', 'none', 0, 0.1, 0, 0, 'queued', NULL, 1, 1, 'text');"
                       "INSERT INTO measurements VALUES (1, 'perplexity', 0, '', 4), (1, 'perplexity', 2048, '', 3.5)"));
  ASSERT_OK(db.Run("INSERT INTO sweeps(num, id, name, submitted_at, asked_at, spec) VALUES (1, 's', 'kept', 0, 0, ?)",
                   "longreach-sweep/1\naxes.encoding=none\naxes.learning_rate=0.1\naxes.seed=0\naxes.task=tokens\nexperiment=llama\nname=kept\n"
                   "systems.nope-scale-1\\.2.with.model.attention_scale=1.2\nsystems.nope=\n"));
  ASSERT_OK(db.Run("INSERT INTO sweep_jobs VALUES (1, 'member', 0, 2), (1, 'member', 1, 1)"));

  EXPECT_EQ(*Migrate(db), 11);

  EXPECT_EQ(*db.All<std::string>("SELECT system || ' ' || length || ' ' || ifnull(score, '-') || ' ' || data FROM nope_table_1 ORDER BY system"),
            (std::vector<std::string>{"nope 2048 - pg19", "nope-scale-1.2 2048 3.5 pg19"}));
}

// Schema 13 keeps what attempts went on from.
TEST_F(MigrateTest, OfAttemptsOfTheTwelfthSchemaNobodyKnowsWhatTheyWentOnFrom) {
  sql::Connection db = Open();
  ASSERT_OK(Migrate(db, Migrations().first(12)));
  ASSERT_OK(db.Execute("INSERT INTO requirements VALUES (1, 'algorithmic', 'even_pairs', 1, 'none', 1, 1, ''); INSERT INTO pack_keys VALUES (1, 'a');"
                       "INSERT INTO workers(id, name, incarnation, abilities, build, device, threads, pack_limit, first_seen_at, seen_at) "
                       "VALUES ('w', 'w', 1, '{}', 'b', 'cpu', 1, 1, 0, 0);"
                       "INSERT INTO attempts(id, worker, incarnation, started_at, ended_at, outcome, build, device, threads, members, start_step) "
                       "VALUES (1, 'w', 1, 0, 1, 'given_back', 'b', 'cpu', 1, 1, 0), (2, 'w', 1, 1, 2, 'succeeded', 'b', 'cpu', 1, 1, 5);"
                       "INSERT INTO jobs(num, id, experiment, task, encoding, randomized, learning_rate, seed, steps, state, attempt, requirement, "
                       "pack_key, spec) VALUES (1, 'i', 'algorithmic', 'even_pairs', 'none', 0, 0.1, 0, 9, 'succeeded', 2, 1, 1, 'text');"
                       "INSERT INTO attempt_jobs VALUES (1, 0, 1, 0), (2, 0, 1, 0)"));

  EXPECT_EQ(*Migrate(db), 12);

  ASSERT_OK_AND_ASSIGN(const std::vector<AttemptRow> attempts, AttemptsOfJob(db, 1));
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].start_step, 5);
  EXPECT_EQ(attempts[0].from_attempt, std::nullopt);
  EXPECT_EQ(*db.One<int>("SELECT count(*) FROM attempts_view WHERE went_on_from IS NULL"), 2);
}

// Schema 14 keeps what sweeps are expected to take.
TEST_F(MigrateTest, OfSweepsOfTheThirteenthSchemaNobodyKnowsWhatTheyWereExpectedToTake) {
  sql::Connection db = Open();
  ASSERT_OK(Migrate(db, Migrations().first(13)));
  ASSERT_OK(db.Run("INSERT INTO sweeps(num, id, name, submitted_at, asked_at, spec) VALUES (1, 's', 'kept', 0, 0, 'text')"));

  EXPECT_EQ(*Migrate(db), 13);

  EXPECT_FALSE(GetSweep(db, 1)->expected.has_value());
  ASSERT_OK_AND_ASSIGN(sql::Transaction tx, sql::Transaction::Begin(db));
  ASSERT_OK(SetSweepExpected(tx, 1, {.seconds = 90, .made_at = WallTime(std::chrono::seconds(5))}));
  ASSERT_OK(tx.Commit());
  ASSERT_TRUE(GetSweep(db, 1)->expected.has_value());
  EXPECT_EQ(GetSweep(db, 1)->expected->seconds, 90);
  EXPECT_EQ(GetSweep(db, 1)->expected->made_at, WallTime(std::chrono::seconds(5)));
  EXPECT_FALSE(db.Run("UPDATE sweeps SET expected_at = NULL").ok()) << "one without the other says nothing";
}

TEST_F(MigrateTest, EachUpgradeIsPrecededByACopyUnlessTheLastIsTheSame) {
  sql::Connection db = Open();
  ASSERT_OK(Migrate(db));
  const std::string copy = fmt::format("{}.v{}.backup", file_.string(), SchemaVersion());
  const auto upgrade = [&] { EXPECT_FALSE(Migrate(db, With({kBroken})).ok()); };
  const auto sweeps_in = [](const std::string& file) {
    return *sql::Connection::Open(file, sql::Mode::kReadOnly)->One<int>("SELECT count(*) FROM sweeps");
  };

  upgrade();
  upgrade();
  EXPECT_TRUE(std::filesystem::exists(copy));
  EXPECT_FALSE(std::filesystem::exists(copy + ".2")) << "nothing had changed";
  ASSERT_OK(db.Run("INSERT INTO sweeps(id, name, submitted_at, asked_at, spec) VALUES ('i', 'newer', 0, 0, '')"));
  upgrade();

  EXPECT_EQ(sweeps_in(copy), 0);
  EXPECT_EQ(sweeps_in(copy + ".2"), 1);
}

// Schema 15 says which device of its kind it was.
TEST_F(MigrateTest, AttemptsOfTheFourteenthSchemaDoNotSayWhichDeviceTheyHad) {
  sql::Connection db = Open();
  ASSERT_OK(Migrate(db, Migrations().first(14)));
  ASSERT_OK(db.Execute("INSERT INTO workers(id, name, incarnation, abilities, build, device, threads, pack_limit, first_seen_at, seen_at) "
                       "VALUES ('w', 'w', 1, '{}', 'b', 'GPU', 1, 1, 0, 0);"
                       "INSERT INTO attempts(id, worker, incarnation, started_at, ended_at, outcome, build, device, threads, members) "
                       "VALUES (1, 'w', 1, 0, 1, 'succeeded', 'b', 'GPU', 1, 1)"));

  EXPECT_EQ(*Migrate(db, Migrations().first(15)), 14);

  EXPECT_EQ(*db.One<std::string>("SELECT device || device_id FROM attempts"), "GPU");
  EXPECT_EQ((*FindAttempt(db, 1))->device_id, "");
  EXPECT_EQ((*FindWorker(db, "w"))->device_id, "");
}

TEST_F(MigrateTest, AMigrationThatFailsLeavesTheFileAtTheVersionBefore) {
  sql::Connection db = Open();
  ASSERT_OK(Migrate(db));

  const absl::Status status = Migrate(db, With({kSecond, kBroken})).status();

  EXPECT_THAT(std::string(status.message()), HasSubstr("no_such_table"));
  EXPECT_EQ(*db.One<int>("PRAGMA user_version"), SchemaVersion() + 1);
  EXPECT_EQ(*db.One<int>("SELECT count(*) FROM pragma_table_info('sweeps') WHERE name LIKE 'note%'"), 1);
}

TEST_F(MigrateTest, AMigrationThatFailsLeavesANewFileEmpty) {
  sql::Connection db = Open();

  const absl::Status status = Migrate(db, With({kSecond, kBroken})).status();

  EXPECT_THAT(std::string(status.message()), HasSubstr("no_such_table"));
  EXPECT_EQ(*db.One<int>("PRAGMA user_version"), 0);
  EXPECT_EQ(*db.One<int>("SELECT count(*) FROM sqlite_schema"), 0);
  EXPECT_EQ(*Migrate(db), 0) << "and nothing is in the way of the next try";
  EXPECT_EQ(*db.One<int>("PRAGMA user_version"), SchemaVersion());
}

TEST_F(MigrateTest, ANewerFileIsRefusedAndLeftAsItIs) {
  {
    sql::Connection db = Open();
    ASSERT_OK(Migrate(db, With({kSecond})));
  }
  const std::string before = ReadWhole(file_);

  const absl::Status status = Store::Open(file_.string()).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("newer Longreach (store version " + std::to_string(SchemaVersion() + 1) + "; this one knows up to " +
                                                     std::to_string(SchemaVersion()) + ")"));
  EXPECT_EQ(ReadWhole(file_), before);
  EXPECT_FALSE(std::filesystem::exists(file_.string() + ".lock"));
}

TEST_F(MigrateTest, ADatabaseOfAnotherProgramIsRefusedAndLeftAsItIs) {
  {
    sql::Connection db = Open();
    ASSERT_OK(db.Execute("CREATE TABLE places(url TEXT)"));
  }
  const std::string before = ReadWhole(file_);

  const absl::Status status = Store::Open(file_.string()).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("not a store of Longreach"));
  EXPECT_EQ(ReadWhole(file_), before);
}

}  // namespace
}  // namespace longreach::store
