// A store whose artifacts lie in another folder than beside it: it is found again, and no other is taken for it.
#include "store/artifacts_folder.h"

#include <algorithm>
#include <fstream>

#include "store/identity.h"
#include "store/migrate.h"
#include "tests/store/fixture.h"

namespace longreach::store {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using longreach::testing::TemporaryFolder;

class ArtifactsFolderTest : public ::testing::Test {
 protected:
  // A store with a file in the folder `big`.
  ArtifactsFolderTest() {
    EXPECT_OK(Store::Open(file_, {.artifacts = big_}).status());
    TestStore test(file_);
    test.AddWorker("w1");
    const std::vector<int64_t> jobs = test.AddSweep("one", MakePack(1));
    test.AddFile(jobs[0], "checkpoint", 10, test.Start("w1", jobs), "a checkpoint");
  }
  static std::filesystem::path FolderOf(const std::filesystem::path& file) {
    const absl::StatusOr<std::unique_ptr<Store>> store = Store::Open(file);
    EXPECT_OK(store.status());
    return store.ok() ? (*store)->artifacts().folder() : "";
  }
  static std::string Row(const std::filesystem::path& file) {
    absl::StatusOr<sql::Connection> db = sql::Connection::Open(file, sql::Mode::kReadWrite);
    EXPECT_OK(db.status());
    return db.ok() ? db->One<std::string>("SELECT artifacts FROM identity").value_or("no row") : "";
  }
  static void Copy(const std::filesystem::path& from, const std::filesystem::path& to) {
    std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
  }

  TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_ / "s.db";
  const std::filesystem::path big_ = std::filesystem::canonical(folder_.path()) / "big";
};

TEST_F(ArtifactsFolderTest, IsFoundAgainByWhoeverDoesNotNameIt) {
  EXPECT_EQ(FolderOf(file_), big_);
  EXPECT_THAT(TestStore(file_).Violations(true), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(file_.string() + ".artifacts"));
}

// What is half-written is removed from it, under names that others have, too.
TEST_F(ArtifactsFolderTest, AFolderOfSomebodyElseIsRefusedAndNothingInItIsTouched) {
  for (const char* theirs : {"tmp/thesis.tex", "inbox/letter", "thesis.tex", "papers/one.pdf"}) {
    TemporaryFolder somewhere;
    const std::filesystem::path folder = std::filesystem::canonical(somewhere.path()), named = folder / theirs;
    std::filesystem::create_directories(named.parent_path());
    std::ofstream(named) << "years of work";
    for (const std::filesystem::path& store : {file_, somewhere / "new.db"}) {  // One that is there, and one that is not; the latter makes the folder have it.
      const absl::Status refused = Store::Open(store, {.artifacts = folder}).status();
      EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << theirs;
      EXPECT_THAT(std::string(refused.message()), HasSubstr("is no artifacts folder: it has '")) << theirs;
    }
    EXPECT_TRUE(std::filesystem::exists(named)) << theirs;
    EXPECT_EQ(FolderOf(file_), big_) << "the store stays with its own";
  }
  // An empty disk has this one.
  TemporaryFolder disk;
  std::filesystem::create_directory(disk / "lost+found");
  EXPECT_OK(Store::Open(folder_ / "on_disk.db", {.artifacts = disk.path()}).status());
}

TEST_F(ArtifactsFolderTest, WhatIsHalfWrittenGoesAndWhatHasNoNameOfOursStays) {
  for (const char* name : {"tmp/123-4", "tmp/notes", "inbox/7-0", "inbox/a.letter"}) std::ofstream(big_ / name) << "text";
  EXPECT_EQ(FolderOf(file_), big_);
  EXPECT_FALSE(std::filesystem::exists(big_ / "tmp/123-4"));
  EXPECT_FALSE(std::filesystem::exists(big_ / "inbox/7-0"));
  EXPECT_TRUE(std::filesystem::exists(big_ / "tmp/notes"));
  EXPECT_TRUE(std::filesystem::exists(big_ / "inbox/a.letter"));
}

// Lock and folder are beside the file from its first start on, and not where the link is.
TEST_F(ArtifactsFolderTest, AStoreThatIsMadeBehindALinkHasOneFolder) {
  const std::filesystem::path disk = folder_ / "disk", link = folder_ / "link.db";
  std::filesystem::create_directory(disk);
  std::filesystem::create_symlink("disk/real.db", link);
  const std::filesystem::path first = FolderOf(link);
  EXPECT_EQ(first, std::filesystem::canonical(disk) / "real.db.artifacts");
  EXPECT_EQ(FolderOf(link), first);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "link.db.artifacts"));
}

TEST_F(ArtifactsFolderTest, OneThatIsAwayIsNotReplacedByAnEmptyOne) {
  std::filesystem::rename(big_, folder_ / "moved");

  const absl::Status refused = Store::Open(file_).status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr("are in '" + big_.string() + "'"), HasSubstr("is its disk mounted"), HasSubstr("--artifacts FOLDER")));
  EXPECT_FALSE(std::filesystem::exists(file_.string() + ".artifacts"));
  EXPECT_FALSE(std::filesystem::exists(big_));
  std::filesystem::create_directory(big_);
  EXPECT_EQ(Store::Open(file_).status().code(), absl::StatusCode::kFailedPrecondition) << "where a disk is to be mounted";
  ASSERT_OK(Store::Open(file_, {.artifacts = folder_ / "moved"}).status());
  EXPECT_EQ(FolderOf(file_).filename(), "moved") << "as it was told once";
}

// A service names its folder at every start.
TEST_F(ArtifactsFolderTest, OneThatIsAwayIsNotMadeAnewByItsOwnName) {
  std::filesystem::rename(big_, folder_ / "away");

  const absl::Status refused = Store::Open(file_, {.artifacts = big_}).status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr("'" + big_.string() + "' is not there"), HasSubstr("is its disk mounted"), HasSubstr("another one with --artifacts")));
  EXPECT_FALSE(std::filesystem::exists(big_));
  std::filesystem::rename(folder_ / "away", big_);
  ASSERT_OK(Store::Open(file_, {.artifacts = big_}).status());
  std::filesystem::remove_all(big_);
  ASSERT_OK(Store::Open(file_, {.artifacts = folder_ / "new"}).status()) << "another name is the word to do without the files";
  EXPECT_EQ(FolderOf(file_).filename(), "new");
}

TEST_F(ArtifactsFolderTest, OneThatIsAwayAndHadNoFilesIsMadeAnew) {
  const std::filesystem::path empty = folder_ / "empty.db";
  ASSERT_OK(Store::Open(empty, {.artifacts = folder_ / "of empty"}).status());
  std::filesystem::remove_all(folder_ / "of empty");

  EXPECT_OK(Store::Open(empty, {.artifacts = folder_ / "of empty"}).status());
}

TEST_F(ArtifactsFolderTest, OneThatWasPutBesideIsTakenWhereTheOtherIsAway) {
  // On another machine.
  std::filesystem::create_directory(folder_ / "there");
  Copy(file_, folder_ / "there" / "x.db");
  Copy(big_, folder_ / "there" / "x.db.artifacts");
  std::filesystem::rename(big_, folder_ / "elsewhere");

  EXPECT_THAT(TestStore(folder_ / "there" / "x.db").Violations(true), IsEmpty());

  EXPECT_EQ(Row(folder_ / "there" / "x.db"), "") << "from now on the two are a pair, and move as one";
  // A folder of that name that does not say that it is this store's is not taken.
  std::filesystem::create_directory(file_.string() + ".artifacts");
  EXPECT_EQ(Store::Open(file_).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ArtifactsFolderTest, ACopyOfTheFileDoesNotShareIt) {
  Copy(file_, folder_ / "copy.db");

  const absl::Status refused = Store::Open(folder_ / "copy.db").status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("belongs to the store '" + std::filesystem::canonical(file_).string() + "'"));
  Copy(big_, folder_ / "copy.db.artifacts");
  EXPECT_EQ(FolderOf(folder_ / "copy.db").filename(), "copy.db.artifacts");
  EXPECT_EQ(FolderOf(file_), big_);
}

TEST_F(ArtifactsFolderTest, AStoreThatIsMovedOnItsMachineKeepsIt) {
  std::filesystem::rename(file_, folder_ / "t.db");
  EXPECT_EQ(FolderOf(folder_ / "t.db"), big_);
  EXPECT_EQ(Store::Open(file_, {.artifacts = big_}).status().code(), absl::StatusCode::kFailedPrecondition) << "the folder knows of the move";
}

// In a folder of artifacts half-written files are removed, and a store may have come by mail.
TEST_F(ArtifactsFolderTest, TheFilesWordAloneIsNotTaken) {
  std::filesystem::create_directories(folder_ / "home" / "tmp");
  std::ofstream(folder_ / "home" / "tmp" / "precious") << "mine";
  {
    TestStore test(file_);
    ASSERT_OK(test.db().Run("UPDATE identity SET artifacts = ?", (folder_ / "home").string()).status());
  }
  EXPECT_EQ(Store::Open(file_).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "home" / "tmp" / "precious"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "home" / "store"));
}

TEST_F(ArtifactsFolderTest, ABackupHasNoneAndACopyBeforeAChangeKeepsIt) {
  {
    TestStore test(file_);
    ASSERT_OK(Backup(test.db(), folder_ / "backup.db").status());
    ASSERT_OK(CopyBeforeChange(test.db(), folder_ / "before.db").status());
  }
  EXPECT_EQ(Row(folder_ / "backup.db"), "");
  EXPECT_EQ(Row(folder_ / "before.db"), big_);
  EXPECT_EQ(FolderOf(folder_ / "backup.db").filename(), "backup.db.artifacts");
}

TEST_F(ArtifactsFolderTest, NamingTheOneBesideIsNamingNone) {
  Copy(big_, file_.string() + ".artifacts");
  ASSERT_OK(Store::Open(file_, {.artifacts = file_.string() + ".artifacts"}).status());
  EXPECT_EQ(Row(file_), "");
  EXPECT_EQ(FolderOf(file_).filename(), "s.db.artifacts");
}

TEST_F(ArtifactsFolderTest, AStoreOfTheSeventhSchemaIsToldOnce) {
  const std::filesystem::path old = folder_ / "old.db";
  std::string identity;
  {
    ASSERT_OK_AND_ASSIGN(sql::Connection db, sql::Connection::Open(old, sql::Mode::kReadWriteCreate));
    ASSERT_OK(Migrate(db, Migrations().first(7)).status());
    ASSERT_OK_AND_ASSIGN(identity, Identity(db));
  }
  // Its folder has a note of before.
  std::filesystem::create_directory(folder_ / "of old");
  std::ofstream(folder_ / "of old" / "store") << std::filesystem::canonical(old).string() << "\n" << (big_.parent_path() / "of old").string() << "\n";

  ASSERT_OK(Store::Open(old, {.artifacts = folder_ / "of old"}).status());

  EXPECT_EQ(FolderOf(old).filename(), "of old");
  EXPECT_EQ(*Identity(TestStore(old).db()), identity);
}

}  // namespace
}  // namespace longreach::store
