#include "worker/agent/state_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <future>

#include "tests/support/temporary_folder.h"

namespace longreach::agent {
namespace {

using ::testing::HasSubstr;

WallTime At(int64_t microseconds) { return WallTime(std::chrono::microseconds(microseconds)); }

TEST(StateFolderTest, KeepsTheWorkersIdentityAndRaisesItsIncarnation) {
  testing::TemporaryFolder folder;
  std::string worker;
  {
    const absl::StatusOr<StateFolder> first = StateFolder::Open(folder.path() / "state", At(5'000'000));
    ASSERT_TRUE(first.ok()) << first.status();
    worker = first->worker();
    EXPECT_EQ(worker.size(), 36u);
    EXPECT_EQ(first->incarnation(), 5'000'000u);
  }

  // The clock was set back meanwhile.
  const absl::StatusOr<StateFolder> second = StateFolder::Open(folder.path() / "state", At(1'000'000));

  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->worker(), worker);
  EXPECT_EQ(second->incarnation(), 5'000'001u);
}

TEST(StateFolderTest, RefusesASecondWorker) {
  testing::TemporaryFolder folder;
  const absl::StatusOr<StateFolder> first = StateFolder::Open(folder.path(), At(1));
  ASSERT_TRUE(first.ok()) << first.status();

  const absl::StatusOr<StateFolder> second = StateFolder::Open(folder.path(), At(2));

  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("--state"));
}

TEST(StateFolderTest, WaitsForOneThatIsAboutToLeave) {
  testing::TemporaryFolder folder;
  absl::StatusOr<StateFolder> first = StateFolder::Open(folder.path(), At(1));
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string id = first->worker();
  std::future<absl::StatusOr<StateFolder>> second =
      std::async(std::launch::async, [&folder] { return StateFolder::Open(folder.path(), At(2), std::chrono::minutes(1)); });

  { const StateFolder left = *std::move(first); }

  const absl::StatusOr<StateFolder> state = second.get();
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->worker(), id);
}

TEST(StateFolderTest, ALookRefusesAPlaceAsAStartDoesAndMakesNothing) {
  testing::TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "no folder";
  for (const char* place : {"file", "file/below/it"}) {
    const absl::Status looked = StateFolder::Look(folder.path() / place);
    EXPECT_EQ(looked, StateFolder::Open(folder.path() / place, At(1)).status()) << place;
    EXPECT_FALSE(looked.ok()) << place;
  }

  EXPECT_EQ(StateFolder::Look(folder.path() / "some" / "state"), absl::OkStatus());
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "some"));

  const absl::StatusOr<StateFolder> open = StateFolder::Open(folder.path() / "state", At(1));
  ASSERT_TRUE(open.ok()) << open.status();
  EXPECT_EQ(StateFolder::Look(folder.path() / "state"), absl::OkStatus()) << "who holds it may leave";
}

TEST(StateFolderTest, RefusesAnIdentityThatIsNone) {
  testing::TemporaryFolder folder;
  std::ofstream(folder.path() / "id") << "../../etc\n";

  const absl::StatusOr<StateFolder> state = StateFolder::Open(folder.path(), At(1));

  EXPECT_EQ(state.status().code(), absl::StatusCode::kDataLoss) << state.status();
}

TEST(StateFolderTest, LetsGoOfWhatItKeptForLaterWhenTheDiskIsFull) {
  testing::TemporaryFolder folder;
  { ASSERT_TRUE(StateFolder::Open(folder.path(), At(1)).ok()); }
  // A disk that is full as long as a file is in the cache: the file to write is that file, and that is full.
  const std::filesystem::path kept = folder.path() / "cache" / "kept";
  std::filesystem::create_symlink("/dev/full", kept);
  std::filesystem::create_symlink(kept, folder.path() / "incarnation.new");

  const absl::StatusOr<StateFolder> state = StateFolder::Open(folder.path(), At(2));

  ASSERT_TRUE(state.ok()) << state.status();
}

TEST(StateFolderTest, KeepsAttemptsThatLeftACheckpoint) {
  testing::TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "attempts" / "9");
  std::ofstream(folder.path() / "attempts" / "9" / "checkpoint-3.safetensors") << "whatever it is";
  std::filesystem::create_directories(folder.path() / "attempts" / "10");
  std::ofstream(folder.path() / "attempts" / "10" / "checkpoint-3.safetensors.part") << "being written";

  const absl::StatusOr<StateFolder> state = StateFolder::Open(folder.path(), At(1));

  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_TRUE(std::filesystem::exists(state->attempts() / "9"));
  EXPECT_FALSE(std::filesystem::exists(state->attempts() / "10"));
}

TEST(StateFolderTest, RemovesWhatEarlierAttemptsLeft) {
  testing::TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "attempts" / "9");
  std::ofstream(folder.path() / "attempts" / "9" / "checkpoint") << "old";

  const absl::StatusOr<StateFolder> state = StateFolder::Open(folder.path(), At(1));

  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_TRUE(std::filesystem::is_empty(state->attempts()));
}

}  // namespace
}  // namespace longreach::agent
