// Two trainings of one job, compared bit by bit.
#include "client/commands/repeated_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace longreach::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::Measurement Value(const std::string& metric, int length, double value, const std::string& slice = "") {
  v1::Measurement out;
  out.set_metric(metric);
  out.set_length(length);
  out.set_slice(slice);
  out.set_value(value);
  return out;
}

v1::Measurement Loss(int step, double value) { return Value("training_loss", 0, value, "step=" + std::to_string(step)); }

void AddAttempt(JobRecord& record, const std::string& engine, const std::string& outcome = "succeeded", int members = 1) {
  v1::AttemptInfo& attempt = *record.job.add_attempts();
  attempt.set_engine(engine);
  attempt.set_device("AMD EPYC, AVX-512");
  attempt.set_build("0.1.0 (abc)");
  attempt.set_threads(2);
  attempt.set_members(members);
  attempt.set_outcome(outcome);
}

JobRecord Record() {
  JobRecord record;
  record.measurements = {Value("accuracy", 0, 0.5), Value("accuracy", 41, 0.25), Value("loss", 0, 1.5)};
  record.losses = {Loss(1, 0.75), Loss(2, 0.5), Loss(3, 0.25)};
  AddAttempt(record, "lanes-avx512");
  return record;
}

TEST(RepeatedJobTest, TheSameValuesAreTheSame) {
  const RepeatedJob repeated = Compare(Record(), Record());
  EXPECT_TRUE(repeated.Same());
  EXPECT_EQ(repeated.measurements, 3);
  EXPECT_EQ(repeated.losses, 3);
  EXPECT_THAT(repeated.different, IsEmpty());
  EXPECT_THAT(WhyDifferent(Record(), Record()), IsEmpty());
}

TEST(RepeatedJobTest, WhatOneSideLacksIsCountedAmongAll) {
  JobRecord again = Record();
  again.measurements = {Value("accuracy", 0, 0.5), Value("accuracy", 99, 0.25)};

  const RepeatedJob repeated = Compare(Record(), again);

  EXPECT_EQ(repeated.measurements, 4);
  EXPECT_EQ(repeated.different.size(), 3u);
}

TEST(RepeatedJobTest, TheLastBitCounts) {
  JobRecord again = Record();
  again.measurements[1].set_value(std::nextafter(0.25, 1));

  const RepeatedJob repeated = Compare(Record(), again);

  EXPECT_FALSE(repeated.Same());
  ASSERT_EQ(repeated.different.size(), 1u);
  EXPECT_EQ(repeated.different[0].metric, "accuracy");
  EXPECT_EQ(repeated.different[0].length, 41);
  EXPECT_EQ(repeated.different[0].recorded, 0.25);
  EXPECT_EQ(repeated.different[0].again, std::nextafter(0.25, 1));
}

TEST(RepeatedJobTest, NotANumberIsTheSameAndMinusZeroIsNotZero) {
  JobRecord recorded = Record();
  recorded.measurements[2].set_value(std::numeric_limits<double>::quiet_NaN());
  JobRecord again = recorded;
  EXPECT_TRUE(Compare(recorded, again).Same());

  recorded.measurements[2].set_value(0.0);
  again.measurements[2].set_value(-0.0);
  EXPECT_FALSE(Compare(recorded, again).Same());
}

TEST(RepeatedJobTest, ValuesThatOneSideLacksAreDifferent) {
  JobRecord again = Record();
  again.measurements.erase(again.measurements.begin());
  again.measurements.push_back(Value("perplexity", 0, 2));

  const RepeatedJob repeated = Compare(Record(), again);

  ASSERT_EQ(repeated.different.size(), 2u);
  EXPECT_EQ(repeated.different[0].metric, "accuracy");
  EXPECT_FALSE(repeated.different[0].again.has_value());
  EXPECT_EQ(repeated.different[1].metric, "perplexity");
  EXPECT_FALSE(repeated.different[1].recorded.has_value());
}

TEST(RepeatedJobTest, OfLossesTheFirstThatDiffersIsNamed) {
  JobRecord again = Record();
  again.losses[1].set_value(0.625);
  again.losses[2].set_value(0.375);

  const RepeatedJob repeated = Compare(Record(), again);

  EXPECT_FALSE(repeated.Same());
  EXPECT_EQ(repeated.losses_different, 2);
  ASSERT_EQ(repeated.different.size(), 1u);
  EXPECT_EQ(repeated.different[0].slice, "step=2");
}

TEST(RepeatedJobTest, LossesThatNeverCameAreNotMissed) {
  JobRecord recorded = Record();
  recorded.losses.erase(recorded.losses.begin());
  const RepeatedJob repeated = Compare(recorded, Record());
  EXPECT_TRUE(repeated.Same());
  EXPECT_EQ(repeated.losses, 2);
}

TEST(RepeatedJobTest, ALossThatARepetitionDoesNotHaveIsADifference) {
  JobRecord again = Record();
  again.losses.pop_back();
  const RepeatedJob repeated = Compare(Record(), again);
  EXPECT_FALSE(repeated.Same());
  EXPECT_EQ(repeated.losses_different, 1);
  ASSERT_EQ(repeated.different.size(), 1u);
  EXPECT_EQ(repeated.different[0].slice, "step=3");
  EXPECT_FALSE(repeated.different[0].again.has_value());
}

TEST(RepeatedJobTest, SeriesAndDivergenceCount) {
  JobRecord again = Record();
  again.job.mutable_job()->set_diverged(true);
  EXPECT_FALSE(Compare(Record(), again).Same());

  again = Record();
  v1::ArtifactInfo& series = *again.job.add_artifacts();
  series.set_kind("series");
  series.set_sha256("abc");
  EXPECT_FALSE(Compare(Record(), again).Same());
  series.set_kind("weights");  // Their file is that of a pack, and names its jobs.
  EXPECT_TRUE(Compare(Record(), again).Same());
}

TEST(RepeatedJobTest, OtherEnginesDevicesBuildsAndDataExplainOtherBits) {
  JobRecord recorded = Record();
  JobRecord again = Record();
  recorded.data_sets = {{"enwik8", std::string(64, 'a')}, {"other", std::string(64, 'c')}};
  again.data_sets = {{"enwik8", std::string(64, 'b')}};
  again.job.mutable_attempts(0)->set_engine("libtorch");
  again.job.mutable_attempts(0)->set_device("Intel Xeon, AVX-512");
  again.job.mutable_attempts(0)->set_build("0.2.0 (def)");
  EXPECT_THAT(WhyDifferent(recorded, again), ElementsAre(HasSubstr("'enwik8' has other bytes here: bbbbbbbb instead of aaaaaaaa"), HasSubstr("other engines (lanes-avx512 and libtorch)"),
                                                         HasSubstr("other devices"), HasSubstr("other builds (0.1.0 (abc) and 0.2.0 (def))")));
}

TEST(RepeatedJobTest, TheAttemptThatSucceededIsTheOneThatCounts) {
  JobRecord recorded;
  AddAttempt(recorded, "libtorch", "given_back");
  AddAttempt(recorded, "lanes-avx512");
  AddAttempt(recorded, "lanes-avx2", "lost");
  ASSERT_NE(recorded.Accepted(), nullptr);
  EXPECT_EQ(recorded.Accepted()->engine(), "lanes-avx512");
  EXPECT_EQ(ComputedBy(recorded), "lanes-avx512 on AMD EPYC, AVX-512, 2 threads; 0.1.0 (abc)");
  EXPECT_THAT(WhyDifferent(recorded, Record()), ElementsAre("of the recorded one lanes-avx2, libtorch may have trained a part"));
  EXPECT_EQ(JobRecord().Accepted(), nullptr);
}

TEST(RepeatedJobTest, APackMattersOnAGpuWhereNothingElseDiffers) {
  JobRecord recorded = Record(), again = Record();
  recorded.job.mutable_attempts(0)->set_members(9);
  EXPECT_THAT(WhyDifferent(recorded, again), IsEmpty()) << "on a processor it makes no difference";
  for (JobRecord* one : {&recorded, &again}) one->job.mutable_attempts(0)->set_device("NVIDIA H200");
  EXPECT_THAT(WhyDifferent(recorded, again), ElementsAre(HasSubstr("packs of 9 and 1")));
}

}  // namespace
}  // namespace longreach::client
