#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "client/errors.h"
#include "client/spec/field_parser.h"
#include "client/spec/field_paths.h"
#include "client/spec/spec_reader.h"

namespace longreach::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::SweepSpec Base() {
  v1::SweepSpec spec;
  spec.mutable_axes()->add_encoding("alibi");
  spec.mutable_axes()->add_seed(9);
  spec.mutable_training()->set_steps(5);
  spec.mutable_training()->add_lengths(1);
  return spec;
}

// To a sweep without a grid.
absl::Status Apply(const std::vector<std::string>& overrides, v1::SweepSpec& spec) {
  SweepFile file;
  file.spec.Swap(&spec);
  const absl::Status status = ApplyOverrides(overrides, file);
  file.spec.Swap(&spec);
  return status;
}

std::string OverrideRefusal(const std::vector<std::string>& overrides) {
  v1::SweepSpec spec = Base();
  const absl::Status status = Apply(overrides, spec);
  EXPECT_EQ(ExitCodeOf(status), kUsage) << status;
  return FormatError(status);
}

TEST(OverrideTest, ReplacesAxesByTheirBareNamesAndFieldsByTheirPaths) {
  v1::SweepSpec spec = Base();

  const absl::Status status =
      Apply({"encoding=rope,rope:randomized", "learning_rate=1e-3, 1e-4", "axes.seed=0..2,10",
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

TEST(OverrideTest, AnInputGoesByItsNameAndWhatMakesItIsASweep) {
  v1::SweepSpec spec = LoadSweep("table-2")->spec;

  const absl::Status status = Apply({"inputs.weights.from.encoding=alibi", "inputs.weights.from.axes.seed=7", "seed=1,2",
                                     "inputs.weights.from.training.steps=5", "training.steps=6", "inputs.weights.artifact=checkpoint"},
                                    spec);

  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(spec.inputs_size(), 1);
  EXPECT_THAT(spec.inputs(0).from().axes().encoding(), ElementsAre("alibi"));
  EXPECT_THAT(spec.inputs(0).from().axes().seed(), ElementsAre(7u));
  EXPECT_THAT(spec.axes().seed(), ElementsAre(1u, 2u));
  EXPECT_EQ(spec.inputs(0).from().training().steps(), 5);
  EXPECT_EQ(spec.training().steps(), 6);
  EXPECT_EQ(spec.inputs(0).artifact(), "checkpoint");
}

TEST(OverrideTest, ASystemsNameMayHaveDots) {
  v1::SweepSpec spec = LoadSweep("nope-small")->spec;
  const auto system = std::ranges::find_if(*spec.mutable_systems(), [](const v1::System& one) { return one.name() == "nope-scale-1.2"; });
  ASSERT_NE(system, spec.mutable_systems()->end());

  const absl::Status status = Apply({"systems.nope-scale-1.2.with.training.batch_size=5", "systems.nope.with.training.batch_size=6"}, spec);

  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(system->with().training().batch_size(), 5);
  EXPECT_THAT(FormatError(Apply({"systems.nope-scale-9.9.with.data=x"}, spec)), HasSubstr("unknown systems 'nope-scale-9'"));
}

TEST(OverrideTest, AnInputThatIsNotThereIsNotMade) {
  const auto refusal = [](const std::string& override_text) {
    v1::SweepSpec spec = LoadSweep("table-2")->spec;
    return FormatError(Apply({override_text}, spec));
  };
  EXPECT_THAT(refusal("inputs=x"), HasSubstr("'inputs' has: weights; its fields are set as inputs.weights.FIELD"));
  EXPECT_THAT(refusal("inputs.=x"), HasSubstr("'inputs' has: weights"));
  EXPECT_THAT(refusal("inputs.scale.from.seed=1"), HasSubstr("unknown inputs 'scale'"));
  EXPECT_THAT(refusal("inputs.weights=x"), HasSubstr("set one of them: name, from, artifact, metric"));
  EXPECT_THAT(refusal("inputs.weights.from=x"), HasSubstr("is a group of fields"));
  EXPECT_THAT(refusal("inputs.weights.from.encodng=alibi"), HasSubstr("--set inputs.weights.from.encodng: unknown field 'encodng'"));
  EXPECT_THAT(refusal("inputs.weights.from.encoding=alibo"), HasSubstr("did you mean 'alibi'?"));
  v1::SweepSpec spec = LoadSweep("table-2")->spec;
  EXPECT_THAT(FormatError(Apply({"inputs.weights.from.seed=1", "inputs.weights.from.axes.seed=2"}, spec)), HasSubstr("given twice"));
}

TEST(OverrideTest, SpeaksOfTheArgumentTheValueAndTheNextStep) {
  EXPECT_EQ(OverrideRefusal({"encoding=roep"}),
            "error: --set encoding: unknown encoding 'roep'\n"
            "  did you mean 'rope'? 'longreach list encodings' shows all of them\n");
  EXPECT_THAT(OverrideRefusal({"training.steps=many"}),
              HasSubstr("--set training.steps: 'many' is not a whole number"));
  EXPECT_THAT(OverrideRefusal({"training.steps=1,x"}), HasSubstr("--set training.steps: 'x' is not a whole number"));
  EXPECT_THAT(OverrideRefusal({"training.steps="}), HasSubstr("'' is not a whole number"));
  EXPECT_THAT(OverrideRefusal({"seed="}), HasSubstr("--set seed: a list without a value"));
}

TEST(OverrideTest, ANumberThatIsWrittenOtherwiseIsSaidAsItIsWrittenHere) {
  for (const auto& [written, meant] : {std::pair("40k", "40000"), std::pair("2M", "2000000"), std::pair("1.5k", "1500"), std::pair("1_000", "1000"), std::pair("1e3", "1000")}) {
    EXPECT_THAT(OverrideRefusal({std::string("training.steps=") + written}), HasSubstr(std::string("whole numbers look like 2000000; write ") + meant + "\n")) << written;
  }
  for (const char* unclear : {"many", "1.5", "k", "1e300", "inf", "nan", "_", "-"}) {
    EXPECT_THAT(OverrideRefusal({std::string("training.steps=") + unclear}), HasSubstr("\n  whole numbers look like 2000000\n")) << unclear;
  }
  for (const char* range : {"0-2", "0:3", "0:8:2", "-3-5", "range(3)"}) EXPECT_THAT(OverrideRefusal({std::string("seed=") + range}), HasSubstr("a range is written 0..2")) << range;
}

TEST(OverrideTest, AListMayHaveTheBracketsOfASweepFile) {
  const auto read = [](const std::string& argument) {
    SweepFile file;
    const absl::Status status = ApplyOverrides({argument}, file);
    EXPECT_TRUE(status.ok()) << argument << ": " << status;
    return file;
  };

  EXPECT_THAT(read("seed=[0, 2..3]").spec.axes().seed(), ElementsAre(0u, 2u, 3u));
  EXPECT_THAT(read("encoding=[rope,rope:randomized]").spec.axes().encoding(), ElementsAre("rope", "rope:randomized"));
  EXPECT_EQ(read("model.layers=[2]").spec.model().layers(), 2);
  const FieldGrid grid = read("model.layers=[2, 4]").grid;
  ASSERT_EQ(grid.size(), 1u);
  EXPECT_THAT(grid.front().values, ElementsAre("2", "4"));
  EXPECT_THAT(OverrideRefusal({"seed=[]"}), HasSubstr("--set seed: a list without a value"));
  EXPECT_THAT(OverrideRefusal({"seed=[0,1"}), HasSubstr("'[0' is not a whole number\n  a list is written 0,1,2, or '[0, 1, 2]' with both brackets"));
  // Would be seeds 1 and 0.
  EXPECT_THAT(OverrideRefusal({"seed=1,000"}), HasSubstr("'000' is not a whole number as people write it\n  write 0; or, if it is of thousands, 1000 without a comma"));
  EXPECT_THAT(OverrideRefusal({"seed=0 1 2"}), HasSubstr("'0 1 2' is not a whole number\n  several values have ',' between them: 0,1,2"));
  // A single text is taken as it stands.
  EXPECT_EQ(read("name=[x]").spec.name(), "[x]");
}

TEST(OverrideTest, SuggestsThePathThatWasMeant) {
  EXPECT_THAT(OverrideRefusal({"lr=1e-3"}), HasSubstr("did you mean 'learning_rate'?"));
  EXPECT_THAT(OverrideRefusal({"training.lr=1e-3"}), HasSubstr("did you mean 'learning_rate'?"));

  EXPECT_THAT(OverrideRefusal({"steps=5"}),
              HasSubstr("--set steps: unknown field 'steps'\n  did you mean 'training.steps'? a sweep has: name, experiment, "));
  EXPECT_THAT(OverrideRefusal({"training.stepps=5"}), HasSubstr("did you mean 'training.steps'? 'training' has: steps, batch_size, "));
  EXPECT_THAT(OverrideRefusal({"training.stepz=5"}), HasSubstr("did you mean 'training.steps'?"));
  EXPECT_THAT(OverrideRefusal({"trainig.steps=5"}), HasSubstr("did you mean 'training.steps'?"));
  EXPECT_THAT(OverrideRefusal({"training=5"}),
              HasSubstr("'training' is a group of fields\n  set one of them: steps, "));
  EXPECT_THAT(OverrideRefusal({"inputs.name=5"}), HasSubstr("can only be written in a sweep file"));
  EXPECT_THAT(OverrideRefusal({"table.rows=task"}), HasSubstr("--set table.rows: how results are printed is no part of the sweep\n  say it in the sweep file, or as options of 'longreach results'"));
  EXPECT_THAT(OverrideRefusal({"training.steps.x=5"}), HasSubstr("unknown field 'training.steps.x'\n  did you mean 'training.steps', which has no fields below it? 'training' has"));
  EXPECT_THAT(OverrideRefusal({"data.name=x"}), HasSubstr("unknown field 'data.name'\n  did you mean 'data', which has no fields below it? a sweep has: "));
  EXPECT_THAT(OverrideRefusal({"training.=5"}), HasSubstr("unknown field"));
}

TEST(OverrideTest, SuggestsAnAxisWhereverItWasLookedFor) {
  EXPECT_THAT(OverrideRefusal({"training.learning_rate=1e-3"}), HasSubstr("unknown field 'training.learning_rate'\n  did you mean 'learning_rate'? 'training' has: "));
  EXPECT_THAT(OverrideRefusal({"model.encoding=rope"}), HasSubstr("did you mean 'encoding'?"));
  EXPECT_THAT(OverrideRefusal({"axes.seeds=1"}), HasSubstr("did you mean 'seed'? 'axes' has: task, encoding, learning_rate, seed"));
  EXPECT_THAT(OverrideRefusal({"rate=1"}), HasSubstr("a sweep has: name, experiment, axes (task, encoding, learning_rate, seed), "));
}

TEST(OverrideTest, KnowsWhatFieldsAreCalledElsewhere) {
  EXPECT_THAT(OverrideRefusal({"model.lr=1e-3"}), HasSubstr("did you mean 'learning_rate'?"));
  EXPECT_THAT(OverrideRefusal({"batch=3"}), HasSubstr("did you mean 'training.batch_size'?"));
  EXPECT_THAT(OverrideRefusal({"num_layers=3"}), HasSubstr("did you mean 'model.layers'?"));
  EXPECT_THAT(OverrideRefusal({"step=3"}), HasSubstr("did you mean 'training.steps'?"));
  for (const auto& [written, meant] : {std::pair("model.dim", "model.embedding_dim"), std::pair("dim", "model.embedding_dim"), std::pair("hidden_dim", "model.embedding_dim"),
                                       std::pair("model.embed_dim", "model.embedding_dim"), std::pair("dim_feedforward", "model.mlp_dim"), std::pair("nhead", "model.heads"),
                                       std::pair("n_kv_heads", "model.kv_heads"), std::pair("dropout_rate", "model.dropout"), std::pair("model.dropout_rate", "model.dropout"),
                                       std::pair("max_seq_len", "training.lengths"), std::pair("model.max_seq_len", "training.lengths"), std::pair("rope_base", "model.rope_theta"),
                                       std::pair("max_iters", "training.steps"), std::pair("lr_scheduler_type", "training.schedule"), std::pair("min_lr_ratio", "training.final_rate")}) {
    EXPECT_THAT(OverrideRefusal({std::string(written) + "=3"}), HasSubstr(std::string("did you mean '") + meant + "'?")) << written;
  }
}

TEST(OverrideTest, SuggestsAFieldOfAnotherGroup) {
  EXPECT_THAT(OverrideRefusal({"training.layers=3"}), HasSubstr("did you mean 'model.layers'?"));
  EXPECT_THAT(OverrideRefusal({"evaluaton.lengths=3"}), HasSubstr("did you mean 'evaluation.lengths'?"));
  EXPECT_THAT(OverrideRefusal({"axes.steps=3"}), HasSubstr("did you mean 'training.steps'?"));
}

TEST(OverrideTest, ASystemsSettingsAreBelowWith) {
  const auto refusal = [](const std::string& override_text) {
    v1::SweepSpec spec = LoadSweep("nope-small")->spec;
    return FormatError(Apply({override_text}, spec));
  };
  EXPECT_THAT(refusal("systems.nope.training.steps=4"), HasSubstr("unknown field 'systems.nope.training.steps'\n  'systems.nope' has: name, with; its settings are below 'systems.nope.with'"));
  EXPECT_THAT(refusal("systems.nope.with.learning_rate=1e-3"), HasSubstr("did you mean 'systems.nope.with.axes.learning_rate'? 'systems.nope.with' has: "));
  EXPECT_THAT(refusal("systems.nope.with.batch=4"), HasSubstr("did you mean 'systems.nope.with.training.batch_size'?"));
}

TEST(OverrideTest, KnowsEncodingsAndTasksAsPapersWriteThem) {
  for (const auto& [written, meant] : {std::pair("RoPE", "rope"), std::pair("ROPE:randomized", "rope"), std::pair("ALiBi", "alibi"), std::pair("sin/cos", "sin_cos"),
                                       std::pair("Log KERPLE", "log_kerple"), std::pair("NONE", "none")}) {
    EXPECT_THAT(OverrideRefusal({std::string("encoding=") + written}), HasSubstr(std::string("did you mean '") + meant + "'?")) << written;
  }
  EXPECT_THAT(OverrideRefusal({"task=Even Pairs"}), HasSubstr("did you mean 'even_pairs'?"));
  EXPECT_THAT(OverrideRefusal({"task=parity"}), HasSubstr("did you mean 'parity_check'?"));
  for (const char* written : {"rope_randomized", "Randomized RoPE", "rotary_randomized", "randomized:rope"}) {
    EXPECT_THAT(OverrideRefusal({std::string("encoding=") + written}), HasSubstr("did you mean 'rope:randomized'?")) << written;
  }
  EXPECT_THAT(OverrideRefusal({"encoding=rotary"}), HasSubstr("did you mean 'rope'?"));
  EXPECT_THAT(OverrideRefusal({"encoding=NoPE"}), HasSubstr("did you mean 'none'?"));
  for (const char* written : {"KERPLE", "kerple", "log"}) EXPECT_THAT(OverrideRefusal({std::string("encoding=") + written}), HasSubstr("did you mean 'log_kerple'?")) << written;
  EXPECT_THAT(OverrideRefusal({"encoding=kerple_randomized"}), HasSubstr("did you mean 'log_kerple:randomized'?"));
  EXPECT_THAT(OverrideRefusal({"encoding=transformer_xl"}), HasSubstr("did you mean 'relative'?"));
  EXPECT_THAT(OverrideRefusal({"encoding=none_randomized"}), HasSubstr("'longreach list encodings' shows all of them"));
  EXPECT_THAT(OverrideRefusal({"encoding=nopos"}), HasSubstr("did you mean 'none'? 'longreach list encodings' shows all of them\n"));
  EXPECT_THAT(OverrideRefusal({"encoding=absolute"}), HasSubstr("did you mean 'learned' or 'sin_cos'?"));
  EXPECT_THAT(OverrideRefusal({"task=mod_arith"}), HasSubstr("did you mean 'modular_arithmetic' or 'modular_arithmetic_brackets'? 'longreach list tasks' shows all of them\n"));
  EXPECT_EQ(OverrideRefusal({"encoding=..."}), "error: --set encoding: unknown encoding '...'\n  'longreach list encodings' shows all of them\n");
}

TEST(OverrideTest, RefusesWhatIsNoAssignmentAndWhatIsGivenTwice) {
  EXPECT_THAT(OverrideRefusal({"training.steps"}), HasSubstr("expected PATH=VALUE"));
  EXPECT_THAT(OverrideRefusal({"=5"}), HasSubstr("expected PATH=VALUE"));
  EXPECT_THAT(OverrideRefusal({"seed=1", "axes.seed=2"}),
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
