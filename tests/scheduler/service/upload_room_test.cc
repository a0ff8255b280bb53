// What is told of files that find no room, and for how long.
#include "scheduler/service/upload_room.h"

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longreach::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct ToldRoom {
  LiveBoard board;
  double space = 0;
  std::vector<std::string> log;
  std::set<std::string> open;  // Jobs that run or are to run.
  UploadRoom room{board, [this] { return space; }, [this](const std::string& line) { log.push_back(line); }};

  void Look(SteadyTime now) {
    room.Look(now, [this](const std::string& job) { return open.contains(job); });
  }
};

TEST(UploadRoomTest, ATroubleIsToldOnceAndSoIsItsEnd) {
  ToldRoom told;

  told.room.Refused(100, absl::ResourceExhaustedError("cannot write 'tmp/1': No space left on device"));
  told.room.Refused(200, absl::ResourceExhaustedError("cannot write 'tmp/2': No space left on device"));
  EXPECT_EQ(told.board.Read().trouble(), "no room for files of jobs: cannot write 'tmp/1': No space left on device");
  told.room.Taken(100);
  EXPECT_NE(told.board.Read().trouble(), "") << "the one of 200 bytes has no room yet";
  told.room.Taken(200);

  EXPECT_EQ(told.board.Read().trouble(), "");
  EXPECT_THAT(told.log, ElementsAre("no room for files of jobs: cannot write 'tmp/1': No space left on device", "there is room for files of jobs again"));
}

TEST(UploadRoomTest, ASmallFileEndsItWhereALargeOneWouldHaveRoom) {
  ToldRoom told;
  told.room.Refused(200, absl::ResourceExhaustedError("full"));

  told.space = 300;
  told.room.Taken(1);

  EXPECT_EQ(told.board.Read().trouble(), "");
}

TEST(UploadRoomTest, AStoreThatCanBeWrittenAgainEndsItWhereThereIsRoom) {
  ToldRoom told;
  told.room.Refused(200, absl::ResourceExhaustedError("full"));

  told.room.StoreIsWell();
  EXPECT_NE(told.board.Read().trouble(), "");
  told.space = 300;
  told.room.StoreIsWell();

  EXPECT_EQ(told.board.Read().trouble(), "");
}

TEST(UploadRoomTest, TheDiskIsAskedFromTimeToTimeWhetherThereIsRoomAgain) {
  ToldRoom told;
  const SteadyTime now{std::chrono::seconds(1000)};
  EXPECT_EQ(told.room.NextLook(), std::nullopt);
  told.room.Refused(200, absl::ResourceExhaustedError("full"));
  ASSERT_TRUE(told.room.NextLook().has_value());
  EXPECT_LE(*told.room.NextLook(), now);

  told.Look(now);
  EXPECT_NE(told.board.Read().trouble(), "");
  const std::optional<SteadyTime> next = told.room.NextLook();
  ASSERT_TRUE(next.has_value());
  EXPECT_GT(*next, now);
  told.space = 200;
  told.Look(*next - std::chrono::microseconds(1));
  EXPECT_NE(told.board.Read().trouble(), "") << "it was asked a moment ago";
  told.Look(*next);

  EXPECT_EQ(told.board.Read().trouble(), "");
  EXPECT_THAT(told.log, ElementsAre("no room for files of jobs: full", "there is room for files of jobs again"));
  EXPECT_EQ(told.room.NextLook(), std::nullopt);
}

// A quota, say: it would come and go with each try.
TEST(UploadRoomTest, WhereTheDiskHadRoomItIsNotAsked) {
  ToldRoom told;
  told.space = 1000;
  told.room.Refused(200, absl::ResourceExhaustedError("full"));
  EXPECT_EQ(told.room.NextLook(), std::nullopt);
  told.Look(SteadyTime{std::chrono::seconds(1000)});
  EXPECT_NE(told.board.Read().trouble(), "");

  told.room.Taken(200);
  EXPECT_EQ(told.board.Read().trouble(), "");
}

// Their sweep was cancelled, say, and nobody tries again.
TEST(UploadRoomTest, WhatNobodyNeedsAnyMoreIsNoTrouble) {
  for (const double space : {0.0, 1000.0}) {  // Of a full disk, and where a quota is.
    ToldRoom told;
    told.space = space;
    told.open = {"a", "b"};
    told.room.Refused(1001, absl::ResourceExhaustedError("full"), {"a", "b"});
    told.room.Refused(200, absl::ResourceExhaustedError("full"), {"b", "c"});
    SteadyTime now{std::chrono::seconds(1000)};
    told.Look(now);
    EXPECT_NE(told.board.Read().trouble(), "");

    told.open = {"b"};
    told.Look(now += std::chrono::minutes(1));
    EXPECT_NE(told.board.Read().trouble(), "") << "one of them still needs it";
    ASSERT_TRUE(told.room.NextLook().has_value());
    told.open = {};
    told.Look(*told.room.NextLook());

    EXPECT_EQ(told.board.Read().trouble(), "");
    EXPECT_THAT(told.log, ElementsAre("no room for files of jobs: full", "nobody needs the files of jobs any more that could not be written"));
    EXPECT_EQ(told.room.NextLook(), std::nullopt);
  }
}

TEST(UploadRoomTest, RoomForTheLargestFileThatIsStillNeededIsEnough) {
  ToldRoom told;
  told.open = {"a", "b"};
  told.room.Refused(200, absl::ResourceExhaustedError("full"), {"a"});
  told.room.Refused(100, absl::ResourceExhaustedError("full"), {"b"});

  told.open = {"b"};
  SteadyTime now{std::chrono::seconds(1000)};
  told.Look(now);
  told.space = 99;
  told.Look(now += std::chrono::minutes(1));
  EXPECT_NE(told.board.Read().trouble(), "");
  told.space = 100;
  told.Look(now += std::chrono::minutes(1));

  EXPECT_EQ(told.board.Read().trouble(), "");
  EXPECT_THAT(told.log, ElementsAre("no room for files of jobs: full", "there is room for files of jobs again"));
}

// It is not known whether one of the others still needs its file.
TEST(UploadRoomTest, FilesOfVeryManyJobsAreWaitedFor) {
  ToldRoom told;
  std::vector<std::string> jobs;
  for (int job = 0; job < 1001; ++job) jobs.push_back(std::to_string(job));
  told.room.Refused(200, absl::ResourceExhaustedError("full"), jobs);

  told.Look(SteadyTime{std::chrono::seconds(1000)});
  EXPECT_NE(told.board.Read().trouble(), "");
  told.room.Taken(200);

  EXPECT_EQ(told.board.Read().trouble(), "");
}

// Its disk is not mounted any more, say. How much room there is where it was says nothing.
TEST(UploadRoomTest, AFolderThatIsAwayIsToldUntilAFileIsTaken) {
  for (const absl::Status& away : {absl::NotFoundError("cannot make 'tmp/1': No such file or directory"), absl::PermissionDeniedError("cannot make 'tmp/1': Read-only file system"),
                                   absl::UnavailableError("cannot write 'tmp/1': Input/output error")}) {
    ToldRoom told;
    told.space = 1000;
    told.room.Refused(200, away);
    told.room.Refused(100, away);
    EXPECT_THAT(told.board.Read().trouble(), ::testing::AllOf(HasSubstr("files of jobs cannot be written: cannot"), HasSubstr("see whether their folder is there")));

    EXPECT_EQ(told.room.NextLook(), std::nullopt);
    told.Look(SteadyTime{std::chrono::seconds(1000)});
    told.room.StoreIsWell();
    EXPECT_NE(told.board.Read().trouble(), "");
    told.space = 0;
    told.room.Taken(1);

    EXPECT_EQ(told.board.Read().trouble(), "");
    EXPECT_THAT(told.log, ElementsAre(HasSubstr("'tmp/1'"), "files of jobs can be written again"));
  }
}

TEST(UploadRoomTest, WhatIsWrongWithAFileIsNoTroubleOfTheDisk) {
  ToldRoom told;

  told.room.Refused(100, absl::DataLossError("the file has another hash"));
  told.room.Taken(100);

  EXPECT_EQ(told.board.Read().trouble(), "");
  EXPECT_THAT(told.log, ElementsAre());
}

TEST(UploadRoomTest, TheStoresOwnTroubleIsToldFirstAndStaysByItself) {
  ToldRoom told;
  told.board.SetStoreTrouble("the disk is full");
  told.room.Refused(100, absl::ResourceExhaustedError("full"));
  EXPECT_EQ(told.board.Read().trouble(), "the store takes nothing: the disk is full");

  told.board.SetStoreTrouble("");
  EXPECT_EQ(told.board.Read().trouble(), "no room for files of jobs: full");
  told.board.SetStoreTrouble("the disk is full");
  told.room.Taken(100);

  EXPECT_EQ(told.board.Read().trouble(), "the store takes nothing: the disk is full");
}

}  // namespace
}  // namespace longreach::service
