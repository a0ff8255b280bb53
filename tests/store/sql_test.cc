#include "store/sql/connection.h"

#include <sqlite3.h>

#include <thread>

#include "tests/store/fixture.h"

namespace longreach::sql {
namespace {

using ::testing::HasSubstr;
using longreach::testing::TemporaryFolder;

class SqlTest : public ::testing::Test {
 protected:
  SqlTest() : db_(*Connection::Open(folder_ / "a.db", Mode::kReadWriteCreate)) {
    EXPECT_OK(db_.Execute("CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT UNIQUE, c REAL NOT NULL) STRICT"));
  }
  TemporaryFolder folder_;
  Connection db_;
};

TEST_F(SqlTest, ValuesOfEachTypeComeBackAsTheyWere) {
  ASSERT_OK(db_.Run("INSERT INTO t VALUES (?, ?, ?)", int64_t{-5}, std::string("a\0b", 3), 0.1));
  ASSERT_OK(db_.Run("INSERT INTO t VALUES (?, ?, ?)", 7u, std::optional<std::string>(), true));

  ASSERT_OK_AND_ASSIGN(Rows rows, db_.Query("SELECT a, b, c FROM t ORDER BY a"));

  ASSERT_TRUE(rows.Next());
  EXPECT_EQ(rows.Get<int64_t>(0), -5);
  EXPECT_EQ(rows.Get<std::string>(1), std::string("a\0b", 3));
  EXPECT_EQ(rows.Get<double>(2), 0.1);
  ASSERT_TRUE(rows.Next());
  EXPECT_EQ(rows.Get<std::optional<std::string>>(1), std::nullopt);
  EXPECT_FALSE(rows.Next());
  EXPECT_OK(rows.status());
}

TEST_F(SqlTest, AnEmptyTextIsNotNull) {
  ASSERT_OK(db_.Run("INSERT INTO t VALUES (1, ?, 0.0)", std::string_view()));

  EXPECT_EQ(*db_.One<int>("SELECT b IS NULL FROM t"), 0);
}

TEST_F(SqlTest, AllIsTheFirstColumnOfEachRowInTheirOrder) {
  ASSERT_OK(db_.Run("INSERT INTO t VALUES (1, 'x', 0.0), (2, 'y', 0.0), (3, 'z', 0.0)"));

  EXPECT_EQ(*db_.All<int64_t>("SELECT a FROM t WHERE a < ? ORDER BY a DESC", 3), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(*db_.All<std::string>("SELECT b FROM t WHERE a > 3"), std::vector<std::string>());
  // Not the rows before the one that cannot be computed.
  EXPECT_EQ(db_.All<int64_t>("SELECT abs(v) FROM (SELECT 1 AS v UNION ALL SELECT -9223372036854775807 - 1)").status().code(), absl::StatusCode::kInternal);
}

TEST_F(SqlTest, ErrorsHaveTheCodeThatACallerActsOn) {
  ASSERT_OK(db_.Run("INSERT INTO t VALUES (1, 'x', 0.0)"));

  EXPECT_EQ(db_.Run("INSERT INTO t VALUES (2, 'x', 0.0)").status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(db_.Run("INSERT INTO t VALUES (1, 'y', 0.0)").status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(db_.Run("INSERT INTO t VALUES (3, 'z', NULL)").status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(db_.Run("INSERT INTO t VALUES (3, 'z', 'no number')").status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(db_.Run("SELEKT").status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(db_.Run("SELECT ?").status().code(), absl::StatusCode::kInternal) << "a parameter without a value";
  EXPECT_EQ(Connection::Open(folder_ / "none.db", Mode::kReadOnly).status().code(), absl::StatusCode::kNotFound);
  store::WriteFile(folder_ / "text", "this is not a database, but it is long enough to look like one could be here\n");
  EXPECT_EQ(Connection::Open(folder_ / "text", Mode::kReadWrite).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(SqlTest, AFullDiskIsResourceExhausted) {
  ASSERT_OK_AND_ASSIGN(int pages, db_.One<int>("PRAGMA page_count"));
  ASSERT_OK(db_.Execute("PRAGMA max_page_count = " + std::to_string(pages)));

  const absl::Status status = db_.Run("INSERT INTO t VALUES (1, ?, 0.0)", std::string(100'000, 'x')).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
}

// Counts for ever.
constexpr std::string_view kEndless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

TEST_F(SqlTest, AQueryEndsOnceAStopIsRequestedWhetherItRunsOrComes) {
  std::stop_source stop;
  std::optional<StopQueries> stopping(std::in_place, db_, stop.get_token());
  EXPECT_EQ(*db_.One<int>("SELECT 7"), 7);
  absl::Status running;
  std::thread thread([&] { running = db_.One<int64_t>(kEndless).status(); });
  stop.request_stop();
  thread.join();
  EXPECT_EQ(running.code(), absl::StatusCode::kUnavailable) << running;
  EXPECT_THAT(std::string(running.message()), HasSubstr("shutting down"));

  EXPECT_EQ(db_.One<int64_t>(kEndless).status().code(), absl::StatusCode::kUnavailable);

  stopping.reset();
  EXPECT_EQ(*db_.One<int>("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000) SELECT count(*) FROM n"), 10'000);
}

TEST_F(SqlTest, WhatIsNotCommittedIsTakenBack) {
  {
    ASSERT_OK_AND_ASSIGN(Transaction tx, Transaction::Begin(db_));
    ASSERT_OK(tx.Run("INSERT INTO t VALUES (1, 'x', 0.0)"));
  }
  EXPECT_EQ(*db_.One<int>("SELECT count(*) FROM t"), 0);
}

TEST_F(SqlTest, ASavepointIsTakenBackAlone) {
  ASSERT_OK_AND_ASSIGN(Transaction tx, Transaction::Begin(db_));
  ASSERT_OK(tx.Run("INSERT INTO t VALUES (1, 'x', 0.0)"));
  {
    ASSERT_OK_AND_ASSIGN(Savepoint savepoint, Savepoint::Begin(tx));
    ASSERT_OK(tx.Run("INSERT INTO t VALUES (2, 'y', 0.0)"));
  }
  ASSERT_OK(tx.Commit());

  EXPECT_EQ(*db_.One<std::string>("SELECT group_concat(b) FROM t"), "x");
}

// Pages as they were at a savepoint go from memory into a temporary file once they are many, in pieces of as many bytes as were in memory. SQLite writes no more than
// 128 KiB at once, and takes a larger piece (SQLITE_CONFIG_STMTJRNL_SPILL) for a full disk.
TEST_F(SqlTest, ASavepointThatChangesManyPagesIsKeptOrTakenBackAsOneThatChangesFew) {
  ASSERT_OK(db_.Run("INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000) SELECT i, printf('%.900d', i), 0.0 FROM n"));
  ASSERT_OK_AND_ASSIGN(Transaction tx, Transaction::Begin(db_));
  for (const bool is_kept : {false, true}) {
    ASSERT_OK_AND_ASSIGN(Savepoint savepoint, Savepoint::Begin(tx));
    EXPECT_OK(tx.Run("UPDATE t SET c = a, b = 'x' || b"));
    EXPECT_OK(is_kept ? savepoint.Release() : savepoint.RollBack());
    EXPECT_EQ(*tx.One<int64_t>("SELECT count(*) FROM t WHERE c = a AND b LIKE 'x%'"), is_kept ? 6000 : 0);
  }
  EXPECT_OK(tx.Commit());
  EXPECT_EQ(*db_.One<int64_t>("SELECT count(*) FROM t WHERE c = a AND b LIKE 'x%'"), 6000);
}

// Of opening a store on a full disk: SQLite says "disk I/O error".
TEST(StatusOfCodeTest, NoRoomForSharedMemoryIsAFullDisk) {
  const absl::Status status = StatusOfCode(SQLITE_IOERR_SHMSIZE, "disk I/O error", "SELECT 1");

  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("SELECT 1: the disk is full: there is no room for"));
  EXPECT_EQ(DiskTrouble(status), "the disk is full");
  EXPECT_EQ(StatusOfCode(SQLITE_IOERR_READ, "disk I/O error", "SELECT 1").code(), absl::StatusCode::kUnavailable) << "another error of a disk stays what it was";
}

TEST_F(SqlTest, TwoQueriesOfTheSameTextRunAtOnce) {
  ASSERT_OK(db_.Execute("INSERT INTO t VALUES (1, 'x', 0.0), (2, 'y', 0.0)"));
  ASSERT_OK_AND_ASSIGN(Rows outer, db_.Query("SELECT a FROM t ORDER BY a"));
  int pairs = 0;
  while (outer.Next()) {
    ASSERT_OK_AND_ASSIGN(Rows inner, db_.Query("SELECT a FROM t ORDER BY a"));
    while (inner.Next()) ++pairs;
  }
  EXPECT_EQ(pairs, 4);
}

}  // namespace
}  // namespace longreach::sql
