#include "client/commands/job_means.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace longreach::client {
namespace {

using ::testing::ElementsAre;

v1::JobMeasurements Measured(const std::string& id, const std::vector<std::pair<int, double>>& values) {
  v1::JobMeasurements of_job;
  of_job.mutable_job()->set_id(id);
  for (const auto& [length, value] : values) {
    v1::Measurement& one = *of_job.add_measurements();
    one.set_length(length);
    one.set_value(value);
  }
  return of_job;
}

struct Told {
  std::string id;
  std::optional<double> value;
  std::vector<int> lengths;
  bool operator==(const Told&) const = default;
};

std::vector<Told> MeansOf(const std::vector<v1::JobMeasurements>& pages) {
  std::vector<Told> told;
  JobMeans means([&told](JobMean& one) { told.push_back({one.job.id(), one.value, one.lengths}); });
  for (const v1::JobMeasurements& of_job : pages) means.Add(of_job);
  means.End();
  return told;
}

TEST(JobMeansTest, EachJobHasTheMeanOfItsValues) {
  EXPECT_THAT(MeansOf({Measured("a", {{10, 0.5}, {20, 1.0}}), Measured("b", {{10, 0.25}})}), ElementsAre(Told{"a", 0.75, {10, 20}}, Told{"b", 0.25, {10}}));
}

TEST(JobMeansTest, AJobThatGoesOnInTheNextPageIsOne) {
  EXPECT_THAT(MeansOf({Measured("a", {{10, 0.5}}), Measured("a", {{20, 1.0}}), Measured("a", {{30, 0.0}}), Measured("b", {{10, 1}})}),
              ElementsAre(Told{"a", 0.5, {10, 20, 30}}, Told{"b", 1.0, {10}}));
}

TEST(JobMeansTest, ItsValuesStandInTheOrderOfTheirLengths) {
  std::vector<double> values;
  JobMeans means([&values](const JobMean& one) { values = one.values; });
  means.Add(Measured("a", {{10, 0.5}}));
  means.Add(Measured("a", {{20, 1.0}, {30, 0.0}}));
  means.End();
  EXPECT_THAT(values, ElementsAre(0.5, 1.0, 0.0));
}

TEST(JobMeansTest, OneThatDivergedHasNone) {
  v1::JobMeasurements diverged = Measured("b", {});
  diverged.mutable_job()->set_diverged(true);
  EXPECT_THAT(MeansOf({Measured("a", {{10, 1}}), diverged, Measured("c", {{10, 0}})}), ElementsAre(Told{"a", 1.0, {10}}, Told{"b", std::nullopt, {}}, Told{"c", 0.0, {10}}));
}

TEST(JobMeansTest, OneWithoutValuesIsLeftOut) {
  EXPECT_THAT(MeansOf({Measured("a", {}), Measured("b", {{10, 1}})}), ElementsAre(Told{"b", 1.0, {10}}));
  EXPECT_THAT(MeansOf({}), ::testing::IsEmpty());
}

}  // namespace
}  // namespace longreach::client
