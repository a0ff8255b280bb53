#include "client/spec/spec_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/errors.h"
#include "client/spec/field_parser.h"
#include "client/spec/numbers.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

SweepFile Read(const std::string& text) {
  absl::StatusOr<SweepFile> file = ReadSweepFile(text, "sweep.yaml");
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? *file : SweepFile();
}

// The whole error as a user sees it.
std::string Refusal(const std::string& text) {
  const absl::StatusOr<SweepFile> file = ReadSweepFile(text, "sweep.yaml");
  EXPECT_FALSE(file.ok());
  if (file.ok()) return "";
  EXPECT_EQ(ExitCodeOf(file.status()), kUsage);
  return FormatError(file.status());
}

TEST(SpecReaderTest, ReadsEveryKindOfField) {
  const SweepFile file = Read(
      "summary: One line.\n"
      "name: mine\n"
      "axes:\n"
      "  task: [even_pairs, bucket_sort]\n"
      "  encoding: rope, rope:randomized\n"
      "  learning_rate: [1e-3, '0.0005']\n"
      "  seed: [0..2, 7]\n"
      "model: {dropout: 0, kerple_shared: true}\n"
      "training:\n"
      "  steps: 1000\n"
      "  lengths: 1..3,10\n"
      "inputs:\n"
      "  - name: weights\n"
      "    artifact: weights\n"
      "    from: {training: {steps: 5}}\n"
      "table: {rows: seed, gain: true}\n");

  EXPECT_EQ(file.summary, "One line.");
  EXPECT_EQ(file.spec.name(), "mine");
  EXPECT_THAT(file.spec.axes().task(), ElementsAre("even_pairs", "bucket_sort"));
  EXPECT_THAT(file.spec.axes().encoding(), ElementsAre("rope", "rope:randomized"));
  EXPECT_THAT(file.spec.axes().learning_rate(), ElementsAre(1e-3, 5e-4));
  EXPECT_THAT(file.spec.axes().seed(), ElementsAre(0u, 1u, 2u, 7u));
  EXPECT_TRUE(file.spec.model().has_dropout());
  EXPECT_EQ(file.spec.model().dropout(), 0);
  EXPECT_TRUE(file.spec.model().kerple_shared());
  EXPECT_THAT(file.spec.training().lengths(), ElementsAre(1, 2, 3, 10));
  EXPECT_EQ(file.spec.inputs(0).from().training().steps(), 5);
  EXPECT_EQ(file.table.rows(), "seed");
  EXPECT_TRUE(file.table.gain());
}

TEST(SpecReaderTest, RangesWithAStepHaveTheNumbersThatOneWouldWrite) {
  EXPECT_THAT(Read("evaluation: {lengths: 50..200:50}").spec.evaluation().lengths(), ElementsAre(50, 100, 150, 200));
  EXPECT_THAT(Read("evaluation: {lengths: '1..3,50..149:50'}").spec.evaluation().lengths(), ElementsAre(1, 2, 3, 50, 100));
  EXPECT_THAT(Read("evaluation: {attention_scales: 0.9..1.35:0.1}").spec.evaluation().attention_scales(), ElementsAre(0.9, 1.0, 1.1, 1.2, 1.3));
  EXPECT_THAT(Read("axes: {learning_rate: '1e-5..3e-5:1e-5, 0.5'}").spec.axes().learning_rate(), ElementsAre(1e-5, 2e-5, 3e-5, 0.5));
  EXPECT_THAT(Read("axes: {learning_rate: -0.1..0.1:0.1}").spec.axes().learning_rate(), ElementsAre(-0.1, 0.0, 0.1));
  const auto fine = Read("evaluation: {attention_scales: 0.9..2:0.01}").spec.evaluation().attention_scales();
  ASSERT_EQ(fine.size(), 111);
  EXPECT_EQ(fine[57], 1.47) << "as it is read from its digits";
  EXPECT_EQ(fine[110], 2.0);
  EXPECT_EQ(Read("axes: {learning_rate: 4.314622630572695..4.4:1}").spec.axes().learning_rate(0), 4.314622630572695);
  EXPECT_THAT(Read("axes: {learning_rate: 1e3..3e3:1e3}").spec.axes().learning_rate(), ElementsAre(1000, 2000, 3000));
  EXPECT_THAT(Read("axes: {learning_rate: 1.5e-7..2.5e-7:5e-8}").spec.axes().learning_rate(), ElementsAre(1.5e-7, 2e-7, 2.5e-7));
  EXPECT_EQ(Read("evaluation: {attention_scales: 1..1:0.5}").spec.evaluation().attention_scales_size(), 1);
}

TEST(SpecReaderTest, TakesAScalarByTheTypeOfItsFieldNeverByYamlsGuess) {
  // YAML 1.1 would read false, a number in base 60, a float and a number here.
  EXPECT_EQ(Read("name: NO").spec.name(), "NO");
  EXPECT_EQ(Read("name: 12:30").spec.name(), "12:30");
  EXPECT_EQ(Read("name: 1e-3").spec.name(), "1e-3");
  EXPECT_EQ(Read("name: 010").spec.name(), "010");
  EXPECT_EQ(Read("training: {steps: '010'}").spec.training().steps(), 10);
  EXPECT_THAT(Refusal("model: {kerple_shared: NO}"),
              HasSubstr("model.kerple_shared: 'NO' is neither true nor false"));
}

TEST(SpecReaderTest, NamesPlaceAndSuggestionForAnUnknownField) {
  EXPECT_EQ(Refusal("name: x\naxes:\n  lerning_rate: 1\n"),
            "error: sweep.yaml:3:3: unknown field 'lerning_rate'\n"
            "  did you mean 'learning_rate'? 'axes' has: task, encoding, learning_rate, seed\n");
  EXPECT_THAT(Refusal("seed: 1"), HasSubstr("'seed' belongs under 'axes:'"));
  EXPECT_THAT(Refusal("batch_size: 1"), HasSubstr("'batch_size' belongs under 'training:'"));
  EXPECT_THAT(Refusal("axes: {lr: 1}"), HasSubstr("did you mean 'learning_rate'?"));
  EXPECT_THAT(Refusal("table: {row: task}"), HasSubstr("sweep.yaml:1:9: unknown field 'row'"));
}

TEST(SpecReaderTest, AnswersAFieldInTheWrongGroupWithWhereItBelongs) {
  EXPECT_THAT(Refusal("training:\n  learning_rate: 1e-3\n"), StartsWith("error: sweep.yaml:2:3: unknown field 'learning_rate'\n"
                                                                       "  'learning_rate' belongs under 'axes:'; 'training' has: steps, "));
  // The data's seed is a field of that group, but who writes 'seed' means the axis.
  EXPECT_THAT(Refusal("training: {seed: 1}"), HasSubstr("'seed' belongs under 'axes:'; 'training' has: "));
  EXPECT_THAT(Refusal("training: {layers: 2}"), HasSubstr("'layers' belongs under 'model:';"));
  EXPECT_THAT(Refusal("axes: {steps: 2}"), HasSubstr("'steps' belongs under 'training:';"));
  EXPECT_THAT(Refusal("model: {data: x}"), HasSubstr("'data' belongs in no group;"));
  EXPECT_THAT(Refusal("training:\n  steps: 1\n  evaluation:\n    examples: 3\n"), HasSubstr("'evaluation' belongs in no group;"));
  EXPECT_THAT(Refusal("systems: [{name: a, training: {steps: 1}}]"), HasSubstr("'training' belongs under 'with:';"));
  EXPECT_THAT(Refusal("systems: [{name: a, lr: 1}]"), HasSubstr("did you mean 'learning_rate', which belongs under 'with.axes:'?"));
  EXPECT_THAT(Refusal("systems: [{name: a, with: {training: {lr: 1}}}]"), HasSubstr("did you mean 'learning_rate', which belongs under 'axes:'?"));
}

TEST(SpecReaderTest, KnowsWhatFieldsAreCalledElsewhere) {
  EXPECT_THAT(Refusal("training: {lr: 1e-3}"), HasSubstr("did you mean 'learning_rate', which belongs under 'axes:'? 'training' has: "));
  EXPECT_THAT(Refusal("lr: 1e-3"), HasSubstr("did you mean 'learning_rate', which belongs under 'axes:'?"));
  // Not 'learned_rows', which has the same initials.
  EXPECT_THAT(Refusal("model: {lr: 1e-3}"), HasSubstr("did you mean 'learning_rate', which belongs under 'axes:'?"));
  EXPECT_THAT(Refusal("training: {batch: 3}"), HasSubstr("did you mean 'batch_size'? 'training' has: "));
  EXPECT_THAT(Refusal("batch: 3"), HasSubstr("did you mean 'batch_size', which belongs under 'training:'?"));
  EXPECT_THAT(Refusal("model: {num_layers: 3}"), HasSubstr("did you mean 'layers'?"));
  EXPECT_THAT(Refusal("training: {d_model: 3}"), HasSubstr("did you mean 'embedding_dim', which belongs under 'model:'?"));
  EXPECT_THAT(Refusal("axes: {dataset: x}"), HasSubstr("did you mean 'data', which belongs in no group?"));
  EXPECT_THAT(Refusal("seeds: 0..4"), HasSubstr("did you mean 'seed', which belongs under 'axes:'?"));
  EXPECT_THAT(Refusal("step: 5"), HasSubstr("did you mean 'steps', which belongs under 'training:'?"));
  EXPECT_THAT(Refusal("table: {lr: 1}"), Not(HasSubstr("learning_rate")));
}

TEST(SpecReaderTest, RefusesValuesThatTheirFieldDoesNotAdmit) {
  EXPECT_THAT(Refusal("training:\n  steps: 1e3"),
              HasSubstr("sweep.yaml:2:10: training.steps: '1e3' is not a whole number"));
  EXPECT_THAT(Refusal("training: {steps: 3000000000}"),
              HasSubstr("3000000000 is out of range\n  admitted are -2147483648 to 2147483647"));
  EXPECT_THAT(Refusal("axes: {seed: -1}"), HasSubstr("-1 is out of range"));
  EXPECT_THAT(Refusal("training: {steps: 99999999999999999999}"), HasSubstr("99999999999999999999 is out of range\n  admitted are -2147483648 to 2147483647"));
  EXPECT_THAT(Refusal("axes: {learning_rate: .nan}"), HasSubstr("is not a number"));
  EXPECT_THAT(Refusal("axes: {learning_rate: inf}"), HasSubstr("is not a finite number"));
  EXPECT_THAT(Refusal("axes: {learning_rate: 1e999}"), HasSubstr("1e999 is out of range\n  numbers go from"));
  EXPECT_THAT(Refusal("axes: {seed: 5..2}"), HasSubstr("the range 5..2 is empty"));
  for (const std::string half : {"0..", "..2", "0...2", ".."}) {
    EXPECT_THAT(Refusal("axes: {seed: '" + half + "'}"), HasSubstr("axes.seed: '" + half + "' is no range\n  a range is written 0..2, with both its ends")) << half;
  }
  EXPECT_THAT(Refusal("evaluation: {attention_scales: '0.8..:0.1'}"), HasSubstr("'0.8..:0.1' is no range\n  a range is written 0.1..0.5:0.1, with both its ends and a step"));
  EXPECT_THAT(Refusal("axes: {seed: 0..10:0}"), HasSubstr("the step of the range 0..10:0: 0 is out of range"));
  EXPECT_THAT(Refusal("axes: {seed: 0..10:2.5}"), HasSubstr("'2.5' is not a whole number"));
  EXPECT_THAT(Refusal("evaluation: {attention_scales: 0.8..2}"), HasSubstr("the range 0.8..2 has no step\n  write 0.8..2:0.1"));
  EXPECT_THAT(Refusal("evaluation: {attention_scales: 0.8..2:0}"), HasSubstr("the step 0 of a range is not above 0"));
  EXPECT_THAT(Refusal("evaluation: {attention_scales: 0.8..2:-0.1}"), HasSubstr("the step -0.1 of a range is not above 0"));
  EXPECT_THAT(Refusal("evaluation: {attention_scales: 0.8..2:x}"), HasSubstr("'x' is not a number"));
  EXPECT_THAT(Refusal("evaluation: {attention_scales: 2..0.8:0.1}"), AllOf(HasSubstr("the range 2..0.8 is empty"), HasSubstr("write 0.8..2:0.1")));
  EXPECT_THAT(Refusal("evaluation: {attention_scales: 1..2:1e-30}"), HasSubstr("has too many digits"));
  EXPECT_THAT(Refusal("evaluation: {attention_scales: 1..1e300:0.5}"), HasSubstr("has too many digits"));
  EXPECT_THAT(Refusal("evaluation: {attention_scales: 1..20000000:1}"), HasSubstr("has more than 10000000 values"));
  EXPECT_THAT(Refusal("axes: {seed: [1, ' ']}"), HasSubstr("a list without a value"));
  EXPECT_THAT(Refusal("axes: {seed: '1,,2'}"), HasSubstr("an empty value in '1,,2'"));
  EXPECT_THAT(Refusal("axes: {seed: []}"), HasSubstr("axes.seed: a list without a value\n  give at least one value"));
  EXPECT_THAT(Refusal("axes: {seed: }"), HasSubstr("axes.seed: no value\n  give at least one value"));
  EXPECT_THAT(Refusal("training: {steps: }"), HasSubstr("training.steps: no value\n  leave the field out to get its default"));
  EXPECT_THAT(Refusal("axes: {seed: {a: 1}}"), ::testing::EndsWith("fields where a value belongs\n"));
  EXPECT_THAT(Refusal("axes: {encoding: [rope, rope: randomized]}"), HasSubstr("fields where a value belongs\n  an encoding is written without a blank behind its ':', as in rope:randomized"));
  EXPECT_THAT(Refusal("table: {title: [a, b]}"), HasSubstr("table.title: a list where one value belongs"));
  EXPECT_THAT(Refusal("table: {title_depends_on: seed}"), HasSubstr("sweep.yaml:1:27: table.title_depends_on: expected a list"));
  EXPECT_THAT(Refusal("table: {title_depends_on: [{a: 1}]}"), HasSubstr("table.title_depends_on: expected a text"));
  EXPECT_THAT(Refusal("table: {title_depends_on: [seed, trainig.lengths]}"), HasSubstr("sweep.yaml:1:34: table.title_depends_on: unknown field"));
  EXPECT_THAT(Refusal("training: 5"), HasSubstr("training: expected fields below it"));
  EXPECT_THAT(Refusal("inputs: {name: x}"), HasSubstr("inputs: expected a list"));
  EXPECT_THAT(Refusal("name: \"a\\u001b[31mb\""), HasSubstr("'a\\x1b[31mb' is not plain UTF-8 text"));
}

TEST(SpecReaderTest, RefusesNamesThatTheCatalogLacksWithPlace) {
  EXPECT_EQ(Refusal("axes:\n  task: [even_pairs,\n    evn_pairs]\n"),
            "error: sweep.yaml:3:5: axes.task: unknown task 'evn_pairs'\n"
            "  did you mean 'even_pairs'? 'longreach list tasks' shows all of them\n");
  EXPECT_THAT(Refusal("axes: {encoding: rope:random}"), HasSubstr("write 'rope', or 'rope:randomized'"));
  EXPECT_THAT(Refusal("axes: {encoding: shape:randomized}"),
              HasSubstr("encoding 'shape' has no randomized form"));
  EXPECT_THAT(Refusal("axes: {encoding: none:randomized}"),
              HasSubstr("encoding 'none' has no randomized form"));
}

TEST(SpecReaderTest, BoundsTheSizeOfLists) {
  EXPECT_EQ(Read("axes: {seed: 0..9999999}").spec.axes().seed_size(), kMaxListElements);
  EXPECT_THAT(Refusal("axes: {seed: 0..10000000}"), HasSubstr("has more than 10000000 values"));
  EXPECT_THAT(Refusal("axes: {seed: 0..4294967295}"), HasSubstr("has more than 10000000 values"));
  EXPECT_THAT(Refusal("axes: {seed: [0..9999999, 5]}"), HasSubstr("a list of 10000001 values"));
  EXPECT_THAT(Refusal("training: {lengths: -2147483648..2147483647}"),
              HasSubstr("has more than 10000000 values"));
}

TEST(SpecReaderTest, RefusesBrokenYamlWithItsPlace) {
  EXPECT_THAT(Refusal("name: x\naxes: [1, 2\nmodel: {}\n"), HasSubstr("error: sweep.yaml:3:"));
  EXPECT_THAT(Refusal("name: 'x"), HasSubstr("not valid YAML"));
  EXPECT_THAT(Refusal("name: x\ntraining {steps: 5, lengths: 1..20}\n"), HasSubstr("a ':' is missing before this place"));
  EXPECT_THAT(Refusal("name: x: y\n"), HasSubstr("a text that has ': ' in it stands without quotes"));
  EXPECT_THAT(Refusal("name: x\n experiment: noop\n"), HasSubstr("or this line is indented too far"));
  EXPECT_THAT(Refusal("axes:\n  seed: 1\n task: echo\n"), HasSubstr("this line is indented otherwise than those it belongs to"));
  EXPECT_THAT(Refusal("axes: {seed: 1} 2\n"), HasSubstr("something stands behind a closed bracket or quote"));
  EXPECT_THAT(Refusal("axes: {seed: [1, 2}\n"), HasSubstr("this bracket closes none that is open before it"));
  EXPECT_THAT(Refusal("axes: {seed: [1, 2\n"), HasSubstr("a '[' before this place is not closed"));
  EXPECT_THAT(Refusal("axes: {seed: 1\n"), HasSubstr("a '{' before this place is not closed"));
  EXPECT_THAT(Refusal("name: @x\n"), HasSubstr("a text that begins with this character needs quotes"));
  EXPECT_THAT(Refusal("name: \"\\\x1b\""), HasSubstr("unknown escape character: \\x1b"));
  EXPECT_THAT(Refusal("\tname: x\n"), HasSubstr("not valid YAML"));
  EXPECT_THAT(Refusal("a: *unknown\n"), HasSubstr("not valid YAML"));
  EXPECT_THAT(Refusal(""), HasSubstr("the file is empty"));
  EXPECT_THAT(Refusal("# only a comment\n"), HasSubstr("the file is empty"));
  EXPECT_THAT(Refusal("- a\n"), HasSubstr("expected 'field: value' lines"));
  EXPECT_THAT(Refusal("name: a\n---\nname: b\n"), HasSubstr("more than one YAML document"));
  EXPECT_THAT(Refusal("name: !!int 5\n"), HasSubstr("is not understood here"));
  EXPECT_THAT(Refusal("? [a]\n: 1\n"), HasSubstr("a key must be a word"));
  EXPECT_THAT(Refusal(std::string(17 << 20, '#')), HasSubstr("may have at most 16777216 bytes"));
}

TEST(SpecReaderTest, RefusesAKeyGivenTwice) {
  EXPECT_EQ(Refusal("training:\n  steps: 1\n  batch_size: 2\n  steps: 3\n"),
            "error: sweep.yaml:4:3: 'steps' is given twice; the first is in line 2\n"
            "  remove one of the two\n");
}

TEST(SpecReaderTest, OfACommaWithinBracesItSaysWhatToWrite) {
  EXPECT_EQ(Refusal("training: {steps: 10,000, batch_size: 8}"), "error: sweep.yaml:1:22: unknown field '000'\n  a number has no ',' in it: write 'steps: 10000'\n");
  EXPECT_THAT(Refusal("training: {steps: 1,250,000}"), HasSubstr("write 'steps: 1250000'\n"));
  EXPECT_THAT(Refusal("training: {steps: 1,000,000}"), HasSubstr("'000' is given twice; the first is in line 1\n  a number has no ',' in it"));
  EXPECT_THAT(Refusal("systems: [{name: a, with: {training: {steps: 10,500, batch_size: 8}}}]"), HasSubstr("unknown field '500'\n  a number has no ',' in it: write 'steps: 10500', or 'steps: [10, 500]' for several values\n"));
  EXPECT_THAT(Refusal("axes: {seed: 0, 1, 2, task: even_pairs}"), HasSubstr("unknown field '1'\n  in braces a ',' ends a value: write 'seed: [0, 1, 2]'\n"));
  EXPECT_THAT(Refusal("axes: {task: even_pairs, parity_check}"), HasSubstr("write 'task: [even_pairs, parity_check]'\n"));
  EXPECT_THAT(Refusal("training: {lengths: 1..40, 50, steps}"), HasSubstr("write 'lengths: [1..40, 50]'\n")) << "what is a field is none of its values";

  EXPECT_THAT(Refusal("training: {steps: 10, batchsize}"), HasSubstr("did you mean 'batch_size'?"));
  EXPECT_THAT(Refusal("training: {steps: 10, '500': 3}"), HasSubstr("'training' has: "));
  EXPECT_THAT(Refusal("training: {500}"), HasSubstr("'training' has: "));
  EXPECT_THAT(Refusal("training:\n  steps: 10\n  500:\n"), HasSubstr("'training' has: ")) << "there are no braces";
}

TEST(SpecReaderTest, ErrorsHoldNothingThatATerminalObeys) {
  EXPECT_THAT(Refusal("\"a\\e[31m\": 1\n\"a\\e[31m\": 2\n"), HasSubstr("'a\\x1b[31m' is given twice"));
  EXPECT_THAT(Refusal("t\xE4: 1\nt\xE4: 2\n"), Not(HasSubstr("\xE4")));
  EXPECT_THAT(Refusal("name: !<a%1b> x\n"), Not(HasSubstr("\x1b")));
}

// Of old Macs, and of one that a tool left at the end.
TEST(SpecReaderTest, ACarriageReturnAloneEndsALine) {
  for (const char* text : {"name: k\raxes:\r  task: even_pairs\r  seed: 3\r", "name: k\naxes: {task: even_pairs, seed: 3}\r", "name: k\naxes: {task: even_pairs, seed: 3}\n\r",
                           "name: k\r\naxes:\r\n  task: even_pairs\r\n  seed: 3\r\n\r"}) {
    const SweepFile file = Read(text);
    EXPECT_EQ(file.spec.name(), "k") << text;
    EXPECT_THAT(file.spec.axes().task(), ElementsAre("even_pairs")) << text;
    EXPECT_THAT(file.spec.axes().seed(), ElementsAre(3u)) << text;
  }
  EXPECT_THAT(Refusal("name: k\r\rlr: 1\r"), HasSubstr("sweep.yaml:3:1: unknown field 'lr'"));
  EXPECT_THAT(Refusal("name: k\r\nlr: 1\r\n"), HasSubstr("sweep.yaml:2:1: unknown field 'lr'")) << "two characters are one end";
}

TEST(SpecReaderTest, ATableIsTheBestOfAnAxisOrOfSeveral) {
  EXPECT_THAT(Read("table: {best_of: learning_rate}\n").table.best_of(), ElementsAre("learning_rate"));
  EXPECT_THAT(Read("table: {best_of: [learning_rate, model.layers]}\n").table.best_of(), ElementsAre("learning_rate", "model.layers"));
  EXPECT_THAT(Refusal("table: {best_off: learning_rate}\n"), HasSubstr("unknown field 'best_off'\n  did you mean 'best_of'?"));
  EXPECT_THAT(Refusal("table: {best_of: {learning_rate: 1}}\n"), HasSubstr("table.best_of: fields where a value belongs"));
}

TEST(SpecReaderTest, FollowsAliasesWithinBounds) {
  const SweepFile file = Read("axes: {task: &t [even_pairs, odds_first]}\ntable: {row_order: *t}\n");
  EXPECT_THAT(file.table.row_order(), ElementsAre("even_pairs", "odds_first"));

  // Nine levels of nine: 9^9 values in 300 bytes.
  std::string bomb = "name: &a0 [x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 9; ++i) {
    bomb += "k" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 9; ++j) bomb += std::string(j > 0 ? "," : "") + "*a" + std::to_string(i - 1);
    bomb += "]\n";
  }
  EXPECT_THAT(Refusal(bomb), HasSubstr("a list where one value belongs"));

  // The same where groups may nest: inputs of inputs.
  std::string nested = "inputs:\n";
  nested += "  - &b0 {name: x}\n";
  for (int i = 1; i < 9; ++i) {
    nested += "  - &b" + std::to_string(i) + " {from: {inputs: [";
    for (int j = 0; j < 9; ++j) nested += std::string(j > 0 ? "," : "") + "*b" + std::to_string(i - 1);
    nested += "]}}\n";
  }
  EXPECT_THAT(Refusal(nested), HasSubstr("too large once its aliases are followed"));
  EXPECT_THAT(Refusal("inputs: &a [*a]\n"), HasSubstr("an alias inside of its own anchor"));
}

TEST(SpecReaderTest, SurvivesDeepNesting) {
  EXPECT_NE(Refusal("name: " + std::string(100'000, '[')), "");
  std::string deep = "inputs: [{from: ";
  for (int i = 0; i < 300; ++i) deep += "{inputs: [{from: ";
  EXPECT_NE(Refusal(deep), "");
}

TEST(LoadSweepTest, APresetWinsUnlessTheNameLooksLikeAPath) {
  const TempFolder folder;
  const std::string path = folder.Write("quickstart.yaml", "axes: {task: odds_first}\n");

  const absl::StatusOr<SweepFile> preset = LoadSweep("quickstart");
  const absl::StatusOr<SweepFile> file = LoadSweep(path);

  ASSERT_TRUE(preset.ok()) << preset.status();
  EXPECT_GT(preset->spec.axes().task_size(), 1);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->spec.axes().task(), ElementsAre("odds_first"));
}

TEST(LoadSweepTest, NamesASweepAfterItsFile) {
  const TempFolder folder;
  const absl::StatusOr<SweepFile> file =
      LoadSweep(folder.Write("my sweep!.yaml", "axes: {task: odds_first}\n"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->spec.name(), "my_sweep_");
}

TEST(LoadSweepTest, SaysWhatIsMissing) {
  const absl::Status preset = LoadSweep("tabel-b1").status();
  EXPECT_EQ(ExitCodeOf(preset), kNotFound);
  EXPECT_EQ(
      FormatError(preset),
      "error: there is no preset 'tabel-b1'\n  did you mean 'table-b1'? 'longreach list presets' shows all of them\n");
  EXPECT_EQ(ExitCodeOf(LoadSweep("/nonexistent/x.yaml").status()), kNotFound);
  EXPECT_EQ(ExitCodeOf(LoadSweep("/").status()), kUsage);
}

TEST(LoadSweepTest, AFileIsReadByItsWholeNameOrPath) {
  const TempFolder folder;
  for (const char* name : {"mine.yaml", "other.yml", "bare", "table-b1.yaml"}) folder.Write(name, "axes: {task: odds_first}\n");
  const auto refusal = [&folder](const std::string& name) { return FormatError(LoadSweep(name, folder.path()).status()); };

  EXPECT_EQ(refusal("mine"), "error: there is no preset 'mine'\n  there is a file mine.yaml here: to read it, write 'mine.yaml'\n");
  EXPECT_THAT(refusal("other"), HasSubstr("write 'other.yml'"));
  EXPECT_THAT(refusal("bare"), HasSubstr("there is a file ./bare here: to read it, write './bare'"));
  EXPECT_THAT(refusal("neither"), Not(HasSubstr("there is a file")));
  const std::string path = (folder.path() / "mine").string();
  EXPECT_EQ(refusal(path), "error: cannot read sweep file '" + path + "': No such file or directory\n  there is a file " + path + ".yaml: to read it, write '" + path + ".yaml'\n");
  EXPECT_THAT(refusal((folder.path() / "neither").string()), HasSubstr("name a file, or a preset"));
  EXPECT_THAT(refusal("-"), HasSubstr("to read a sweep file from standard input, write /dev/stdin"));
  EXPECT_TRUE(LoadSweep("table-b1", folder.path()).ok()) << "a preset is there by its name";
  folder.Write("b1.db", "");
  EXPECT_EQ(refusal("b1.db"), "error: there is no preset 'b1.db'\n  '--store b1.db' names a store; a preset or a sweep file says what to train\n");
}

}  // namespace
}  // namespace longreach::client
