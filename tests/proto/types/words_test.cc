#include "proto/types/words.h"

#include <gtest/gtest.h>

#include "proto/base/text.h"
#include "proto/types/job.h"
#include "proto/types/time.h"

namespace longreach {
namespace {

using std::chrono::microseconds;

TEST(JobStateTest, EveryWordMakesItsStateAndBack) {
  for (const std::string_view word : kJobStateWords) {
    const absl::StatusOr<JobState> state = MakeJobState(word, Attempt{7}, WorkerId{"w"}, "why");
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_EQ(Word(*state), word);
  }
  EXPECT_EQ(std::get<Leased>(*MakeJobState("leased", Attempt{7}, WorkerId{"w"}, "")).attempt, Attempt{7});
  EXPECT_EQ(MakeJobState("Leased", {}, {}, "").status().code(), absl::StatusCode::kDataLoss);
}

TEST(SweepStateTest, WordsReadBack) {
  for (const SweepState state : {SweepState::kLive, SweepState::kPaused, SweepState::kCancelled}) {
    EXPECT_EQ(ParseSweepState(Word(state)), state);
  }
  EXPECT_FALSE(ParseSweepState("gone").has_value());
}

TEST(WorkerStateTest, WordsReadBack) {
  for (const WorkerState state : {WorkerState::kActive, WorkerState::kDraining, WorkerState::kPutAside, WorkerState::kGone}) {
    EXPECT_EQ(ParseWorkerState(Word(state)), state);
  }
  EXPECT_EQ(Word(WorkerState::kPutAside), "put_aside");
  EXPECT_FALSE(ParseWorkerState("put aside").has_value());
}

TEST(AttemptPhaseTest, WordsReadBack) {
  for (const AttemptPhase phase : {AttemptPhase::kStarting, AttemptPhase::kTraining, AttemptPhase::kEvaluating, AttemptPhase::kUploading, AttemptPhase::kWaitingForDisk}) {
    EXPECT_EQ(ParseAttemptPhase(Word(phase)), phase);
  }
  EXPECT_EQ(Word(AttemptPhase::kUploading), "uploading");
  EXPECT_EQ(Word(AttemptPhase::kWaitingForDisk), "waits for its disk");
  EXPECT_FALSE(ParseAttemptPhase("").has_value());
}

TEST(OutcomeTest, WordsReadBackAndUnknownNumbersAreNone) {
  EXPECT_EQ(ParseOutcome("given_back"), Outcome::kGivenBack);
  EXPECT_EQ(Word(Outcome::kDropped), "dropped");
  EXPECT_EQ(FromProto(v1::AttemptReport::OUTCOME_FAILED), Outcome::kFailed);
  EXPECT_FALSE(FromProto(v1::AttemptReport::OUTCOME_UNSPECIFIED).has_value());
  EXPECT_FALSE(FromProto(static_cast<v1::AttemptReport::Outcome>(99)).has_value());
}

TEST(TimeTest, SurvivesTheWireAlsoBefore1970) {
  for (const int64_t micros : {int64_t{0}, int64_t{1'772'366'400'123'456}, int64_t{-1}, int64_t{-1'000'001}}) {
    const google::protobuf::Timestamp timestamp = ToTimestamp(WallTime(microseconds(micros)));
    EXPECT_GE(timestamp.nanos(), 0);
    EXPECT_EQ(FromTimestamp(timestamp), WallTime(microseconds(micros)));
    const google::protobuf::Duration duration = ToDuration(microseconds(micros));
    EXPECT_EQ(1'000'000 * duration.seconds() + duration.nanos() / 1000, micros);
  }
  EXPECT_EQ(ReadableTime(WallTime(microseconds(1'772'366'400'123'456))), "2026-03-01 12:00:00Z");
}

TEST(ShortestNumberTest, WritesNumbersAsPeopleDoAndReadsThemBack) {
  EXPECT_EQ(ShortestNumber(0.0003), "0.0003");
  EXPECT_EQ(ShortestNumber(0.0001), "0.0001");
  EXPECT_EQ(ShortestNumber(1e-5), "1e-05");
  EXPECT_EQ(ShortestNumber(3), "3");
  EXPECT_EQ(ShortestNumber(0), "0");
  EXPECT_EQ(ShortestNumber(-0.1), "-0.1");
  EXPECT_EQ(ShortestNumber(2e16), "2e+16");
  for (const double value : {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, 123456789.125, 1e-4 * (1 - 1e-16)}) {
    EXPECT_EQ(ParseDouble(ShortestNumber(value)), value);
  }
}

}  // namespace
}  // namespace longreach
