// `longreach list`: what it prints of what the program knows by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/client/support.h"

namespace longreach::client {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

TEST(ListTest, FieldsAreLinesWithTheirTextsBelow) {
  const Outcome outcome = RunCommandLine({"list", "fields", "axes"});
  EXPECT_THAT(outcome.out, StartsWith("task  list of texts\n    What is learned,"));
  EXPECT_EQ(RunCommandLine({"list", "fields", "axes.task"}).out.find("encoding  list"), std::string::npos);
  EXPECT_THAT(RunCommandLine({"list", "fields", "training.warmup_steps"}).out, StartsWith("training.warmup_steps  whole number [2000], of kind llama\n"));
  EXPECT_THAT(RunCommandLine({"list", "fields", "trainig"}).err, HasSubstr("did you mean 'training'?"));
}

TEST(ListTest, ATasksChanceIsShortForPeopleAndExactForPrograms) {
  EXPECT_THAT(RunCommandLine({"list", "tasks"}).out, ContainsRegex("\nstack_manipulation .* DCF +33.3 +no "));
  const nlohmann::json tasks = nlohmann::json::parse(RunCommandLine({"list", "tasks", "-o", "json"}).out)["tasks"];
  EXPECT_EQ(tasks[0]["name"], "binary_addition");
  EXPECT_EQ(tasks[0]["chance_percent"], 100.0 / 3);
  EXPECT_EQ(tasks.back()["chance_percent"], nullptr) << "of tokens of a text nobody knows";
}

}  // namespace
}  // namespace longreach::client
