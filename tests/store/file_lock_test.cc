#include "store/file_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "tests/support/other_user.h"
#include "tests/support/temporary_folder.h"

namespace longreach::store {
namespace {

using ::testing::HasSubstr;

// Whoever comes as a holder goes finds the store held or free, and never held under another name: that is an error that no one waits for.
TEST(FileLockTest, IsLetGoOfSoThatNobodyTakesItForThatOfALink) {
  longreach::testing::TemporaryFolder folder;
  const std::filesystem::path file = folder / "s.db";
  std::ofstream(file) << "";
  const std::jthread other([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) (void)FileLock::Take(file);
  });
  for (int i = 0; i < 20'000; ++i) {
    const auto lock = FileLock::Take(file);
    if (lock.ok() || absl::IsUnavailable(lock.status())) continue;
    ASSERT_THAT(std::string(lock.status().message()), HasSubstr("is held by another scheduler;"));
  }
}

TEST(LockToWriteTest, IsTheLockOfAStoreThatMayBeWrittenOrMade) {
  longreach::testing::TemporaryFolder folder;
  std::ofstream(folder / "s.db") << "";
  for (const char* name : {"s.db", "new.db"}) {
    const LockToWrite first = LockToWrite::Take(folder / name);
    EXPECT_TRUE(first.status.ok()) << first.status;
    EXPECT_NE(first.lock, nullptr);

    const LockToWrite second = LockToWrite::Take(folder / name);
    EXPECT_EQ(second.status.code(), absl::StatusCode::kFailedPrecondition) << name;
    EXPECT_EQ(second.lock, nullptr);
  }
}

// The lock can be had where FILE.lock may be made.
TEST(LockToWriteTest, AStoreThatMayNotBeWrittenIsLockedAsFarAsThatMayBe) {
  longreach::testing::TemporaryFolder folder;
  const std::filesystem::path file = folder / "s.db";
  std::ofstream(file) << "";
  {
    const longreach::testing::ReadOnly archive(folder.path());
    const longreach::testing::OtherUser other;
    const LockToWrite lock = LockToWrite::Take(file);
    EXPECT_EQ(lock.status.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_EQ(lock.lock, nullptr);
  }
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  std::filesystem::permissions(file, std::filesystem::perms::owner_read | std::filesystem::perms::others_read);
  const longreach::testing::OtherUser other;
  const LockToWrite lock = LockToWrite::Take(file);
  EXPECT_EQ(lock.status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_NE(lock.lock, nullptr);
}

}  // namespace
}  // namespace longreach::store
