#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "client/errors.h"
#include "client/spec/field_parser.h"
#include "client/spec/spec_reader.h"

namespace longreach::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

v1::SweepSpec Base() {
  v1::SweepSpec spec;
  spec.mutable_axes()->add_encoding("alibi");
  spec.mutable_axes()->add_seed(9);
  spec.mutable_training()->set_steps(5);
  spec.mutable_training()->add_lengths(1);
  return spec;
}

std::string Refusal(const std::vector<std::string>& overrides) {
  v1::SweepSpec spec = Base();
  const absl::Status status = ApplyOverrides(overrides, spec);
  EXPECT_EQ(ExitCodeOf(status), kUsage) << status;
  return FormatError(status);
}

TEST(OverrideTest, ReplacesAxesByTheirBareNamesAndFieldsByTheirPaths) {
  v1::SweepSpec spec = Base();

  const absl::Status status =
      ApplyOverrides({"encoding=rope,rope:randomized", "learning_rate=1e-3, 1e-4", "axes.seed=0..2,10",
                      "training.steps=2", "training.lengths=1..3", "name=other", "model.kerple_shared=true"},
                     spec);

  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(spec.axes().encoding(), ElementsAre("rope", "rope:randomized"));
  EXPECT_THAT(spec.axes().learning_rate(), ElementsAre(1e-3, 1e-4));
  EXPECT_THAT(spec.axes().seed(), ElementsAre(0u, 1u, 2u, 10u));
  EXPECT_EQ(spec.training().steps(), 2);
  EXPECT_THAT(spec.training().lengths(), ElementsAre(1, 2, 3));
  EXPECT_EQ(spec.name(), "other");
  EXPECT_TRUE(spec.model().kerple_shared());
}

TEST(OverrideTest, SpeaksOfTheArgumentTheValueAndTheNextStep) {
  EXPECT_EQ(Refusal({"encoding=roep"}),
            "error: --set encoding: unknown encoding 'roep'\n"
            "  did you mean 'rope'? 'longreach list encodings' shows all of them\n");
  EXPECT_THAT(Refusal({"training.steps=many"}),
              HasSubstr("--set training.steps: 'many' is not a whole number"));
  EXPECT_THAT(Refusal({"training.steps=1,2"}), HasSubstr("'1,2' is not a whole number"));
  EXPECT_THAT(Refusal({"training.steps="}), HasSubstr("'' is not a whole number"));
  EXPECT_THAT(Refusal({"seed="}), HasSubstr("--set seed: a list without a value"));
}

TEST(OverrideTest, SuggestsThePathThatWasMeant) {
  EXPECT_THAT(Refusal({"steps=5"}),
              HasSubstr("--set steps: unknown field 'steps'\n  did you mean 'training.steps'?"));
  EXPECT_THAT(Refusal({"training.stepz=5"}), HasSubstr("did you mean 'training.steps'?"));
  EXPECT_THAT(Refusal({"trainig.steps=5"}), HasSubstr("did you mean 'training.steps'?"));
  EXPECT_THAT(Refusal({"training=5"}),
              HasSubstr("'training' is a group of fields\n  set one of them: steps, "));
  EXPECT_THAT(Refusal({"inputs.name=5"}), HasSubstr("it can only be written in a sweep file"));
  EXPECT_THAT(Refusal({"training.steps.x=5"}), HasSubstr("unknown field 'training.steps.x'"));
  EXPECT_THAT(Refusal({"training.=5"}), HasSubstr("unknown field"));
}

TEST(OverrideTest, RefusesWhatIsNoAssignmentAndWhatIsGivenTwice) {
  EXPECT_THAT(Refusal({"training.steps"}), HasSubstr("expected PATH=VALUE"));
  EXPECT_THAT(Refusal({"=5"}), HasSubstr("expected PATH=VALUE"));
  EXPECT_THAT(Refusal({"seed=1", "axes.seed=2"}),
              HasSubstr("--set axes.seed: given twice\n  write all values with ',' between them"));
}

TEST(OverrideTest, EveryPathThatIsOfferedCanBeSet) {
  v1::SweepSpec spec;
  std::set<std::string> seen;
  for (const std::string& path : SettablePaths(*v1::SweepSpec::descriptor())) {
    EXPECT_TRUE(FindField(path, spec).ok()) << path;
    EXPECT_TRUE(seen.insert(path).second) << path;
  }
  EXPECT_TRUE(seen.contains("learning_rate"));
  EXPECT_TRUE(seen.contains("evaluation.lengths"));
}

}  // namespace
}  // namespace longreach::client
