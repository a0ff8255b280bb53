#include "scheduler/service/other_values.h"

#include <gtest/gtest.h>

#include <vector>

namespace longreach::service {
namespace {

v1::TableSpec Asked(const std::string& metric, const std::string& slice = "") {
  v1::TableSpec table;
  table.set_metric(metric);
  table.set_slice(slice);
  return table;
}

TEST(OtherValuesTest, OfAMetricThatWasNotMeasuredThoseThatWere) {
  const std::vector<store::Measurement> measured = {{.metric = "accuracy"}, {.metric = "loss"}, {.metric = "loss", .length = 41}};
  EXPECT_EQ(OtherValues(measured, Asked("perplexity")), "there are values of accuracy, loss");
  EXPECT_EQ(OtherValues({}, Asked("perplexity")), "");
}

TEST(OtherValuesTest, OfASliceThatIsNoneThoseThatThereAre) {
  const std::vector<store::Measurement> measured = {{.metric = "loss"}, {.metric = "loss", .slice = "depth=1"}, {.metric = "loss", .length = 4, .slice = "depth=1"}};
  EXPECT_EQ(OtherValues(measured, Asked("loss", "depth=2")), "there are values of loss in these slices: 'depth=1', none");
  EXPECT_EQ(OtherValues(measured, Asked("loss", "depth=1")), "there are values of loss over all lengths and at length 4");
}

TEST(OtherValuesTest, OfManyLengthsTheFirstAndTheLast) {
  std::vector<store::Measurement> measured;
  for (int length = 100; length > 41; --length) measured.push_back({.metric = "accuracy", .length = length});
  EXPECT_EQ(OtherValues(measured, Asked("accuracy")), "there are values of accuracy at lengths 42, 43, 44, ..., 100");
  EXPECT_EQ(OtherValues(std::vector<store::Measurement>{{.metric = "loss"}}, Asked("loss")), "there are values of loss over all lengths");
}

}  // namespace
}  // namespace longreach::service
