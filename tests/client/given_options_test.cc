#include "client/given_options.h"

#include <gtest/gtest.h>

namespace longreach::client {
namespace {

std::string Told(const std::string& message, const std::vector<std::string>& options) {
  return std::string(NameGivenOptions(absl::InvalidArgumentError(message), options).message());
}

TEST(GivenOptionsTest, AFieldIsCalledByTheOptionThatTheUserTyped) {
  EXPECT_EQ(Told("table.only: unknown axis 'foo'\n  known are task, seed", {"rows", "only"}), "--only: unknown axis 'foo'\n  known are task, seed");
  EXPECT_EQ(Told("only: '5..1' ends before it begins; write seed=1..5", {"only"}), "--only: '5..1' ends before it begins; write seed=1..5");
  EXPECT_EQ(Told("sweep 'noop': only: unknown encoding 'roep'", {"only"}), "sweep 'noop': --only: unknown encoding 'roep'");
  EXPECT_EQ(Told("table.length: 15, and table.only names lengths; leave one of them out", {"only", "length"}),
            "--length: 15, and --only names lengths; leave one of them out");
  EXPECT_EQ(Told("table.step_bins: neither rows nor columns are steps", {"step-bins"}), "--step-bins: neither rows nor columns are steps");
}

TEST(GivenOptionsTest, OtherWordsStay) {
  for (const std::string same : {"table.only: unknown axis 'foo'", "a job of only: one", "evaluation.only: x", "columns: only two", ""}) {
    EXPECT_EQ(Told(same, {"rows", "length"}), same);
  }
  EXPECT_EQ(Told("evaluation.only: x", {"only"}), "evaluation.only: x");
  EXPECT_EQ(Told("a.yaml:3:8: table: expected fields below it", {"table"}), "a.yaml:3:8: table: expected fields below it");
  EXPECT_EQ(Told("jobs\nonly: x", {"only"}), "jobs\nonly: x") << "a hint";
  EXPECT_EQ(NameGivenOptions(absl::NotFoundError("only: x"), {"only"}).code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace longreach::client
