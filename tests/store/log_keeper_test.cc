// The log is taken over into the file while the writer writes, and does not grow for ever.
#include "store/log_keeper.h"

#include <algorithm>

#include "tests/store/fixture.h"

namespace longreach::store {
namespace {

using longreach::testing::TemporaryFolder;

class LogKeeperTest : public ::testing::Test {
 protected:
  LogKeeperTest() : test_(folder_ / "s.db") { EXPECT_OK(test_.db().Execute("CREATE TABLE notes(num INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT")); }

  // A commit of a few pages.
  void Write() {
    EXPECT_OK(test_.Write([](sql::Transaction& tx) { return tx.Run("INSERT INTO notes(text) VALUES (?)", std::string(20'000, 'x')).status(); }));
    ++written_;
  }
  int64_t InFile() const { return static_cast<int64_t>(std::filesystem::file_size(folder_ / "s.db")); }

  TemporaryFolder folder_;
  TestStore test_;
  int written_ = 0;
};

TEST_F(LogKeeperTest, TheLogBeginsAnewAgainAndAgainWhileTheWriterGoesOn) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<LogKeeper> keeper, LogKeeper::Start(test_.db(), {.begin = 20, .turn = 60, .few = 20, .most = 100'000}));
  int turns = 0;
  for (int before = 0; turns < 5;) {
    Write();
    keeper->AfterGroup();
    const int pages = keeper->pages();
    if (pages < before) ++turns;
    before = pages;
  }

  EXPECT_GT(InFile(), 2 * 60 * 4096) << "most of it is in the file";
  EXPECT_EQ(*test_.db().One<int>("SELECT count(*) FROM notes WHERE length(text) = 20000"), written_);
}

TEST_F(LogKeeperTest, SomebodyWhoReadsKeepsHisMomentAndTheLogTurnsWhenHeIsDone) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<LogKeeper> keeper, LogKeeper::Start(test_.db(), {.begin = 20, .turn = 60, .few = 20, .most = 100'000}));
  Write();
  {
    ASSERT_OK_AND_ASSIGN(Snapshot reader, test_.store->Read());
    EXPECT_EQ(*reader.db().One<int>("SELECT count(*) FROM notes"), 1);
    int highest = 0;
    for (int i = 0; i < 50; ++i) {
      Write();
      keeper->AfterGroup();
      EXPECT_GT(keeper->pages(), highest) << "what he reads is in the log";
      highest = keeper->pages();
    }
    EXPECT_EQ(*reader.db().One<int>("SELECT count(*) FROM notes"), 1);
  }
  bool turned = false;
  for (int before = 0; !turned;) {
    Write();
    keeper->AfterGroup();
    turned = keeper->pages() < before;
    before = keeper->pages();
  }
  EXPECT_EQ(*test_.db().One<int>("SELECT count(*) FROM notes"), written_);
}

TEST_F(LogKeeperTest, ALogThatIsTooLongIsCopiedByTheWriterWhateverIsLeft) {
  // It never thinks it worth to begin by itself.
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<LogKeeper> keeper, LogKeeper::Start(test_.db(), {.begin = 1'000'000, .turn = 60, .few = 1, .most = 200}));
  int highest = 0;
  int before = 0;
  while (keeper->pages() >= before) {
    before = keeper->pages();
    highest = std::max(highest, before);
    Write();
    keeper->AfterGroup();
  }
  EXPECT_GE(highest, 200);
  EXPECT_LT(highest, 250);
}

}  // namespace
}  // namespace longreach::store
