// `longreach tensorboard`: which event files it makes, and what is in them.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "client/output/event_file.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kWrittenAt = 1'800'000'000;  // By the scheduler's clock.

class TensorBoardTest : public WithFakeScheduler {
 protected:
  TensorBoardTest() {
    for (const v1::Job& job : scheduler_.jobs.jobs()) *scheduler_.measurements.add_jobs()->mutable_job() = job;
    Add(0, "accuracy", 0, "", 0.5);
    Add(0, "accuracy", 40, "", 0.75);
    Add(0, "passkey_accuracy", 64, "depth=3", 1);
  }

  void Add(int job, const std::string& metric, int length, const std::string& slice, double value) {
    v1::Measurement& one = *scheduler_.measurements.mutable_jobs(job)->add_measurements();
    one.set_metric(metric);
    one.set_length(length);
    one.set_slice(slice);
    one.set_value(value);
  }

  std::string Target() const { return (folder_.path() / "runs").string(); }
  // What was made, below it.
  std::set<std::string> Files() const {
    std::set<std::string> files;
    std::error_code none;
    for (std::filesystem::recursive_directory_iterator at(Target(), none), end; at != end; ++at) {
      if (at->is_regular_file()) files.insert(std::filesystem::relative(at->path(), Target()).string());
    }
    return files;
  }
  std::string Contents(const std::string& name) const {
    std::ifstream file(Target() + "/" + name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  TempFolder folder_;
};

TEST_F(TensorBoardTest, EachJobIsARunWithItsValues) {
  const Outcome outcome = Run({"tensorboard", "last", Target()});

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  // The scheduler answers the question for losses with the same values. The second job has none.
  const std::string file = "even_pairs/rope:randomized/rate-0.0003_seed-0/events.out.tfevents.1800000000.bbbbbbbb.";
  EXPECT_THAT(Files(), ElementsAre(file + "training_loss", file + "values"));
  EventFile expected(kWrittenAt);
  expected.Add("accuracy/over_all_lengths", 1000, 0.5);
  expected.Add("accuracy/by_length", 40, 0.75);
  expected.Add("passkey_accuracy/by_length/depth=3", 64, 1);
  EXPECT_EQ(Contents(file + "values"), expected.bytes());
  EXPECT_EQ(outcome.out, Target() + ": 6 values\n");
  EXPECT_EQ(outcome.err, "'tensorboard --logdir " + Target() + "' shows them\n");
  EXPECT_EQ(scheduler_.measurements_request.metric(), "training_loss");
}

TEST_F(TensorBoardTest, OfASweepUnderWayItIsSaidThatThereWillBeMore) {
  scheduler_.sweep.mutable_counts()->set_queued(3);
  EXPECT_EQ(Run({"tensorboard", "last", Target()}).err,
            "'tensorboard --logdir " + Target() + "' shows them\nnote: 3 jobs of the sweep are not finished; what they have yet to measure is for another folder\n");
}

TEST_F(TensorBoardTest, LossesAreAtTheirSteps) {
  scheduler_.measurements.mutable_jobs(0)->clear_measurements();
  Add(1, "training_loss", 0, "step=1", 2.5);
  Add(1, "training_loss", 0, "step=2001", 0.25);
  ASSERT_EQ(Run({"tensorboard", "last", Target()}).code, kDone);
  EventFile expected(kWrittenAt);
  expected.Add("training_loss", 1, 2.5);
  expected.Add("training_loss", 2001, 0.25);
  EXPECT_EQ(Contents("even_pairs/rope:randomized/rate-0.0003_seed-1/events.out.tfevents.1800000000.bbbbbbbb.training_loss"), expected.bytes());
}

TEST_F(TensorBoardTest, NamesOfAStoreLeadNowhereElse) {
  v1::Job& job = *scheduler_.measurements.mutable_jobs(0)->mutable_job();
  job.add_systems("..");
  job.set_task("../../away");
  job.set_encoding("");
  ASSERT_EQ(Run({"tensorboard", "last", Target(), "--only", "seed=0"}).code, kDone);
  EXPECT_THAT(scheduler_.measurements_request.only(), ElementsAre("seed=0"));
  ASSERT_EQ(Files().size(), 2);
  EXPECT_THAT(*Files().begin(), HasSubstr("_../_.._.._away/_/rate-0.0003_seed-0/"));
}

TEST_F(TensorBoardTest, WhatIsThereIsLeftAlone) {
  const std::string kept = folder_.Write("runs", "mine");
  const Outcome outcome = Run({"tensorboard", "last", kept});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("already; it was left alone"));
  EXPECT_EQ(scheduler_.calls, 0);
}

TEST_F(TensorBoardTest, WithoutValuesNoFolderIsMade) {
  scheduler_.measurements.clear_jobs();
  const Outcome outcome = Run({"tensorboard", "last", Target()});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("no job of sweep 'table-b1' that is asked for has a value yet"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(TensorBoardTest, AnswersThatBreakOffLeaveNothingBehind) {
  scheduler_.behind_first_page = grpc::Status(grpc::StatusCode::INTERNAL, "the disk is gone");
  const Outcome outcome = Run({"tensorboard", "last", Target()});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("the disk is gone"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(TensorBoardTest, ProgramsGetTheFolderAndTheCount) {
  const nlohmann::json answer = nlohmann::json::parse(Run({"tensorboard", "last", Target(), "-o", "json"}).out);
  EXPECT_EQ(answer["folder"], Target());
  EXPECT_EQ(answer["values"], 6);
}

}  // namespace
}  // namespace longreach::client
