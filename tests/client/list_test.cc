// `longreach list`: what it prints of what the program knows by name, and of a sweep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <string>

#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ListTest, FieldsAreLinesWithTheirTextsBelow) {
  const Outcome outcome = RunCommandLine({"list", "fields", "axes"});
  EXPECT_THAT(outcome.out, StartsWith("task  list of texts\n    What is learned,"));
  EXPECT_EQ(RunCommandLine({"list", "fields", "axes.task"}).out.find("encoding  list"), std::string::npos);
  EXPECT_THAT(RunCommandLine({"list", "fields", "training.warmup_steps"}).out, StartsWith("training.warmup_steps  whole number [0; of the kind llama 2000], of kind algorithmic, llama or sequences\n"));
  EXPECT_THAT(RunCommandLine({"list", "fields", "trainig"}).err, HasSubstr("did you mean 'training'?"));
}

TEST(ListTest, ATasksChanceIsShortForPeopleAndExactForPrograms) {
  EXPECT_THAT(RunCommandLine({"list", "tasks"}).out, ContainsRegex("\nstack_manipulation .* DCF +33.3 +no "));
  const nlohmann::json tasks = nlohmann::json::parse(RunCommandLine({"list", "tasks", "-o", "json"}).out)["tasks"];
  EXPECT_EQ(tasks[0]["name"], "associative_recall");
  EXPECT_EQ(tasks[0]["chance_percent"], 10);
  EXPECT_EQ(tasks[1]["name"], "binary_addition");
  EXPECT_EQ(tasks[1]["chance_percent"], 100.0 / 3);
  EXPECT_EQ(tasks.back()["chance_percent"], nullptr) << "of tokens of a text nobody knows";
}

class ListValuesTest : public WithFakeScheduler {};

TEST_F(ListValuesTest, AreThoseOfAxesAndOfSettingsInWhichSystemsDiffer) {
  v1::SweepSpec& spec = *scheduler_.sweep.mutable_spec();
  for (const char* encoding : {"rope", "none", "rope:randomized"}) spec.mutable_axes()->add_encoding(encoding);
  spec.mutable_axes()->add_learning_rate(1e-3);
  EXPECT_EQ(Run({"list", "values", "last", "-q"}).out, "encoding=none\nencoding=rope\nencoding=rope:randomized\nlearning_rate=0.001\n");

  for (const int layers : {10, 2}) {
    v1::System& system = *spec.add_systems();
    system.set_name("layers-" + std::to_string(layers));
    system.mutable_with()->mutable_axes()->add_encoding(layers == 10 ? "rope" : "alibi");
    system.mutable_with()->mutable_model()->set_layers(layers);
    system.mutable_with()->mutable_training()->set_batch_size(8);
  }
  const Outcome outcome = Run({"list", "values", "-q"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(outcome.out, "system=layers-2\nsystem=layers-10\nencoding=alibi\nencoding=rope\nlearning_rate=0.001\nmodel.layers=2\nmodel.layers=10\n");
  const nlohmann::json values = nlohmann::json::parse(Run({"list", "values", "last", "-o", "json"}).out)["values"];
  ASSERT_EQ(values.size(), 7);
  EXPECT_EQ(values[0]["axis"], "system");
  EXPECT_EQ(values[0]["value"], "layers-2");
}

}  // namespace
}  // namespace longreach::client
