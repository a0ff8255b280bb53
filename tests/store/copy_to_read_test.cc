#include "store/copy_to_read.h"

#include <algorithm>
#include <csignal>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "store/migrate.h"
#include "tests/store/fixture.h"
#include "tests/support/other_user.h"

namespace longreach::store {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using longreach::testing::OtherUser;
using longreach::testing::ReadOnly;
using longreach::testing::TemporaryFolder;

constexpr std::filesystem::perms kReadable = std::filesystem::perms::owner_read | std::filesystem::perms::group_read | std::filesystem::perms::others_read;

// A colleague's store, of two jobs of which one has a log.
class CopyToReadTest : public ::testing::Test {
 protected:
  CopyToReadTest() {
    TestStore store(file_);
    store.AddWorker("w1");
    const std::vector<int64_t> jobs = store.AddSweep("b1", MakePack(2));
    const int64_t attempt = store.Start("w1", jobs);
    store.AddFile(jobs[0], "log", 0, attempt, "a log");
    store.Succeed(attempt, 0.5);
  }

  // Everything that lies there, with what is in it.
  std::vector<std::string> All() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      all.push_back(entry.path().string() + ": " + (entry.is_directory() ? "a folder" : ReadWhole(entry.path())));
    }
    std::ranges::sort(all);
    return all;
  }

  static int64_t Succeeded(Store& store) {
    const absl::StatusOr<int64_t> count = store.writer_connection().One<int64_t>("SELECT count(*) FROM jobs WHERE state = 'succeeded'");
    EXPECT_OK(count);
    return count.value_or(-1);
  }

  TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_ / "s.db";
};

TEST_F(CopyToReadTest, AStoreThatMayOnlyBeReadIsLookedIntoAndStaysAsItIs) {
  const ReadOnly archive(folder_.path());
  const std::vector<std::string> before = All();
  std::filesystem::path copy;
  {
    const OtherUser other;
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Store> store, Store::Open(file_.string(), {.copy = CopyWhen::kReadOnly}));
    copy = store->file();

    EXPECT_EQ(Succeeded(*store), 2);
    EXPECT_EQ(store->artifacts().Read(Sha256Of("a log"), 100).value_or(""), "a log");
    EXPECT_EQ(store->name(), file_.string());
    EXPECT_TRUE(std::filesystem::exists(copy));
  }
  EXPECT_FALSE(std::filesystem::exists(copy.parent_path()));
  EXPECT_EQ(All(), before);
}

TEST_F(CopyToReadTest, ItIsRefusedToWhoWouldWrite) {
  const ReadOnly archive(folder_.path());
  const OtherUser other;

  const absl::Status status = Store::Open(file_.string()).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("the store '" + file_.string() + "' may not be written by this user (" + file_.string() + ".lock: Permission denied)"),
                                                   HasSubstr("'longreach store merge " + file_.string() + " --store FILE'")));
}

// SQLite would make its log there, of which the owner could write nothing.
TEST_F(CopyToReadTest, NothingIsMadeBesideAFileThatAloneMayNotBeWritten) {
  std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
  std::filesystem::permissions(file_, kReadable);
  const std::vector<std::string> before = All();
  {
    const OtherUser other;
    EXPECT_EQ(Store::Open(file_.string()).status().code(), absl::StatusCode::kPermissionDenied);
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Store> store, Store::Open(file_.string(), {.copy = CopyWhen::kReadOnly}));
    EXPECT_EQ(Succeeded(*store), 2);
  }
  EXPECT_EQ(All(), before);
}

// Copied file by file while a scheduler had it open.
TEST_F(CopyToReadTest, WhatIsInTheLogAloneIsThereToo) {
  const TemporaryFolder elsewhere;
  {
    TestStore store(file_);
    store.AddSweep("b2", MakePack(3, "modular_arithmetic"));
    for (const char* suffix : {"", "-wal"}) std::filesystem::copy_file(file_.string() + suffix, (elsewhere / "s.db").string() + suffix);
  }
  ASSERT_GT(std::filesystem::file_size(elsewhere / "s.db-wal"), 0u);
  const ReadOnly archive(elsewhere.path());
  const OtherUser other;

  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Store> store, Store::Open((elsewhere / "s.db").string(), {.copy = CopyWhen::kReadOnly}));

  EXPECT_EQ(*store->writer_connection().One<int64_t>("SELECT count(*) FROM jobs"), 5);
}

TEST_F(CopyToReadTest, AnOlderOneIsReadAndANewerOneRefusedByItsOwnName) {
  ASSERT_OK(Store::Open((folder_ / "old.db").string(), {.migrations = Migrations().first(7)}));
  std::vector<std::string_view> later(Migrations().begin(), Migrations().end());
  later.emplace_back("CREATE TABLE later(a INT) STRICT;");
  ASSERT_OK(Store::Open((folder_ / "new.db").string(), {.migrations = later}));
  const ReadOnly archive(folder_.path());
  const OtherUser other;

  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Store> old, Store::Open((folder_ / "old.db").string(), {.copy = CopyWhen::kReadOnly}));
  const absl::Status newer = Store::Open((folder_ / "new.db").string(), {.copy = CopyWhen::kReadOnly}).status();

  EXPECT_EQ(old->version_found(), 7);
  EXPECT_EQ(newer.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(newer.message()), HasSubstr("'" + (folder_ / "new.db").string() + "' was written by a newer Longreach"));
}

TEST_F(CopyToReadTest, WhoMayWriteOpensTheStoreItself) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Store> store, Store::Open(file_.string(), {.copy = CopyWhen::kReadOnly}));
  EXPECT_EQ(store->file(), std::filesystem::canonical(file_));
}

TEST_F(CopyToReadTest, ACopyInAnyCaseChangesNothingAndIsHadWhoeverHoldsTheStore) {
  const std::string old = (folder_ / "old.db").string();
  ASSERT_OK(Store::Open(old, {.migrations = Migrations().first(7)}));
  const std::vector<std::string> before = All();
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Store> copy, Store::Open(old, {.copy = CopyWhen::kAlways}));
    EXPECT_EQ(copy->version_found(), 7);
    EXPECT_NE(copy->file(), std::filesystem::canonical(old));
    EXPECT_EQ(All(), before);
  }
  EXPECT_EQ(All(), before);

  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileLock> of_another, FileLock::Take(file_));
    EXPECT_FALSE(Store::Open(file_.string(), {.copy = CopyWhen::kReadOnly}).ok());
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Store> copy, Store::Open(file_.string(), {.copy = CopyWhen::kAlways}));
    EXPECT_EQ(Succeeded(*copy), 2);
  }
  EXPECT_EQ(Store::Open((folder_ / "none.db").string(), {.copy = CopyWhen::kAlways}).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(All(), before) << "and none is made";
}

// What its own rows do not name any more, and what is on its way into it, is its owner's to remove.
// Of so many bytes at most is a file that is written meanwhile: what would fill a disk ends soon.
class SmallFiles {
 public:
  SmallFiles() : before_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{.rlim_cur = 1 << 20, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, before_handler_);
  }
  SmallFiles(const SmallFiles&) = delete;

 private:
  void (*before_handler_)(int);
  rlimit before_ = {};
};

TEST_F(CopyToReadTest, WhatHasNoRoomIsNotBegun) {
  // A file with holes, in memory, as not every file system has one of that size. No disk has room for it.
  const int memory = memfd_create("large", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(memory, int64_t{1} << 60), 0);
  std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(memory), folder_ / "large.db");
  absl::Status refused;
  {
    const SmallFiles limited;
    refused = CopyToRead(folder_ / "large.db", folder_ / "copy.db");
  }
  close(memory);

  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("set TMPDIR to a folder with room for it"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "copy.db"));
}

TEST_F(CopyToReadTest, ACopyThatTakesTimeAndRoomIsToldOfBefore) {
  // In memory: another disk, which shares no blocks.
  const int memory = memfd_create("large", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(memory, 3'000'000), 0);
  const std::filesystem::path from = folder_ / "large.db", to = folder_ / "copy.db";
  std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(memory), from);
  std::vector<std::string> told;

  EXPECT_OK(CopyToRead(from, to, [&](const std::string& line) {
    told.push_back(line);
    EXPECT_FALSE(std::filesystem::exists(to)) << "before it is made";
  }));

  close(memory);
  EXPECT_EQ(std::filesystem::file_size(to), 3'000'000u);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0], AllOf(HasSubstr("'" + from.string() + "' (3 MB)"), HasSubstr("to '" + to.string() + "'")));
}

TEST_F(CopyToReadTest, NoFileOfTheOriginalIsRemoved) {
  const std::string hash = Sha256Of("on its way");
  {
    TestStore store(file_);
    store.PutFile("on its way");
  }
  std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
  std::filesystem::permissions(file_, kReadable);
  const std::filesystem::path artifacts = file_.string() + ".artifacts";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(artifacts)) std::filesystem::permissions(entry.path(), std::filesystem::perms::all);
  const OtherUser other;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Store> store, Store::Open(file_.string(), {.copy = CopyWhen::kReadOnly}));

  EXPECT_EQ(*RemoveUnsettledFiles(store->writer_connection(), store->artifacts()), 0);
  store->artifacts().Settle(hash);

  EXPECT_EQ(ReadWhole(store->artifacts().PathOf(hash)), "on its way");
  EXPECT_EQ(store->artifacts().Unsettled(), std::vector<std::string>{hash});
}

TEST_F(CopyToReadTest, ItIsTakenOverIntoAStoreOfOnesOwn) {
  const ReadOnly archive(folder_.path());
  const std::vector<std::string> before = All();
  {
    const OtherUser other;
    const TemporaryFolder own;
    TestStore ours(own / "ours.db");
    ASSERT_OK_AND_ASSIGN(MergeSource source, MergeSource::Open(file_));
    std::vector<Pin> pins;
    ASSERT_OK(source.CopyFiles(ours.store->artifacts(), PartsIn(ours), pins));
    ASSERT_OK_AND_ASSIGN(sql::Transaction tx, sql::Transaction::Begin(ours.db()));
    ASSERT_OK_AND_ASSIGN(const MergeReport report, source.Apply(tx));
    ASSERT_OK(tx.Commit());

    EXPECT_EQ(report.results_added, 2);
    EXPECT_EQ(ours.store->artifacts().Read(Sha256Of("a log"), 100).value_or(""), "a log");
  }
  EXPECT_EQ(All(), before);
}

}  // namespace
}  // namespace longreach::store
