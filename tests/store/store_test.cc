#include "store/store.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <fstream>

#include "store/identity.h"
#include "store/job_row.h"
#include "store/maintenance.h"
#include "store/migrate.h"
#include "tests/store/fixture.h"

namespace longreach::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using longreach::testing::TemporaryFolder;

std::vector<std::string> NamesIn(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

TEST(StoreTest, AFolderThatIsNotThereIsSaidToBeMade) {
  TemporaryFolder folder;
  const absl::Status status = Store::Open((folder / "none" / "s.db").string()).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("/none'; make it, or name another"));
}

TEST(StoreTest, ASecondSchedulerIsRefusedWhileTheFirstHoldsTheFile) {
  TemporaryFolder folder;
  TestStore first(folder / "s.db");

  const absl::Status status = Store::Open((folder / "s.db").string()).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("s.db' is held by another scheduler"));
  EXPECT_EQ(status.GetPayload(kHeldAt), absl::Cord(""));  // It has not said where it listens.
  first.store.reset();
  EXPECT_OK(Store::Open((folder / "s.db").string()));
}

TEST(StoreTest, WhoIsRefusedIsToldWhereTheHolderListens) {
  TemporaryFolder folder;
  std::ofstream(folder / "s.db.lock") << "unix:/of/one/that/was/killed.sock\n";
  TestStore first(folder / "s.db");
  EXPECT_EQ(Store::Open((folder / "s.db").string()).status().GetPayload(kHeldAt), absl::Cord(""));
  first.store->ListensAt("unix:/run/user/1000/longreach-AbCdEf/scheduler.sock");
  first.store->ListensAt("localhost:7070");  // Shorter than what it said before.

  const absl::Status status = Store::Open((folder / "s.db").string()).status();

  EXPECT_THAT(std::string(status.message()), HasSubstr("held by another scheduler, at localhost:7070; stop that one, talk to it with --scheduler localhost:7070"));
  EXPECT_EQ(status.GetPayload(kHeldAt), absl::Cord("localhost:7070"));
  EXPECT_FALSE(status.GetPayload(kSoonFree).has_value());
  first.store->ListensAt("unix:/run/s.sock", /*soon_free=*/true);
  const absl::Status soon = Store::Open((folder / "s.db").string()).status();
  EXPECT_EQ(soon.GetPayload(kHeldAt), absl::Cord("unix:/run/s.sock"));
  EXPECT_TRUE(soon.GetPayload(kSoonFree).has_value());
  EXPECT_THAT(std::string(soon.message()), HasSubstr("at unix:/run/s.sock; it is that of a command, as 'longreach store check': try again when that has ended, talk to it with --scheduler unix:/run/s.sock"));
  // Other words are not repeated.
  std::ofstream(folder / "s.db.lock") << "\x1b[2J\n";
  EXPECT_THAT(std::string(Store::Open((folder / "s.db").string()).status().message()), HasSubstr("held by another scheduler; stop"));
}

// Two schedulers that write one file lose what one of them has answered.
TEST(StoreTest, UnderAnotherNameTheFileIsHeldToo) {
  TemporaryFolder folder;
  TestStore first(folder / "s.db");
  std::filesystem::create_hard_link(folder / "s.db", folder / "linked.db");
  const auto refused = [&folder](const char* name) { return std::string(Store::Open((folder / name).string()).status().message()); };
  EXPECT_THAT(refused("linked.db"), HasSubstr("linked.db' is held by another scheduler under another name"));
  std::filesystem::remove(folder / "s.db.lock");
  EXPECT_THAT(refused("s.db"), HasSubstr("s.db' is held by another scheduler under another name"));
  std::filesystem::rename(folder / "s.db", folder / "moved.db");
  EXPECT_THAT(refused("moved.db"), HasSubstr("under another name"));
}

TEST(StoreTest, ALinkToTheFileIsTheSameStore) {
  TemporaryFolder folder;
  TestStore first(folder / "s.db");
  std::filesystem::create_symlink(folder / "s.db", folder / "link.db");

  EXPECT_EQ(Store::Open((folder / "link.db").string()).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(StoreTest, WhatIsNoDatabaseIsRefusedAndNothingIsPutBeside) {
  TemporaryFolder folder;
  WriteFile(folder / "notes.txt", "some notes that are longer than a header of a database\n");

  const absl::Status status = Store::Open((folder / "notes.txt").string()).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("notes.txt' is not a database"));
  EXPECT_THAT(NamesIn(folder.path()), ElementsAre("notes.txt"));
  EXPECT_EQ(Store::Open(folder.path().string()).status().code(), absl::StatusCode::kFailedPrecondition) << "a folder";
  EXPECT_EQ(Store::Open((folder / "none/s.db").string()).status().code(), absl::StatusCode::kNotFound);
}

TEST(StoreTest, APipeIsRefusedAndNotWaitedFor) {
  TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);

  const absl::Status status = Store::Open((folder / "pipe").string()).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("pipe' is not a database but a pipe, a device or the like"));
  EXPECT_THAT(NamesIn(folder.path()), ElementsAre("pipe"));
}

TEST(StoreTest, ADatabaseCutOffInTheMiddleIsDataLoss) {
  TemporaryFolder folder;
  WriteFile(folder / "s.db", std::string("SQLite format 3\0", 16) + std::string(84, 'x'));

  EXPECT_EQ(Store::Open((folder / "s.db").string()).status().code(), absl::StatusCode::kDataLoss);
}

TEST(StoreTest, IsTheSameStoreWhenItIsOpenedAgainOrCopiedAndNoOtherIs) {
  TemporaryFolder folder;
  std::string identity;
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Store> made, Store::Open((folder / "s.db").string()));
    ASSERT_OK_AND_ASSIGN(identity, Identity(made->writer_connection()));
    ASSERT_OK(Backup(made->writer_connection(), folder / "copy.db"));
    ASSERT_OK(Store::Open((folder / "other.db").string()));
  }
  EXPECT_THAT(identity, ::testing::MatchesRegex("[0-9a-f]{32}"));
  TestStore again(folder / "s.db"), copy(folder / "copy.db"), other(folder / "other.db"), memory(":memory:");
  EXPECT_EQ(*Identity(again.db()), identity);
  EXPECT_EQ(*Identity(copy.db()), identity);
  EXPECT_NE(*Identity(other.db()), identity);
  EXPECT_NE(*Identity(memory.db()), *Identity(other.db()));
}

// What tests of stores begin with (store_folder.h) is what a new store is, but for its identity.
TEST(StoreTest, ACopyOfAnEmptyStoreIsAsANewOne) {
  TemporaryFolder folder;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Store> made, Store::Open((folder / "s.db").string()));
  TestStore copy, other;

  const auto text = [](sql::Connection& db, const std::string& query) {
    std::string lines;
    absl::StatusOr<sql::Rows> rows = db.Query(query);
    EXPECT_OK(rows);
    while (rows.ok() && rows->Next()) lines += rows->Get<std::string>(0) + "\n";
    return lines;
  };
  for (const char* query : {"SELECT type || name || tbl_name || ifnull(sql, '') FROM sqlite_schema ORDER BY rowid", "SELECT name || seq FROM sqlite_sequence ORDER BY name",
                            "SELECT count(*) || max(length(id)) || max(artifacts) FROM identity", "SELECT user_version FROM pragma_user_version"}) {
    EXPECT_EQ(text(copy.db(), query), text(made->writer_connection(), query)) << query;
  }
  EXPECT_THAT(*Identity(copy.db()), ::testing::MatchesRegex("[0-9a-f]{32}"));
  EXPECT_NE(*Identity(copy.db()), *Identity(other.db()));
  EXPECT_THAT(copy.Violations(), IsEmpty());
}

TEST(StoreTest, AReaderSeesOneMomentAndDoesNotWaitForTheWriter) {
  TemporaryFolder folder;
  TestStore test(folder / "s.db");
  test.AddSweep("one", MakePack(2));
  ASSERT_OK_AND_ASSIGN(Snapshot before, test.store->Read());
  EXPECT_EQ(*before.db().One<int>("SELECT count(*) FROM jobs"), 2);

  ASSERT_OK_AND_ASSIGN(sql::Transaction tx, sql::Transaction::Begin(test.db()));
  ASSERT_OK(tx.Run("UPDATE jobs SET failures = 1"));
  ASSERT_OK_AND_ASSIGN(Snapshot during, test.store->Read());
  EXPECT_EQ(*during.db().One<int>("SELECT sum(failures) FROM jobs"), 0);
  ASSERT_OK(tx.Commit());

  EXPECT_EQ(*before.db().One<int>("SELECT sum(failures) FROM jobs"), 0);
  EXPECT_EQ(*during.db().One<int>("SELECT sum(failures) FROM jobs"), 0);
  ASSERT_OK_AND_ASSIGN(Snapshot after, test.store->Read());
  EXPECT_EQ(*after.db().One<int>("SELECT sum(failures) FROM jobs"), 2);
}

TEST(StoreTest, AReaderCannotWrite) {
  TemporaryFolder folder;
  TestStore test(folder / "s.db");
  ASSERT_OK_AND_ASSIGN(Snapshot snapshot, test.store->Read());

  EXPECT_EQ(snapshot.db().Run("DELETE FROM jobs").status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_OK_AND_ASSIGN(Snapshot to_check, test.store->ReadToCheck());
  EXPECT_EQ(to_check.db().Run("DELETE FROM jobs").status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(StoreTest, AFolderOfArtifactsIsOneStoresOwn) {
  TemporaryFolder folder;
  const auto open = [&](const std::string& file) { return Store::Open(folder / file, {.artifacts = folder / "art"}).status(); };
  ASSERT_OK(open("a.db"));
  EXPECT_OK(open("a.db"));

  const absl::Status refused = open("b.db");

  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("belongs to the store"));
  // It was moved.
  std::filesystem::rename(folder / "a.db", folder / "c.db");
  EXPECT_OK(open("c.db"));
  EXPECT_FALSE(open("b.db").ok());
}

TEST(StoreTest, AFolderThatAnotherStoreUsesByItsNameIsNotTaken) {
  TemporaryFolder folder;
  ASSERT_OK(Store::Open(folder / "a.db", {}).status());
  const std::filesystem::path of_a = folder / "a.db.artifacts";

  const absl::Status refused = Store::Open(folder / "b.db", {.artifacts = of_a}).status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("belongs to the store '" + (folder / "a.db").string() + "'"));
  EXPECT_OK(Store::Open(folder / "a.db", {.artifacts = of_a}).status()) << "its own, named for itself";
  // The other way round: what a store would use by its name was given to another one.
  ASSERT_OK(Store::Open(folder / "c.db", {.artifacts = folder / "d.db.artifacts"}).status());
  EXPECT_EQ(Store::Open(folder / "d.db", {}).status().code(), absl::StatusCode::kFailedPrecondition);
  // A copy of a store and its folder is a store, also with the note of the original.
  std::filesystem::copy(folder / "c.db", folder / "e.db");
  std::filesystem::copy(folder / "d.db.artifacts", folder / "e.db.artifacts", std::filesystem::copy_options::recursive);
  ASSERT_TRUE(std::filesystem::exists(folder / "e.db.artifacts" / "store"));
  EXPECT_OK(Store::Open(folder / "e.db", {}).status());
  // A folder of that name beside it is no store.
  std::filesystem::create_directory(folder / "project");
  EXPECT_OK(Store::Open(folder / "f.db", {.artifacts = folder / "project.artifacts"}).status());
}

TEST(StoreTest, ANewStoreDoesNotTakeTheFilesOfOneThatWasMovedAway) {
  TemporaryFolder folder;
  {
    TestStore test(folder / "s.db");
    test.AddWorker("w1");
    const std::vector<int64_t> jobs = test.AddSweep("one", MakePack(1));
    test.AddFile(jobs[0], "checkpoint", 10, test.Start("w1", jobs), "a checkpoint");
  }
  std::filesystem::rename(folder / "s.db", folder / "kept.db");

  const absl::Status refused = Store::Open(folder / "s.db").status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("s.db.artifacts'; if that store was moved, move the folder too"));
  EXPECT_THAT(NamesIn(folder.path()), ElementsAre("kept.db", "s.db.artifacts"));
  EXPECT_EQ(Store::Open(folder / "other.db", {.artifacts = folder / "s.db.artifacts"}).status().code(), absl::StatusCode::kFailedPrecondition);
  std::filesystem::rename(folder / "s.db.artifacts", folder / "kept.db.artifacts");
  EXPECT_OK(Store::Open(folder / "s.db").status());
  EXPECT_THAT(TestStore(folder / "kept.db").Violations(true), IsEmpty());
}

TEST(StoreTest, AnEmptyFolderInThePlaceOfTheArtifactsIsTakenForADiskThatIsNotMounted) {
  const testing::TemporaryFolder folder;
  {
    TestStore test(folder / "s.db");
    test.AddWorker("w1");
    const int64_t job = test.AddSweep("one", MakePack(1))[0];
    test.AddFile(job, "checkpoint", 1, test.Start("w1", {job}), "the bytes");
  }
  std::filesystem::rename(folder / "s.db.artifacts", folder / "elsewhere");
  std::filesystem::create_directory(folder / "s.db.artifacts");

  const absl::Status refused = Store::Open(folder / "s.db").status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("is empty, and the store"));
  EXPECT_TRUE(std::filesystem::is_empty(folder / "s.db.artifacts"));
  std::filesystem::remove(folder / "s.db.artifacts");
  EXPECT_OK(Store::Open(folder / "s.db").status()) << "without the files, because somebody wants it";
}

TEST(StoreTest, CommitsSurviveAndNothingButTheStoreStaysBehind) {
  TemporaryFolder folder;
  {
    TestStore test(folder / "s.db");
    test.AddSweep("one", MakePack(3));
  }
  EXPECT_THAT(NamesIn(folder.path()), ElementsAre("s.db", "s.db.artifacts"));

  TestStore again(folder / "s.db");

  EXPECT_EQ(again.store->version_found(), SchemaVersion());
  EXPECT_EQ(again.SweepCounts(1).queued, 3);
  EXPECT_THAT(again.Violations(), IsEmpty());
}

TEST(StoreTest, TheFileIsDurableWalWithForeignKeys) {
  TemporaryFolder folder;
  TestStore test(folder / "s.db");

  EXPECT_EQ(*test.db().One<std::string>("PRAGMA journal_mode"), "wal");
  EXPECT_EQ(*test.db().One<int>("PRAGMA synchronous"), 2);
  EXPECT_EQ(*test.db().One<int>("PRAGMA foreign_keys"), 1);
  EXPECT_EQ(*test.db().One<int64_t>("PRAGMA journal_size_limit"), int64_t{256} << 20) << "a log that has grown is cut back";
}

TEST(StoreTest, AStoreInMemoryIsGoneWithTheObject) {
  std::filesystem::path file;
  {
    TestStore test(":memory:");
    test.AddSweep("one", MakePack(2));
    ASSERT_OK_AND_ASSIGN(Snapshot snapshot, test.store->Read());
    EXPECT_EQ(*snapshot.db().One<int>("SELECT count(*) FROM jobs"), 2);
    file = test.store->file();
    EXPECT_TRUE(std::filesystem::exists(file));
  }
  EXPECT_FALSE(std::filesystem::exists(file.parent_path()));
}

TEST(StoreTest, TwoStoresInMemoryAreTwo) {
  TestStore a(":memory:");
  TestStore b(":memory:");
  a.AddSweep("one", MakePack(2));

  EXPECT_EQ(*b.db().One<int>("SELECT count(*) FROM jobs"), 0);
}

// The queries on the way to a lease are served by indexes: what they cost does not grow with the number of jobs.
TEST(StoreTest, FindingWorkNeverScansTheJobs) {
  TestStore test(":memory:");
  for (const std::string query :
       {"SELECT num, priority, pack_key, checkpoint_step, split_group FROM jobs WHERE requirement = 1 AND state = 'queued' "
        "AND wanted = 1 ORDER BY priority DESC, num LIMIT 1",
        "SELECT j.num FROM jobs AS j WHERE j.pack_key = 7 AND j.checkpoint_step = 0 AND j.split_group = 0 "
        "AND j.state = 'queued' AND j.wanted = 1 ORDER BY j.priority DESC, j.num LIMIT 9",
        "SELECT j.num, r.task FROM jobs AS j JOIN requirements AS r ON r.num = j.requirement WHERE j.requirement = 1 "
        "AND j.state = 'queued' AND j.wanted = 1 ORDER BY j.priority DESC, j.num LIMIT 256",
        "SELECT 1 FROM jobs WHERE attempt = 7 AND state = 'leased'",
        "SELECT id FROM jobs WHERE substr(id, 1, 24) >= '1a' AND substr(id, 1, 24) < '1a~' AND id >= '1a' AND id < '1a~' "
        "ORDER BY substr(id, 1, 24) LIMIT 3"}) {
    ASSERT_OK_AND_ASSIGN(sql::Rows rows, test.db().Query("EXPLAIN QUERY PLAN " + query));
    while (rows.Next()) {
      EXPECT_THAT(rows.Get<std::string>(3), ::testing::StartsWith("SEARCH ")) << query;
      EXPECT_THAT(rows.Get<std::string>(3), ::testing::Not(HasSubstr("TEMP B-TREE"))) << query;
    }
  }
}

TEST(StoreTest, FindingAJobByItsIdNeverScansTheJobs) {
  TestStore test(":memory:");
  for (const std::string& query : {SelectJobs(kWithId), fmt::format("SELECT j.num FROM jobs AS j {}", kWithId)}) {
    ASSERT_OK_AND_ASSIGN(sql::Rows rows, test.db().Query("EXPLAIN QUERY PLAN " + query, Sha256Of("a")));
    while (rows.Next()) EXPECT_THAT(rows.Get<std::string>(3), ::testing::StartsWith("SEARCH ")) << query;
  }
}

}  // namespace
}  // namespace longreach::store
