// Backup.
#include <algorithm>
#include <thread>

#include "tests/store/fixture.h"

namespace longreach::store {
namespace {

using ::testing::IsEmpty;
using longreach::testing::TemporaryFolder;

class BackupTest : public ::testing::Test {
 protected:
  BackupTest() : test_(folder_ / "s.db") {
    test_.AddWorker("w1");
    test_.Succeed(test_.Start("w1", test_.AddSweep("one", MakePack(3))), 0.5);
  }
  TemporaryFolder folder_;
  TestStore test_;
};

TEST_F(BackupTest, TheCopyIsOneWholeFileThatOpensAsAStore) {
  ASSERT_OK_AND_ASSIGN(int64_t bytes, Backup(test_.db(), folder_ / "copy.db"));

  EXPECT_EQ(static_cast<uintmax_t>(bytes), std::filesystem::file_size(folder_ / "copy.db"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "copy.db-wal"));
  TestStore copy(folder_ / "copy.db");
  EXPECT_EQ(copy.SweepCounts(1).succeeded, 3);
  EXPECT_THAT(copy.Violations(), IsEmpty());
}

TEST_F(BackupTest, AFileThatIsThereIsLeftAlone) {
  WriteFile(folder_ / "mine", "precious");

  EXPECT_EQ(Backup(test_.db(), folder_ / "mine").status().code(), absl::StatusCode::kAlreadyExists);

  EXPECT_EQ(ReadWhole(folder_ / "mine"), "precious");
  EXPECT_EQ(Backup(test_.db(), test_.store->file()).status().code(), absl::StatusCode::kAlreadyExists) << "the store itself";
}

TEST_F(BackupTest, AFolderIsToldAsOne) {
  const absl::Status status = Backup(test_.db(), folder_.path()).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(status.message(), "'" + folder_.path().string() + "' is a folder; name a file in it, which is not there yet");
}

TEST_F(BackupTest, WhatCannotBeMadeIsToldWithTheSystemsReason) {
  const std::string name = std::string(250, 'b') + ".db";  // There is room for it, and none for that of the file beside it.

  const absl::Status status = Backup(test_.db(), folder_ / name).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "cannot make '" + (folder_ / name).string() + "': File name too long");
}

TEST_F(BackupTest, OfManyToOneNameOneIsMadeAndWhole) {
  constexpr int kMany = 8;
  std::vector<absl::StatusCode> codes(kMany);
  std::vector<std::thread> threads;
  for (absl::StatusCode& code : codes) {
    threads.emplace_back([&] {
      absl::StatusOr<Snapshot> snapshot = test_.store->Read();
      code = snapshot.ok() ? Backup(snapshot->db(), folder_ / "copy.db").status().code() : snapshot.status().code();
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(std::ranges::count(codes, absl::StatusCode::kOk), 1);
  EXPECT_EQ(std::ranges::count(codes, absl::StatusCode::kAlreadyExists), kMany - 1);
  EXPECT_THAT(TestStore(folder_ / "copy.db").Violations(), IsEmpty());
}

TEST_F(BackupTest, AReaderCanMakeItWhileAnEventIsBeingWritten) {
  ASSERT_OK_AND_ASSIGN(Snapshot snapshot, test_.store->Read());
  ASSERT_OK_AND_ASSIGN(sql::Transaction tx, sql::Transaction::Begin(test_.db()));
  ASSERT_OK(tx.Run("UPDATE jobs SET failures = 9"));

  ASSERT_OK(Backup(snapshot.db(), folder_ / "copy.db"));

  ASSERT_OK_AND_ASSIGN(sql::Connection copy, sql::Connection::Open(folder_ / "copy.db", sql::Mode::kReadOnly));
  EXPECT_EQ(*copy.One<int>("SELECT max(failures) FROM jobs"), 0);
}

TEST_F(BackupTest, OneOfManyPagesIsOfOneMomentToo) {
  // More than are copied at once, and written by another connection in between.
  ASSERT_OK(test_.db().Execute("CREATE TABLE filler(bytes BLOB) STRICT; CREATE TABLE written(i INTEGER) STRICT; INSERT INTO written VALUES (0)"));
  ASSERT_OK(test_.db().Run("INSERT INTO filler SELECT zeroblob(60000000)").status());
  ASSERT_OK_AND_ASSIGN(Snapshot snapshot, test_.store->Read());
  std::jthread writes([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) EXPECT_OK(test_.db().Run("UPDATE written SET i = i + 1").status());
  });

  ASSERT_OK(Backup(snapshot.db(), folder_ / "copy.db"));

  writes.request_stop();
  writes.join();
  ASSERT_OK_AND_ASSIGN(sql::Connection copy, sql::Connection::Open(folder_ / "copy.db", sql::Mode::kReadOnly));
  EXPECT_EQ(*copy.One<int64_t>("SELECT i FROM written"), *snapshot.db().One<int64_t>("SELECT i FROM written"));
  EXPECT_EQ(*copy.One<std::string>("PRAGMA integrity_check"), "ok");
}

TEST_F(BackupTest, OneThatIsStoppedLeavesNoFile) {
  std::stop_source stop;
  stop.request_stop();

  EXPECT_EQ(Backup(test_.db(), folder_ / "copy.db", stop.get_token()).status().code(), absl::StatusCode::kUnavailable);

  for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_FALSE(file.path().filename().string().starts_with("copy.db")) << file.path();
  }
  EXPECT_TRUE(test_.db().InAutocommit());
  ASSERT_OK(Backup(test_.db(), folder_ / "copy.db"));
}

TEST_F(BackupTest, AFolderThatIsNotThereIsSaid) {
  EXPECT_FALSE(Backup(test_.db(), folder_ / "none/copy.db").ok());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none"));
}

}  // namespace
}  // namespace longreach::store
