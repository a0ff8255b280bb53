#include "worker/agent/state_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <future>
#include <string>
#include <string_view>

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

TEST(StateFolderTest, GoesOnlyIfItIsNew) {
  testing::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "state";
  {
    absl::StatusOr<StateFolder> first = StateFolder::Open(path, At(1));
    ASSERT_TRUE(first.ok()) << first.status();
    first->GoIfNew();
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  {
    absl::StatusOr<StateFolder> slashed = StateFolder::Open(path / "", At(1));
    ASSERT_TRUE(slashed.ok()) << slashed.status();
    slashed->GoIfNew();
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));

  { ASSERT_TRUE(StateFolder::Open(path, At(2)).ok()); }
  {
    absl::StatusOr<StateFolder> again = StateFolder::Open(path, At(3));
    ASSERT_TRUE(again.ok()) << again.status();
    again->GoIfNew();
  }
  EXPECT_TRUE(std::filesystem::exists(path / "id"));
}

// Else the lock of a file that is gone would keep nobody from the folder.
TEST(StateFolderTest, WhoeverWaitsForAFolderThatGoesMakesItAnew) {
  testing::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "state";
  absl::StatusOr<StateFolder> first = StateFolder::Open(path, At(1));
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string id = first->worker();
  std::future<absl::StatusOr<StateFolder>> second = std::async(std::launch::async, [&path] { return StateFolder::Open(path, At(2), std::chrono::minutes(1)); });

  first->GoIfNew();
  { const StateFolder left = *std::move(first); }

  const absl::StatusOr<StateFolder> state = second.get();
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_NE(state->worker(), id);
  EXPECT_EQ(StateFolder::Open(path, At(3)).status().code(), absl::StatusCode::kFailedPrecondition) << "it is locked";
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

// What is no file is refused at once: nothing is waited for, and nothing is put in its place.
TEST(StateFolderTest, RefusesWhatIsNoFileAndSaysWhichItIs) {
  for (const char* name : {"lock", "id", "incarnation", "store"}) {
    for (const std::string_view what : {"pipe", "device", "folder", "link to nowhere", "link to itself"}) {
      testing::TemporaryFolder folder;
      const std::filesystem::path file = folder.path() / name;
      if (what == "pipe") {
        ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
      }
      if (what == "device") std::filesystem::create_symlink("/dev/zero", file);
      if (what == "folder") std::filesystem::create_directory(file);
      if (what == "link to nowhere") std::filesystem::create_symlink(folder.path() / "nowhere" / "at all", file);
      if (what == "link to itself") std::filesystem::create_symlink(file, file);

      const absl::StatusOr<StateFolder> state = StateFolder::Open(folder.path(), At(1));

      ASSERT_FALSE(state.ok()) << name << " is a " << what;
      EXPECT_THAT(std::string(state.status().message()), HasSubstr(file.string())) << what;
      // A lock is made where a link leads, if it can be, which a look does not try.
      if (file.filename() != "lock" || what != "link to nowhere") {
        EXPECT_EQ(StateFolder::Look(folder.path()), state.status()) << what;
      }
      const std::filesystem::file_status after = std::filesystem::symlink_status(file);
      EXPECT_TRUE(std::filesystem::exists(after) && !std::filesystem::is_regular_file(after)) << name << " is a " << what << " as before";
    }
  }
}

TEST(StateFolderTest, RefusesWhatIsNoFolderAndSaysWhichItIs) {
  for (const char* name : {"outbox", "cache", "attempts"}) {
    for (const std::string_view what : {"pipe", "file", "link to nowhere", "link to itself"}) {
      testing::TemporaryFolder folder;
      const std::filesystem::path part = folder.path() / name;
      if (what == "pipe") {
        ASSERT_EQ(::mkfifo(part.c_str(), 0600), 0);
      }
      if (what == "file") std::ofstream(part) << "no folder";
      if (what == "link to nowhere") std::filesystem::create_symlink(folder.path() / "nowhere", part);
      if (what == "link to itself") std::filesystem::create_symlink(part, part);

      const absl::Status looked = StateFolder::Look(folder.path());

      EXPECT_THAT(std::string(looked.message()), HasSubstr(part.string())) << what;
      EXPECT_FALSE(std::filesystem::exists(folder.path() / "lock")) << "a look makes nothing";
      EXPECT_FALSE(std::filesystem::exists(folder.path() / "nowhere"));
      EXPECT_EQ(StateFolder::Open(folder.path(), At(1)).status(), looked) << what;
    }
  }
}

// A pipe where a new content is written beside the old one.
TEST(StateFolderTest, APipeBesideAFileIsNotWaitedFor) {
  testing::TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder.path() / "id.new").c_str(), 0600), 0);

  const absl::StatusOr<StateFolder> state = StateFolder::Open(folder.path(), At(1));

  EXPECT_THAT(std::string(state.status().message()), HasSubstr("id.new")) << state.status();
}

TEST(StateFolderTest, AFullDiskIsToldWithWhatToDo) {
  for (const char* name : {"id.new", "incarnation.new"}) {
    testing::TemporaryFolder folder;
    std::filesystem::create_symlink("/dev/full", folder.path() / name);

    const absl::Status full = StateFolder::Open(folder.path(), At(1)).status();

    EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted) << full;
    EXPECT_THAT(std::string(full.message()), HasSubstr("make room on its disk")) << name;
  }
}

TEST(StateFolderTest, RefusesAStoreThatIsNone) {
  testing::TemporaryFolder folder;
  std::ofstream(folder.path() / "store") << "\x1b[31m\xff\n";

  EXPECT_EQ(StateFolder::Open(folder.path(), At(1)).status().code(), absl::StatusCode::kDataLoss);
  std::ofstream(folder.path() / "store") << "0123456789abcdef\n";

  const absl::StatusOr<StateFolder> state = StateFolder::Open(folder.path(), At(1));
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->store(), "0123456789abcdef");
}

// What is done from now on is of the new store, and must not be taken for the old one's at the next start.
TEST(StateFolderTest, AStoreThatCannotBeWrittenDownReplacesTheOneBeforeAndIsWrittenLater) {
  testing::TemporaryFolder folder;
  std::ofstream(folder.path() / "store") << "0123456789abcdef\n";
  {
    absl::StatusOr<StateFolder> state = StateFolder::Open(folder.path(), At(1));
    ASSERT_TRUE(state.ok()) << state.status();
    std::filesystem::create_symlink("/dev/full", folder.path() / "store.new");

    EXPECT_EQ(state->SetStore("fedcba9876543210").code(), absl::StatusCode::kResourceExhausted);

    EXPECT_EQ(state->store(), "fedcba9876543210");
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "store"));
    std::filesystem::remove(folder.path() / "store.new");
    EXPECT_EQ(state->SetStore("fedcba9876543210"), absl::OkStatus());
  }
  const absl::StatusOr<StateFolder> state = StateFolder::Open(folder.path(), At(2));
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->store(), "fedcba9876543210");
}

TEST(StateFolderTest, RefusesAnIncarnationThatNoneComesAfterAndAFileThatIsNoLine) {
  testing::TemporaryFolder folder;
  std::ofstream(folder.path() / "incarnation") << "9223372036854775807\n";
  EXPECT_THAT(std::string(StateFolder::Open(folder.path(), At(1)).status().message()), HasSubstr("9223372036854775807"));

  std::filesystem::resize_file(folder.path() / "incarnation", uint64_t{1} << 33);
  EXPECT_EQ(StateFolder::Open(folder.path(), At(1)).status().code(), absl::StatusCode::kDataLoss) << "it is not read";

  std::ofstream(folder.path() / "incarnation") << "9223372036854775806\n";
  const absl::StatusOr<StateFolder> state = StateFolder::Open(folder.path(), At(1));
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->incarnation(), 9223372036854775807u);
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
  { ASSERT_TRUE(StateFolder::Open(folder.path(), At(1)).ok()); }
  std::filesystem::create_directories(folder.path() / "attempts" / "9");
  std::ofstream(folder.path() / "attempts" / "9" / "checkpoint-3.safetensors") << "whatever it is";
  std::filesystem::create_directories(folder.path() / "attempts" / "10");
  std::ofstream(folder.path() / "attempts" / "10" / "checkpoint-3.safetensors.part") << "being written";

  const absl::StatusOr<StateFolder> state = StateFolder::Open(folder.path(), At(1));

  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_TRUE(std::filesystem::exists(state->attempts() / "9"));
  EXPECT_FALSE(std::filesystem::exists(state->attempts() / "10"));
}

TEST(StateFolderTest, RemovesWhatEarlierAttemptsLeftAndNothingElse) {
  testing::TemporaryFolder folder;
  { ASSERT_TRUE(StateFolder::Open(folder.path(), At(1)).ok()); }
  std::filesystem::create_directories(folder.path() / "attempts" / "9");
  std::ofstream(folder.path() / "attempts" / "9" / "checkpoint") << "old";
  std::filesystem::create_directories(folder.path() / "attempts" / "notes");

  const absl::StatusOr<StateFolder> state = StateFolder::Open(folder.path(), At(1));

  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_FALSE(std::filesystem::exists(state->attempts() / "9"));
  EXPECT_TRUE(std::filesystem::exists(state->attempts() / "notes"));
}

// A mistyped --state must not take somebody's files away.
TEST(StateFolderTest, RefusesAFolderOfSomebodyElseAndTouchesNothing) {
  for (const char* part : {"attempts", "outbox", "cache"}) {
    testing::TemporaryFolder folder;
    const std::filesystem::path theirs = folder.path() / part / "1";
    std::filesystem::create_directories(theirs);
    std::ofstream(theirs / "thesis.tex") << "years of work";

    const absl::Status refused = StateFolder::Open(folder.path(), At(1)).status();

    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << part;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(std::string("is no worker's state folder: it has '") + part + "' with something in it")) << part;
    EXPECT_EQ(StateFolder::Look(folder.path()), refused) << part;
    EXPECT_TRUE(std::filesystem::exists(theirs / "thesis.tex")) << part;
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "lock")) << part;
  }
}

}  // namespace
}  // namespace longreach::agent
