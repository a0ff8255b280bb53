#include "store/artifacts.h"

#include <sys/stat.h>

#include "tests/store/fixture.h"

namespace longreach::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using longreach::testing::TemporaryFolder;

class ArtifactsTest : public ::testing::Test {
 protected:
  ArtifactsTest() : test_(folder_ / "s.db") { test_.AddWorker("w1"); }

  ArtifactFiles& files() { return test_.store->artifacts(); }
  bool HasFile(const std::string& content) { return std::filesystem::exists(files().PathOf(Sha256Of(content))); }

  TemporaryFolder folder_;
  TestStore test_;
};

TEST_F(ArtifactsTest, AFileLiesUnderItsHashAndIsReadBack) {
  const std::string hash = test_.PutFile("the bytes");

  EXPECT_EQ(files().PathOf(hash), folder_.path() / "s.db.artifacts" / hash.substr(0, 2) / hash);
  EXPECT_EQ(*files().Read(hash, 100), "the bytes");
  EXPECT_EQ(files().Read(hash, 5).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(files().FindAndPin(hash, 9).has_value());
  EXPECT_FALSE(files().FindAndPin(hash, 10).has_value());
  EXPECT_EQ(files().Read(Sha256Of("other"), 5).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(files().Read("../../etc/passwd", 5).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ArtifactsTest, ADamagedFileIsNotThereForWhoeverHasItsBytes) {
  const std::string hash = test_.PutFile("the bytes");
  WriteFile(files().PathOf(hash), "the bites");

  EXPECT_FALSE(files().FindAndPin(hash, 9).has_value());

  test_.PutFile("the bytes");
  EXPECT_TRUE(files().FindAndPin(hash, 9).has_value());
}

TEST_F(ArtifactsTest, OtherBytesThanAnnouncedLeaveNothing) {
  const std::string hash = Sha256Of("right");
  {
    ASSERT_OK_AND_ASSIGN(ArtifactWriter wrong, files().Create(hash, 5));
    ASSERT_OK(wrong.Append("wrong"));
    EXPECT_EQ(wrong.Commit().status().code(), absl::StatusCode::kDataLoss);
    ASSERT_OK_AND_ASSIGN(ArtifactWriter cut_off, files().Create(hash, 5));
    ASSERT_OK(cut_off.Append("rig"));
    EXPECT_EQ(cut_off.Commit().status().code(), absl::StatusCode::kDataLoss);
    ASSERT_OK_AND_ASSIGN(ArtifactWriter longer, files().Create(hash, 5));
    EXPECT_EQ(longer.Append("right and more").code(), absl::StatusCode::kDataLoss) << "as the call has it: there is space";
  }
  EXPECT_EQ(files().Create("ABC", 5).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(files().List(), IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(files().folder() / "tmp"));
}

TEST_F(ArtifactsTest, ADamagedFileIsNoticedWhenItIsRead) {
  const std::string hash = test_.PutFile("the bytes");
  WriteFile(files().PathOf(hash), "the bytEs");

  EXPECT_EQ(files().Verify(hash).code(), absl::StatusCode::kDataLoss);
  ASSERT_OK_AND_ASSIGN(ArtifactReader reader, ArtifactReader::Open(files(), hash));
  EXPECT_OK(reader.Next(100));
  EXPECT_EQ(reader.Next(100).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ArtifactsTest, WhatIsKnownToBeLostIsKnownUntilItIsReplaced) {
  const std::string hash = test_.PutFile("the bytes");
  EXPECT_EQ(files().WhyLost(hash, 9), "");
  EXPECT_EQ(files().WhyLost(hash, 10), "has 9 bytes instead of 10");
  EXPECT_EQ(files().WhyLost(Sha256Of("other bytes"), 9), "is missing");

  WriteFile(files().PathOf(hash), "the bytEs");
  EXPECT_EQ(files().WhyLost(hash, 9), "") << "nobody has read it yet";
  EXPECT_FALSE(files().Verify(hash).ok());
  EXPECT_EQ(files().WhyLost(hash, 9), "is damaged");

  std::filesystem::remove(files().PathOf(hash));
  EXPECT_EQ(files().WhyLost(hash, 9), "is missing");
  test_.PutFile("the bytes");
  EXPECT_EQ(files().WhyLost(hash, 9), "");
}

TEST_F(ArtifactsTest, AFileIsNotMissedWhileItsFolderIsAway) {
  const std::string hash = test_.PutFile("the bytes");
  const std::filesystem::path elsewhere = files().folder().string() + ".unmounted";
  std::filesystem::rename(files().folder(), elsewhere);
  EXPECT_EQ(ArtifactReader::Open(files(), hash).status().code(), absl::StatusCode::kUnavailable);
  std::filesystem::create_directory(files().folder());  // Where nothing is mounted.
  EXPECT_EQ(files().WhyLost(hash, 9), "");
  EXPECT_EQ(ArtifactReader::Open(files(), hash).status().code(), absl::StatusCode::kUnavailable);
  std::filesystem::remove(files().folder());
  std::filesystem::rename(elsewhere, files().folder());

  EXPECT_OK(ArtifactReader::Open(files(), hash));
  EXPECT_EQ(ArtifactReader::Open(files(), Sha256Of("other bytes")).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ArtifactsTest, AMissingFileIsToldWithItsFolderAndWhatABackupLacks) {
  const std::string hash = Sha256Of("never put");
  const absl::Status missing = ArtifactReader::Open(files(), hash).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("there is no artifact " + hash + " in the store's folder " + files().folder().string() + "; 'store backup' copies the database alone: "));
}

TEST_F(ArtifactsTest, WhatAnEarlierProcessLeftHalfWrittenIsRemovedAtStart) {
  WriteFile(files().folder() / "tmp" / "1-1", "half");
  ASSERT_OK(ArtifactFiles::Open(files().folder()));
  EXPECT_TRUE(std::filesystem::is_empty(files().folder() / "tmp"));
}

TEST_F(ArtifactsTest, ALinkedFileIsTakenAsItIs) {
  WriteFile(folder_ / "of the worker", "the bytes");
  std::filesystem::create_hard_link(folder_ / "of the worker", files().inbox() / "w-1");
  const std::string hash = Sha256Of("the bytes");

  ASSERT_OK_AND_ASSIGN(ArtifactWriter writer, files().TakeLinked("w-1", "", 9));
  EXPECT_FALSE(*writer.ReadOn(9));  // There might be more.
  EXPECT_TRUE(*writer.ReadOn(9));
  EXPECT_EQ(writer.sha256(), hash);
  ASSERT_OK_AND_ASSIGN(const Pin pin, writer.Commit());

  EXPECT_TRUE(pin.is_new());
  EXPECT_EQ(*files().Read(hash, 100), "the bytes");
  EXPECT_TRUE(std::filesystem::equivalent(files().PathOf(hash), folder_ / "of the worker"));
  EXPECT_TRUE(std::filesystem::is_empty(files().inbox()));
  EXPECT_THAT(files().Unsettled(), ElementsAre(hash));
}

TEST_F(ArtifactsTest, ALinkedFileThatIsNotNeededGoes) {
  const std::string hash = test_.PutFile("the bytes");
  WriteFile(files().inbox() / "w-1", "the bytes");
  {
    ASSERT_OK_AND_ASSIGN(ArtifactWriter writer, files().TakeLinked("w-1", hash, 9));
    EXPECT_TRUE(*writer.ReadOn(100));
    EXPECT_TRUE(files().FindAndPin(writer.sha256(), 9).has_value());
  }
  EXPECT_TRUE(std::filesystem::is_empty(files().inbox()));
  EXPECT_EQ(*files().Read(hash, 100), "the bytes");
}

TEST_F(ArtifactsTest, ALinkedFileWithOtherBytesThanAnnouncedLeavesNothing) {
  WriteFile(files().inbox() / "w-1", "wrong");
  {
    ASSERT_OK_AND_ASSIGN(ArtifactWriter writer, files().TakeLinked("w-1", Sha256Of("right"), 5));
    EXPECT_TRUE(*writer.ReadOn(100));
    EXPECT_EQ(writer.Commit().status().code(), absl::StatusCode::kDataLoss);
  }
  EXPECT_TRUE(std::filesystem::is_empty(files().inbox()));
  EXPECT_THAT(files().List(), IsEmpty());
}

TEST_F(ArtifactsTest, WhatIsNoFileOfTheInboxIsNotTaken) {
  WriteFile(folder_ / "secret", "of others");
  std::filesystem::create_symlink(folder_ / "secret", files().inbox() / "symlink");
  std::filesystem::create_directory(files().inbox() / "folder");
  ASSERT_EQ(mkfifo((files().inbox() / "pipe").c_str(), 0600), 0);
  WriteFile(files().inbox() / "short", "shorter");

  for (const char* name : {"symlink", "folder", "pipe", "short", "not-there"}) {
    EXPECT_EQ(files().TakeLinked(name, "", 9).status().code(), absl::StatusCode::kFailedPrecondition) << name;
  }
  for (const std::string& name : {std::string("../tmp/x"), std::string("."), std::string(".."), std::string(""), std::string(129, 'a'), std::string("a\0b", 3)}) {
    EXPECT_EQ(files().TakeLinked(name, "", 9).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(std::filesystem::file_size(folder_ / "secret"), 9u);
}

TEST_F(ArtifactsTest, ALinkedFileThatIsNotReadToItsEndLeavesNothing) {
  const std::string bytes(3'000'000, 'x');
  WriteFile(files().inbox() / "w-1", bytes);
  {
    ASSERT_OK_AND_ASSIGN(ArtifactWriter writer, files().TakeLinked("w-1", "", std::ssize(bytes)));
    EXPECT_FALSE(*writer.ReadOn(2'000'000));
    EXPECT_EQ(writer.Commit().status().code(), absl::StatusCode::kDataLoss);
  }
  EXPECT_TRUE(std::filesystem::is_empty(files().inbox()));
  EXPECT_THAT(files().List(), IsEmpty());
}

TEST_F(ArtifactsTest, WhatAnEarlierProcessLeftInTheInboxIsRemovedAtStart) {
  WriteFile(files().inbox() / "w-1", "never taken");
  ASSERT_OK(ArtifactFiles::Open(files().folder()));
  EXPECT_TRUE(std::filesystem::is_empty(files().inbox()));
}

TEST_F(ArtifactsTest, TheTwoNewestCheckpointsAreKeptAndTheFilesOfOthersRemoved) {
  const int64_t job = test_.AddSweep("one", MakePack(1))[0];
  const int64_t attempt = test_.Start("w1", {job});
  for (const int step : {10, 20, 30}) test_.AddFile(job, "checkpoint", step, attempt, "step " + std::to_string(step));

  ASSERT_OK_AND_ASSIGN(std::vector<ArtifactRow> kept, CheckpointsOf(test_.db(), job));
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].step, 30);
  EXPECT_EQ(kept[1].step, 20);
  EXPECT_EQ(test_.Job(job).checkpoint_step, 30);
  EXPECT_THAT(*UnusedHashes(test_.db(), 10), ElementsAre(Sha256Of("step 10")));
  EXPECT_TRUE(HasFile("step 10"));

  EXPECT_EQ(*RemoveUnusedFiles(test_.db(), files(), 10), 1);

  EXPECT_FALSE(HasFile("step 10"));
  EXPECT_TRUE(HasFile("step 20"));
  EXPECT_THAT(*UnusedHashes(test_.db(), 10), IsEmpty());
  EXPECT_THAT(test_.Violations(true), IsEmpty());
}

TEST_F(ArtifactsTest, OfTwoCheckpointsOfOneStepTheLaterAttemptsIsKept) {
  const int64_t job = test_.AddSweep("one", MakePack(1))[0];
  const int64_t first = test_.Start("w1", {job});
  test_.AddFile(job, "checkpoint", 10, first, "10 by the first");
  test_.AddFile(job, "checkpoint", 20, first, "20 by the first");
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(RequeueJob(tx, job, first, {}));
    return EndAttempt(tx, first, Outcome::kLost, "", "", At(30));
  }));
  const int64_t second = test_.Start("w1", {job}, 40);

  test_.AddFile(job, "checkpoint", 20, second, "20 by the second");

  ASSERT_OK_AND_ASSIGN(std::vector<ArtifactRow> kept, CheckpointsOf(test_.db(), job));
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].sha256, Sha256Of("20 by the second"));
  EXPECT_EQ(kept[1].sha256, Sha256Of("10 by the first"));
}

TEST_F(ArtifactsTest, ALaterAttemptThatCouldNotUseTheCheckpointsHasItsOwnKeptFromTheFirstOn) {
  const int64_t job = test_.AddSweep("one", MakePack(1))[0];
  const int64_t first = test_.Start("w1", {job});
  for (const int step : {80, 90}) test_.AddFile(job, "checkpoint", step, first, "unusable " + std::to_string(step));
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(RequeueJob(tx, job, first, {}));
    return EndAttempt(tx, first, Outcome::kLost, "", "", At(30));
  }));
  const int64_t second = test_.Start("w1", {job}, 40);

  test_.AddFile(job, "checkpoint", 10, second, "anew");

  EXPECT_EQ(test_.Job(job).checkpoint_step, 10);
  ASSERT_OK_AND_ASSIGN(std::vector<ArtifactRow> kept, CheckpointsOf(test_.db(), job));
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].sha256, Sha256Of("anew"));
  EXPECT_THAT(*UnusedHashes(test_.db(), 10), UnorderedElementsAre(Sha256Of("unusable 80"), Sha256Of("unusable 90")));
  EXPECT_THAT(test_.Violations(true), IsEmpty());
}

TEST_F(ArtifactsTest, ALaterAttemptThatWentOnFromTheCheckpointBeforeKeepsThat) {
  const int64_t job = test_.AddSweep("one", MakePack(1))[0];
  const int64_t first = test_.Start("w1", {job});
  for (const int step : {20, 40}) test_.AddFile(job, "checkpoint", step, first, "first " + std::to_string(step));
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(RequeueJob(tx, job, first, {}));
    return EndAttempt(tx, first, Outcome::kLost, "", "", At(30));
  }));
  const int64_t second = test_.Start("w1", {job}, 40);

  test_.AddFile(job, "checkpoint", 30, second, "second 30");

  ASSERT_OK_AND_ASSIGN(std::vector<ArtifactRow> kept, CheckpointsOf(test_.db(), job));
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].sha256, Sha256Of("second 30"));
  EXPECT_EQ(kept[1].sha256, Sha256Of("first 20"));
}

TEST_F(ArtifactsTest, AFileOfSeveralJobsIsRemovedOnlyWhenTheLastOfThemIsDone) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(2));
  const int64_t attempt = test_.Start("w1", jobs);
  for (const int64_t job : jobs) test_.AddFile(job, "checkpoint", 10, attempt, "both");
  for (const int64_t job : jobs) test_.AddFile(job, "weights", 100, attempt, "final");
  const auto complete = [&](int64_t job) {
    EXPECT_OK(test_.Write([&](sql::Transaction& tx) {
      return CompleteJob(tx, job, attempt, {.measurements = {{"accuracy", 0, "", 1}}});
    }));
  };

  complete(jobs[0]);
  EXPECT_THAT(*UnusedHashes(test_.db(), 10), IsEmpty());
  complete(jobs[1]);
  EXPECT_THAT(*UnusedHashes(test_.db(), 10), ElementsAre(Sha256Of("both")));
  EXPECT_EQ(*RemoveUnusedFiles(test_.db(), files(), 10), 1);
  EXPECT_FALSE(HasFile("both"));
  EXPECT_TRUE(HasFile("final")) << "final weights stay";
  EXPECT_EQ(test_.Job(jobs[0]).checkpoint_step, 0);
}

TEST_F(ArtifactsTest, ThePinnedStaysAndTheSameAgainIsUsedAgain) {
  const int64_t job = test_.AddSweep("one", MakePack(1))[0];
  const int64_t attempt = test_.Start("w1", {job});
  for (const int step : {10, 20, 30}) test_.AddFile(job, "checkpoint", step, attempt, "step " + std::to_string(step));
  const std::string hash = Sha256Of("step 10");
  {
    std::optional<Pin> pin = files().FindAndPin(hash, 7);  // Somebody hands the same bytes in again.
    ASSERT_TRUE(pin.has_value());
    EXPECT_EQ(*RemoveUnusedFiles(test_.db(), files(), 10), 0);
    EXPECT_TRUE(HasFile("step 10"));
    test_.AddFile(job, "series", 0, attempt, "step 10");
  }
  EXPECT_THAT(*UnusedHashes(test_.db(), 10), IsEmpty());
  EXPECT_EQ(*RemoveUnusedFiles(test_.db(), files(), 10), 0);
  EXPECT_TRUE(HasFile("step 10"));
}

TEST_F(ArtifactsTest, FilesThatCannotBeRemovedDoNotKeepOthersFromTheirTurn) {
  const int64_t job = test_.AddSweep("one", MakePack(1))[0];
  const int64_t attempt = test_.Start("w1", {job});
  for (int step = 1; step <= 6; ++step) test_.AddFile(job, "checkpoint", step, attempt, "step " + std::to_string(step));
  const std::vector<std::string> unused = *UnusedHashes(test_.db(), 10);
  ASSERT_EQ(unused.size(), 4u);
  // A folder in place of the first file, as nobody can unlink one; and the second is pinned.
  std::filesystem::remove(files().PathOf(unused[0]));
  std::filesystem::create_directory(files().PathOf(unused[0]));
  const std::optional<Pin> pin = files().FindAndPin(unused[1], 6);
  ASSERT_TRUE(pin.has_value());
  std::string from;

  EXPECT_FALSE(RemoveUnusedFiles(test_.db(), files(), 2, &from).ok());
  EXPECT_EQ(*RemoveUnusedFiles(test_.db(), files(), 2, &from), 2);

  EXPECT_THAT(*UnusedHashes(test_.db(), 10), ElementsAre(unused[0], unused[1]));
  EXPECT_THAT(*UnusedHashes(test_.db(), 10, unused[1]), ElementsAre(unused[1], unused[0]));
}

TEST_F(ArtifactsTest, AFileIsNotTakenForRemovedWhileItsFolderIsAway) {
  const int64_t job = test_.AddSweep("one", MakePack(1))[0];
  const int64_t attempt = test_.Start("w1", {job});
  for (int step = 1; step <= 3; ++step) test_.AddFile(job, "checkpoint", step, attempt, "step " + std::to_string(step));
  const std::filesystem::path elsewhere = files().folder().string() + ".unmounted";
  std::filesystem::rename(files().folder(), elsewhere);

  EXPECT_EQ(RemoveUnusedFiles(test_.db(), files(), 10).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(*UnusedHashes(test_.db(), 10), ::testing::SizeIs(1));

  std::filesystem::rename(elsewhere, files().folder());
  EXPECT_EQ(*RemoveUnusedFiles(test_.db(), files(), 10), 1);
}

TEST_F(ArtifactsTest, AFileThatACrashLeftWithoutARowIsRemovedAtStart) {
  const int64_t job = test_.AddSweep("one", MakePack(1))[0];
  const int64_t attempt = test_.Start("w1", {job});
  test_.AddFile(job, "log", 0, attempt, "a log");
  test_.AddFile(job, "series", 0, attempt, "its answer was lost");
  test_.PutFile("its answer was lost");
  test_.PutFile("no row");
  EXPECT_THAT(files().Unsettled(), UnorderedElementsAre(Sha256Of("its answer was lost"), Sha256Of("no row")));
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<ArtifactFiles> again, ArtifactFiles::Open(files().folder()));

  EXPECT_EQ(*RemoveUnsettledFiles(test_.db(), *again), 1);

  EXPECT_FALSE(HasFile("no row"));
  EXPECT_TRUE(HasFile("its answer was lost"));
  EXPECT_TRUE(HasFile("a log"));
  EXPECT_THAT(again->Unsettled(), IsEmpty());
}

TEST_F(ArtifactsTest, APinOfANewFileThatGoesUnsettledIsToldOnce) {
  const auto put = [this](const std::string& text) {
    absl::StatusOr<ArtifactWriter> writer = files().Create(Sha256Of(text), std::ssize(text));
    EXPECT_TRUE(writer.ok() && writer->Append(text).ok());
    return *writer->Commit();
  };
  EXPECT_FALSE(files().LeftUnsettled());
  {
    Pin kept = put("recorded");
    Pin moved = std::move(kept);
    moved.Settle();
    Pin moved_again = std::move(moved);
  }
  { const std::optional<Pin> found = files().FindAndPin(Sha256Of("recorded"), std::ssize(std::string("recorded"))); }
  EXPECT_FALSE(files().LeftUnsettled()) << "one is settled, the other was there before";

  {
    const Pin pin = put("could not be recorded");
    EXPECT_FALSE(files().LeftUnsettled()) << "it is not known yet";
    EXPECT_EQ(*RemoveUnsettledFiles(test_.db(), files()), 0);
  }
  EXPECT_TRUE(files().LeftUnsettled());
  EXPECT_EQ(*RemoveUnsettledFiles(test_.db(), files()), 1);
  EXPECT_FALSE(files().LeftUnsettled());
  EXPECT_FALSE(HasFile("could not be recorded"));
  EXPECT_TRUE(HasFile("recorded"));
}

TEST_F(ArtifactsTest, AnUnsettledFileThatAnotherUploadHasFoundGoesOnceThatIsNotRecordedEither) {
  test_.PutFile("could not be recorded");
  EXPECT_TRUE(files().LeftUnsettled());
  {
    const std::optional<Pin> again = files().FindAndPin(Sha256Of("could not be recorded"), std::ssize(std::string("could not be recorded")));
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(*RemoveUnsettledFiles(test_.db(), files()), 0);
    EXPECT_FALSE(files().LeftUnsettled()) << "it is not known yet";
  }
  EXPECT_TRUE(files().LeftUnsettled());
  EXPECT_EQ(*RemoveUnsettledFiles(test_.db(), files()), 1);
  EXPECT_FALSE(HasFile("could not be recorded"));
}

TEST_F(ArtifactsTest, AnUnsettledFileThatCannotBeRemovedKeepsNoOtherFromIt) {
  for (const char* text : {"one", "two", "three"}) test_.PutFile(text);
  const std::filesystem::path stays = files().PathOf(Sha256Of("two"));
  std::filesystem::remove(stays);
  std::filesystem::create_directories(stays / "of somebody else");

  EXPECT_FALSE(RemoveUnsettledFiles(test_.db(), files()).ok());

  EXPECT_FALSE(HasFile("one"));
  EXPECT_FALSE(HasFile("three"));
  EXPECT_THAT(files().Unsettled(), UnorderedElementsAre(Sha256Of("two"))) << "to be tried again";
}

// Whoever removed the mark later could take away that of an upload which has put the file there again.
TEST_F(ArtifactsTest, WithAFileItsMarkGoesToo) {
  test_.PutFile("could not be recorded");

  EXPECT_TRUE(*files().Remove(Sha256Of("could not be recorded")));

  EXPECT_THAT(files().Unsettled(), IsEmpty());
}

TEST_F(ArtifactsTest, AFileThatIsSettledStaysAlsoWhereItHasNoRow) {
  test_.PutFile("named by a newer copy of the database");
  files().Settle(Sha256Of("named by a newer copy of the database"));

  EXPECT_EQ(*RemoveUnsettledFiles(test_.db(), files()), 0);

  EXPECT_TRUE(HasFile("named by a newer copy of the database"));
}

TEST_F(ArtifactsTest, TheNewestLogIsThatOfTheLastAttempt) {
  const int64_t job = test_.AddSweep("one", MakePack(1))[0];
  const int64_t first = test_.Start("w1", {job});
  test_.AddFile(job, "log", 90, first, "first");
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(RequeueJob(tx, job, first, {}));
    return EndAttempt(tx, first, Outcome::kFailed, "", "", At(30));
  }));
  const int64_t second = test_.Start("w1", {job}, 40);
  test_.AddFile(job, "log", 5, second, "second");
  test_.AddFile(job, "log", 5, second, "second, longer");  // Handed in again with more lines.

  EXPECT_EQ((*NewestArtifact(test_.db(), job, ArtifactKind::kLog))->sha256, Sha256Of("second, longer"));
  EXPECT_EQ(ArtifactsOf(test_.db(), job)->size(), 2u);
  EXPECT_THAT(*UnusedHashes(test_.db(), 10), ElementsAre(Sha256Of("second")));
  EXPECT_FALSE(NewestArtifact(test_.db(), job, ArtifactKind::kWeights)->has_value());
}

TEST_F(ArtifactsTest, OfASucceededJobOnlyTheFilesOfItsResultAndItsLogsStay) {
  const int64_t job = test_.AddSweep("one", MakePack(1))[0];
  const int64_t lost = test_.Start("w1", {job});
  for (const char* kind : {"weights", "series", "log"}) test_.AddFile(job, kind, 100, lost, std::string(kind) + " of the first");
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(RequeueJob(tx, job, lost, {}));
    return EndAttempt(tx, lost, Outcome::kLost, "", "", At(30));
  }));
  EXPECT_FALSE(ArtifactOfResult(test_.db(), job, "weights")->has_value());
  const int64_t second = test_.Start("w1", {job}, 40);
  test_.AddFile(job, "weights", 100, second, "weights of the second");

  test_.Succeed(second, 0.5);

  EXPECT_EQ((*ArtifactOfResult(test_.db(), job, "weights"))->sha256, Sha256Of("weights of the second"));
  EXPECT_FALSE(ArtifactOfResult(test_.db(), job, "series")->has_value());
  EXPECT_EQ(*RemoveUnusedFiles(test_.db(), files(), 10), 2);
  EXPECT_TRUE(HasFile("log of the first"));
  EXPECT_FALSE(HasFile("series of the first"));
}

}  // namespace
}  // namespace longreach::store
