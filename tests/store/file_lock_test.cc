#include "store/file_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

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

}  // namespace
}  // namespace longreach::store
