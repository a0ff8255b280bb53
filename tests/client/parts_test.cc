// Sweep files that stand for several sweeps.
#include <gmock/gmock.h>

#include "client/errors.h"
#include "client/spec/spec_reader.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kOne = "name: one\naxes: {task: even_pairs, learning_rate: 1e-3, seed: 0..2}\n";

class PartsTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::vector<LoadedSweep>> Load(const std::string& parts, const std::vector<std::string>& overrides = {}) {
    folder_.Write("one.yaml", kOne);
    return LoadSweeps({.spec = folder_.Write("all.yaml", parts), .overrides = overrides});
  }
  std::string Refusal(const std::string& parts) {
    const absl::Status status = Load(parts).status();
    EXPECT_EQ(ExitCodeOf(status), kUsage) << status;
    return std::string(status.message());
  }

  const TempFolder folder_;
};

TEST_F(PartsTest, AreSweepsOfTheirOwnInTheirOrder) {
  const auto parts = Load("parts:\n  - {sweep: one.yaml, set: [name=two, seed=7]}\n  - {sweep: ./one.yaml}\n  - {sweep: quickstart}\n");
  ASSERT_TRUE(parts.ok()) << parts.status();
  ASSERT_EQ(parts->size(), 3u);
  EXPECT_EQ((*parts)[0].file.spec.name(), "two");
  EXPECT_THAT((*parts)[0].file.spec.axes().seed(), ElementsAre(7));
  EXPECT_THAT((*parts)[0].source.overrides, ElementsAre("name=two", "seed=7"));
  EXPECT_EQ((*parts)[1].file.spec.name(), "one");
  EXPECT_THAT((*parts)[1].file.spec.axes().seed(), ElementsAre(0, 1, 2));
  EXPECT_EQ((*parts)[2].file.spec.name(), "quickstart");
}

TEST_F(PartsTest, WhatIsSetFromOutsideComesBeforeWhatThePartSets) {
  const auto parts = Load("parts:\n  - {sweep: one.yaml, set: [name=two, seed=7]}\n", {"seed=4,5", "training.steps=3"});
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_THAT((*parts)[0].file.spec.axes().seed(), ElementsAre(4, 5));
  EXPECT_EQ((*parts)[0].file.spec.training().steps(), 3);
  EXPECT_EQ((*parts)[0].file.spec.name(), "two");
  EXPECT_THAT((*parts)[0].source.overrides, ElementsAre("name=two", "seed=4,5", "training.steps=3"));
}

TEST_F(PartsTest, AFileWithoutPartsIsOneSweep) {
  const auto sweeps = Load(kOne, {"seed=1"});
  ASSERT_TRUE(sweeps.ok()) << sweeps.status();
  ASSERT_EQ(sweeps->size(), 1u);
  EXPECT_THAT((*sweeps)[0].file.spec.axes().seed(), ElementsAre(1));
}

TEST_F(PartsTest, RefusalsSayWhereAndWhat) {
  EXPECT_THAT(Refusal("parts: one.yaml\n"), HasSubstr("all.yaml:1:8: parts: expected a list"));
  EXPECT_THAT(Refusal("parts: []\n"), HasSubstr("all.yaml:1:8: parts: a list without a part"));
  EXPECT_THAT(Refusal("parts: [one.yaml]\n"), HasSubstr("parts: expected fields"));
  EXPECT_THAT(Refusal("parts:\n  - {set: [seed=1]}\n"), HasSubstr("all.yaml:2:5: parts: names no sweep"));
  EXPECT_THAT(Refusal("parts:\n  - {swep: one.yaml}\n"), HasSubstr("did you mean 'sweep'?"));
  EXPECT_THAT(Refusal("parts:\n  - {sweep: one.yaml, set: seed=1}\n"), HasSubstr("parts.set: expected a list"));
  EXPECT_THAT(Refusal("parts:\n  - {sweep: one.yaml, set: [sed=1]}\n"), HasSubstr("all.yaml: part 1, 'one.yaml': set: sed: unknown field 'sed'"));
  EXPECT_THAT(Refusal("parts:\n  - {sweep: one.yaml}\n  - {sweep: one.yaml, set: [name=two, seed]}\n"), HasSubstr("part 2, 'one.yaml': set: seed: expected PATH=VALUE"));
  EXPECT_THAT(Refusal("parts:\n  - {sweep: one.yaml}\n  - {sweep: one.yaml}\n"), HasSubstr("two have the name 'one'"));
  EXPECT_THAT(Refusal("parts:\n  - {sweep: nope-tinyllama}\n"), HasSubstr("part 1, 'nope-tinyllama': it has parts itself"));
  EXPECT_THAT(Refusal("axes: {seed: 1}\nparts:\n  - {sweep: one.yaml}\n"), HasSubstr("all.yaml:1:1: axes: a file with parts has no settings of its own"));
  std::string many = "parts:\n";
  for (int i = 0; i < 101; ++i) many += "  - {sweep: one.yaml}\n";
  EXPECT_THAT(Refusal(many), HasSubstr("101 of them; at most 100"));
  EXPECT_EQ(ExitCodeOf(Load("parts:\n  - {sweep: neither}\n").status()), kNotFound);
  EXPECT_THAT(std::string(Load("parts:\n  - {sweep: one.yaml}\n  - {sweep: neither}\n").status().message()), HasSubstr("part 2, 'neither': there is no preset 'neither'"));
  EXPECT_THAT(FormatError(Load("parts:\n  - {sweep: one}\n").status()), HasSubstr("part 1, 'one': there is no preset 'one'\n  there is a file one.yaml here: to read it, write 'one.yaml'\n"));
}

TEST_F(PartsTest, ATitleOfAFileGoesWhereWhatItTellsOfIsSet) {
  const std::string file = folder_.Write("titled.yaml", std::string(kOne) + "table: {title: Three seeds, title_depends_on: [axes.seed, training.lengths]}\n");
  const auto title = [](const std::string& spec, const std::vector<std::string>& overrides) {
    const absl::StatusOr<std::vector<LoadedSweep>> sweeps = LoadSweeps({.spec = spec, .overrides = overrides});
    EXPECT_TRUE(sweeps.ok()) << sweeps.status();
    return sweeps.ok() ? sweeps->front().file.table.title() : "";
  };
  EXPECT_EQ(title(file, {}), "Three seeds");
  EXPECT_EQ(title(file, {"evaluation.lengths=9", "training.steps=5"}), "Three seeds");
  EXPECT_EQ(title(file, {"seed=0"}), "");
  EXPECT_EQ(title(file, {"training.steps=5", "training.lengths=3"}), "");
  EXPECT_EQ(title(folder_.Write("parts.yaml", "parts:\n  - {sweep: titled.yaml, set: [seed=0]}\n"), {}), "");
}

TEST_F(PartsTest, WhatWouldChangeNoJobIsNotSet) {
  const std::string systems = "systems:\n  - {name: a, with: {axes: {seed: 0..2}, model: {layers: 1}}}\n  - {name: b, with: {axes: {seed: 4}, model: {layers: 2, heads: 2}}}\n";
  const auto refusal = [&](const std::string& file, const std::string& set) { return FormatError(Load(file, {"name=other", set}).status()); };
  for (const std::string set : {"seed=0..9", "axes.seed=7", "model.layers=3"}) {
    EXPECT_THAT(refusal(kOne + systems, set), HasSubstr(": each system of the sweep has a value of its own, so that this one would change nothing")) << set;
  }
  for (const std::string set : {"model.heads=4", "training.steps=7", "systems.a.with.model.layers=3", "systems.b.with.axes.seed=0..9"}) {
    EXPECT_TRUE(Load(kOne + systems, {set}).ok()) << set;
  }
  EXPECT_TRUE(Load(kOne, {"model.layers=3,4"}).ok()) << "systems of a grid are made of what is set";
  EXPECT_TRUE(Load(kOne + systems + "  - {name: c, with: {axes: {seed: 5}, model: {layers: 1}, inputs: [{name: weights, artifact: weights}]}}\n", {"model.layers=3"}).ok())
      << "the job behind the input has what the sweep says";
}

TEST_F(PartsTest, WhatTheUserSetsIsToldAsTheOptionThatItIs) {
  const absl::Status status = Load("parts:\n  - {sweep: one.yaml, set: [seeed=1]}\n", {"seeed=2"}).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("part 1, 'one.yaml': --set seeed: unknown field 'seeed'"));
}

}  // namespace
}  // namespace longreach::client
