#include "scheduler/service/artifact_total.h"

#include "tests/store/fixture.h"

namespace longreach::service {
namespace {

using ::testing::HasSubstr;
using longreach::testing::TemporaryFolder;
using store::TestStore;

class ArtifactTotalTest : public ::testing::Test {
 protected:
  ArtifactTotalTest() : test_(folder_ / "s.db") {
    test_.AddWorker("w1");
    job_ = test_.AddSweep("one", store::MakePack(1)).at(0);
    attempt_ = test_.Start("w1", {job_});
  }

  void AddCheckpoint(int step, size_t bytes) { test_.AddFile(job_, "checkpoint", step, attempt_, std::string(bytes, static_cast<char>('a' + step))); }
  std::unique_ptr<ArtifactTotal::Admitted> LetIn(double bytes) {
    absl::StatusOr<std::unique_ptr<ArtifactTotal::Admitted>> admitted = total_.Admit(test_.db(), bytes, /*most=*/100, now_);
    EXPECT_OK(admitted);
    return admitted.ok() ? *std::move(admitted) : nullptr;
  }
  // It comes to be, if it is let in.
  absl::Status Admit(double bytes) {
    ASSIGN_OR_RETURN(const std::unique_ptr<ArtifactTotal::Admitted> admitted, total_.Admit(test_.db(), bytes, /*most=*/100, now_));
    admitted->HasComeToBe();
    return absl::OkStatus();
  }
  double Left() { return *total_.Left(test_.db(), /*most=*/100, now_); }

  TemporaryFolder folder_;
  TestStore test_;
  int64_t job_ = 0;
  int64_t attempt_ = 0;
  ArtifactTotal total_;
  SteadyTime now_{std::chrono::seconds(5)};
};

TEST_F(ArtifactTotalTest, RefusesWhatTogetherWithAllThatIsThereIsTooMuch) {
  AddCheckpoint(1, 60);

  const absl::Status refused = Admit(41);

  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("have 60 bytes, and with this file more than --max-artifact-bytes 100"));
  EXPECT_OK(Admit(40));
}

TEST_F(ArtifactTotalTest, CountsWhatItLetInAndSumsUpAgainAfterAWhile) {
  AddCheckpoint(1, 30);
  ASSERT_OK(Admit(40));
  EXPECT_EQ(Admit(40).code(), absl::StatusCode::kResourceExhausted);
  AddCheckpoint(2, 10);  // It was less in the end.
  EXPECT_EQ(Admit(40).code(), absl::StatusCode::kResourceExhausted) << "the sum is not made anew for each upload";

  now_ += ArtifactTotal::kHolds;

  EXPECT_OK(Admit(60));
}

TEST_F(ArtifactTotalTest, WhatDidNotComeToBeIsGivenBackToTheSumThatHadIt) {
  AddCheckpoint(1, 30);
  std::unique_ptr<ArtifactTotal::Admitted> admitted = LetIn(40);
  EXPECT_EQ(Left(), 30);
  now_ += ArtifactTotal::kHolds - std::chrono::seconds(1);
  admitted.reset();
  EXPECT_EQ(Left(), 70);

  admitted = LetIn(40);
  EXPECT_EQ(Left(), 30);
  now_ += ArtifactTotal::kHolds;
  EXPECT_EQ(Left(), 70) << "a new sum, without it";
  admitted.reset();
  EXPECT_EQ(Left(), 70);
}

}  // namespace
}  // namespace longreach::service
