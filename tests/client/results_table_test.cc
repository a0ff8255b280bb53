#include "client/output/results_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

#include "client/output/bits.h"
#include "client/output/text.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

void AddCell(v1::Table& table, std::optional<double> measured, std::optional<double> published,
             bool best = false, bool published_best = false) {
  v1::TableCell& cell = *table.add_cells();
  if (measured.has_value()) cell.set_measured(*measured);
  if (published.has_value()) cell.set_published(*published);
  cell.set_best(best);
  cell.set_published_best(published_best);
  cell.set_jobs(9);
  cell.set_succeeded(measured.has_value() ? 9 : 0);
  cell.set_measured_jobs(measured.has_value() ? 8 : 0);  // One diverged.
}

void AddRow(v1::Table& table, const std::string& key, const std::string& label, const std::string& group,
            bool invariant) {
  v1::TableAxisEntry& row = *table.add_rows();
  row.set_key(key);
  row.set_label(label);
  row.set_group(group);
  if (invariant) row.set_mark("permutation_invariant");
}

v1::TableSpec Spec() {
  v1::TableSpec spec;
  spec.set_rows("task");
  spec.set_columns("encoding");
  return spec;
}

v1::Table Example() {
  v1::Table table;
  table.set_title("Table B.1: accuracy (%)");
  table.set_metric("accuracy");
  table.set_unit("%");
  AddRow(table, "even_pairs", "Even Pairs", "R", false);
  AddRow(table, "parity_check", "Parity Check", "R", true);
  AddRow(table, "reverse_string", "Reverse String", "DCF", false);
  v1::TableAxisEntry& plain = *table.add_columns();
  plain.set_key("log_kerple");
  plain.set_label("Log KERPLE");
  v1::TableAxisEntry& randomized = *table.add_columns();
  randomized.set_key("log_kerple:randomized");
  randomized.set_label("Log KERPLE (randomized)");
  AddCell(table, 81.24, 69.3);
  AddCell(table, 100, 99.9, true, true);
  AddCell(table, 55.25, 56.1, false, true);
  AddCell(table, 55.35, 55.0, true);
  AddCell(table, std::nullopt, 63.9);
  AddCell(table, std::nullopt, std::nullopt);
  table.set_gain(9.43);
  table.set_gain_pairs(2);
  table.set_gain_error(1.26);
  table.set_published_gain_of_cells(7.1);
  table.set_published_gain_stated(7.4);
  table.add_notes("cell even_pairs, log_kerple: 1 of 9 jobs diverged");
  return table;
}

TEST(ResultsTableTest, ACellWhoseJobsAllDivergedWasMeasuredAllTheSame) {
  v1::Table table = Example();
  EXPECT_THAT(RenderResults(table, Spec(), Format::kTable, {}), ::testing::HasSubstr("; - not measured\n"));
  table.mutable_cells(5)->set_diverged(9);
  EXPECT_THAT(RenderResults(table, Spec(), Format::kTable, {}), ::testing::HasSubstr("; - not measured, or all diverged\n"));
}

TEST(ResultsTableTest, PrintsThePapersShape) {
  EXPECT_EQ(
      RenderResults(Example(), Spec(), Format::kTable, {}),
      "Table B.1: accuracy (%)\n"
      "\n"
      "                                    Log KERPLE\n"
      "                     Log KERPLE   (randomized)\n"
      "R    Even Pairs            81.2          100.0*\n"
      "     Parity Check†         55.2           55.4*\n"
      "\n"
      "DCF  Reverse String           -              -\n"
      "\n"
      "* best of its row; † permutation-invariant; - not measured\n"
      "mean gain of randomized over plain: +9.4 points (2 pairs, standard error 1.3); published: +7.1 from its cells, +7.4 stated\n"
      "note: cell even_pairs, log_kerple: 1 of 9 jobs diverged\n");
}

// Without what is said of gains and notes.
v1::Table WithoutProse(v1::Table table) {
  table.clear_notes();
  table.clear_gain();
  table.clear_published_gain_of_cells();
  table.clear_published_gain_stated();
  return table;
}

TEST(ResultsTableTest, ATableThatIsWiderThanItsTerminalComesInBlocksOfColumns) {
  EXPECT_EQ(RenderResults(Example(), Spec(), Format::kTable, {.width = 200}), RenderResults(Example(), Spec(), Format::kTable, {})) << "it fits";
  EXPECT_EQ(
      RenderResults(WithoutProse(Example()), Spec(), Format::kTable, {.width = 40}),
      "Table B.1: accuracy (%)\n"
      "\n"
      "                     Log KERPLE\n"
      "R    Even Pairs            81.2\n"
      "     Parity Check†         55.2\n"
      "\n"
      "DCF  Reverse String           -\n"
      "\n"
      "                       Log KERPLE\n"
      "                     (randomized)\n"
      "R    Even Pairs             100.0*\n"
      "     Parity Check†           55.4*\n"
      "\n"
      "DCF  Reverse String             -\n"
      "\n"
      "* best of its row;\n"
      "† permutation-invariant; - not measured\n");
}

TEST(ResultsTableTest, OnAVeryNarrowTerminalLabelsAreBrokenToo) {
  const std::string table = RenderResults(Example(), Spec(), Format::kTable, {.width = 32});
  for (const std::string& line : Split(table, '\n')) EXPECT_LE(DisplayWidth(line), 32) << line;
  EXPECT_THAT(table, ::testing::HasSubstr("\nDCF  Reverse                -\n     String\n"));
  EXPECT_EQ(RenderResults(Example(), Spec(), Format::kMarkdown, {.width = 32}), RenderResults(Example(), Spec(), Format::kMarkdown, {})) << "no text for a terminal";
}

TEST(ResultsTableTest, PutsPublishedBesideMeasured) {
  EXPECT_EQ(
      RenderResults(Example(), Spec(), Format::kTable, {.published = true}),
      "Table B.1: accuracy (%)\n"
      "\n"
      "                                         Log KERPLE\n"
      "                        Log KERPLE     (randomized)\n"
      "R    Even Pairs      81.2  (69.3)    100.0* (99.9*)\n"
      "     Parity Check†   55.2  (56.1*)    55.4* (55.0)\n"
      "\n"
      "DCF  Reverse String     -  (63.9)        -\n"
      "\n"
      "* best of its row; † permutation-invariant; in parentheses: published; - not measured\n"
      "mean gain of randomized over plain: +9.4 points (2 pairs, standard error 1.3); published: +7.1 from its cells, +7.4 stated\n"
      "note: cell even_pairs, log_kerple: 1 of 9 jobs diverged\n");
}

TEST(ResultsTableTest, TheSpreadStandsBehindItsMean) {
  v1::Table table = Example();
  table.clear_title();
  table.clear_notes();
  table.clear_gain();
  table.clear_published_gain_of_cells();
  table.clear_published_gain_stated();
  table.mutable_cells(0)->set_deviation(12.34);
  table.mutable_cells(2)->set_deviation(0.5);
  EXPECT_EQ(RenderResults(table, Spec(), Format::kTable, {.spread = true}),
            "                                     Log KERPLE\n"
            "                      Log KERPLE   (randomized)\n"
            "R    Even Pairs      81.2  ± 12.3  100.0*\n"
            "     Parity Check†   55.2  ±  0.5   55.4*\n"
            "\n"
            "DCF  Reverse String     -              -\n"
            "\n"
            "* best of its row; † permutation-invariant; ± standard deviation of 8 jobs; - not measured\n");
  const std::string markdown = RenderResults(table, Spec(), Format::kMarkdown, {.published = true, .spread = true});
  EXPECT_NE(markdown.find("| 81.2 ± 12.3 (69.3) | **100.0** (**99.9**) |"), std::string::npos) << markdown;
  EXPECT_NE(RenderResults(table, Spec(), Format::kLatex, {.spread = true}).find("& 81.2 $\\pm$ 12.3 & \\textbf{100.0}"), std::string::npos);

  for (v1::TableCell& cell : *table.mutable_cells()) cell.clear_deviation();
  EXPECT_NE(RenderResults(table, Spec(), Format::kTable, {.spread = true}).find("no cell has two jobs"), std::string::npos);
}

TEST(ResultsTableTest, MoreOfWhatIsBetterWhenLowerIsNoGain) {
  v1::Table table = Example();
  table.set_metric("loss");
  EXPECT_NE(RenderResults(table, Spec(), Format::kTable, {}).find("\nmean difference, randomized minus plain: +9.4 points"), std::string::npos);
}

TEST(ResultsTableTest, CsvHasALineForEachCellWithFullPrecision) {
  const std::string csv = RenderResults(Example(), Spec(), Format::kCsv, {});
  EXPECT_EQ(csv.substr(0, csv.find("\nparity")),
            "task,encoding,accuracy,unit,published,best,jobs,succeeded,diverged,failed,measured_jobs,median,deviation,published_text\n"
            "even_pairs,log_kerple,81.24,%,69.3,false,9,9,0,0,8,,,\n"
            "even_pairs,log_kerple:randomized,100,%,99.9,true,9,9,0,0,8,,,");
  EXPECT_NE(csv.find("reverse_string,log_kerple:randomized,,%,,false,9,0,0,0,0,,,\n"), std::string::npos);
}

TEST(ResultsTableTest, CsvSaysWhatACellIsTheBestOfWhereItIs) {
  v1::TableSpec spec = Spec();
  v1::Table table = Example();
  table.mutable_cells(0)->set_best_of("0.001");
  table.mutable_cells(1)->set_best_of("0.001,2");
  EXPECT_EQ(RenderResults(table, spec, Format::kCsv, {}).find("best_of"), std::string::npos);

  spec.add_best_of("learning_rate");
  const std::string csv = RenderResults(table, spec, Format::kCsv, {});
  EXPECT_NE(csv.find(",published_text,best_of\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\neven_pairs,log_kerple,81.24,%,69.3,false,9,9,0,0,8,,,,0.001\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",,,,\"0.001,2\"\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\nreverse_string,log_kerple:randomized,,%,,false,9,0,0,0,0,,,,\n"), std::string::npos) << csv;
  EXPECT_EQ(nlohmann::json::parse(RenderResults(table, spec, Format::kJson, {}))["cells"][0]["best_of"], "0.001");

  // Those of several sweeps have the same columns, whatever each is of.
  EXPECT_NE(RenderResults(Example(), Spec(), Format::kCsv, {.sweep = "small"}).find(",published_text,best_of\n"), std::string::npos);
}

TEST(ResultsTableTest, CsvHasAColumnForEachOfSeveralAxes) {
  v1::TableSpec spec;
  spec.set_rows("task,model.data");
  spec.set_columns("encoding,seed");
  v1::Table table;
  table.set_metric("accuracy");
  AddRow(table, "even_pairs,a\\,b", "Even Pairs, data a,b", "R", false);
  table.add_columns()->set_key("rope,0");
  table.add_columns()->set_key("other");
  AddCell(table, 50, 40);
  AddCell(table, 60, std::nullopt);

  const std::string csv = RenderResults(table, spec, Format::kCsv, {});

  EXPECT_EQ(csv.substr(0, csv.find("accuracy")), "task,model.data,encoding,seed,");
  EXPECT_NE(csv.find("\neven_pairs,\"a,b\",rope,0,50,"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\neven_pairs,\"a,b\",other,,60,"), std::string::npos) << csv;
  EXPECT_NE(RenderResults(table, spec, Format::kTable, {}).find("R  Even Pairs, data a,b"), std::string::npos);
}

TEST(ResultsTableTest, PublishedValuesArePrintedAsTheyWerePublished) {
  v1::TableSpec spec;
  spec.set_rows("system");
  spec.set_columns("length");
  v1::Table table;
  for (const char* system : {"nope", "rope-dynamic"}) table.add_rows()->set_key(system);
  for (const char* length : {"4096", "8192"}) table.add_columns()->set_key(length);
  AddCell(table, 3.25, 117.4);
  AddCell(table, 4.5, 1000);
  AddCell(table, 3.25, 3.5);
  AddCell(table, 4.5, 22.8);
  table.mutable_cells(1)->set_published_text(">1000");
  table.mutable_cells(2)->set_published_text("3.5?");
  table.mutable_cells(3)->set_published_text("22.8");

  const std::string printed = RenderResults(table, spec, Format::kTable, {.published = true});
  for (const char* text : {"3.250  (117.400)", "4.500  (>1000)", "3.250  (3.5?)", "4.500  (22.8)"}) EXPECT_NE(printed.find(text), std::string::npos) << printed;
  const std::string csv = RenderResults(table, spec, Format::kCsv, {});
  EXPECT_NE(csv.find("\nnope,8192,4.5,,1000,false,9,9,0,0,8,,,>1000\n"), std::string::npos) << csv;
}

TEST(ResultsTableTest, MarkdownAndLatexMarkTheBestInBold) {
  EXPECT_EQ(
      RenderResults(Example(), Spec(), Format::kMarkdown, {.published = true}),
      "**Table B.1: accuracy (%)**\n"
      "\n"
      "| | | Log KERPLE | Log KERPLE (randomized) |\n"
      "| --- | --- | ---: | ---: |\n"
      "| R | Even Pairs | 81.2 (69.3) | **100.0** (**99.9**) |\n"
      "| R | Parity Check† | 55.2 (**56.1**) | **55.4** (55.0) |\n"
      "| DCF | Reverse String | - (63.9) | - |\n"
      "\n"
      "bold: best of its row; † permutation-invariant; in parentheses: published; \\- not measured\n"
      "\n"
      "mean gain of randomized over plain: +9.4 points (2 pairs, standard error 1.3); published: +7.1 from its cells, +7.4 stated\n"
      "\n"
      "Note: cell even\\_pairs, log\\_kerple: 1 of 9 jobs diverged\n");
  EXPECT_EQ(
      RenderResults(Example(), Spec(), Format::kLatex, {}),
      "% Table B.1: accuracy (%)\n"
      "% needs \\usepackage{booktabs}\n"
      "\\begin{tabular}{llrr}\n"
      "\\toprule\n"
      " &  & Log KERPLE & Log KERPLE (randomized) \\\\\n"
      "\\midrule\n"
      "R & Even Pairs & 81.2 & \\textbf{100.0} \\\\\n"
      " & Parity Check$^\\dagger$ & 55.2 & \\textbf{55.4} \\\\\n"
      "\\midrule\n"
      "DCF & Reverse String & -- & -- \\\\\n"
      "\\bottomrule\n"
      "\\end{tabular}\n"
      "% bold: best of its row; dagger: permutation-invariant; --: not measured\n"
      "% mean gain of randomized over plain: +9.4 points (2 pairs, standard error 1.3); published: +7.1 from its cells, +7.4 stated\n"
      "% note: cell even_pairs, log_kerple: 1 of 9 jobs diverged\n");
}

TEST(ResultsTableTest, ATabularOfRowsWithoutGroupsHasNoColumnForThem) {
  v1::Table table = Example();
  for (v1::TableAxisEntry& row : *table.mutable_rows()) row.clear_group();
  const std::string latex = RenderResults(table, Spec(), Format::kLatex, {});
  EXPECT_THAT(latex, ::testing::HasSubstr("\\begin{tabular}{lrr}\n\\toprule\n & Log KERPLE & Log KERPLE (randomized) \\\\\n\\midrule\nEven Pairs & 81.2 & "));
  EXPECT_THAT(latex, ::testing::Not(::testing::HasSubstr("\\midrule\nReverse String")));
}

TEST(ResultsTableTest, JsonIsTheMessage) {
  const nlohmann::json json = nlohmann::json::parse(RenderResults(Example(), Spec(), Format::kJson, {}));
  EXPECT_EQ(json["schema"], "longreach/v1");
  EXPECT_EQ(json["cells"].size(), 6u);
  EXPECT_EQ(json["cells"][0]["measured"], 81.24);
  EXPECT_FALSE(json["cells"][4].contains("measured"));
}

TEST(ResultsTableTest, AGainWithoutPairsIsNotANumber) {
  v1::Table table = Example();
  table.clear_gain();
  EXPECT_NE(RenderResults(table, Spec(), Format::kTable, {})
                .find("mean gain of randomized over plain: not measured yet; published:"),
            std::string::npos);
  table.clear_published_gain_of_cells();
  table.clear_published_gain_stated();
  EXPECT_EQ(RenderResults(table, Spec(), Format::kTable, {}).find("mean gain"), std::string::npos);
}

TEST(ResultsTableTest, SurvivesATableThatLacksCells) {
  v1::Table table = Example();
  table.mutable_cells()->DeleteSubrange(2, 4);
  EXPECT_NE(RenderResults(table, Spec(), Format::kTable, {})
                .find("DCF  Reverse String           -              -\n"),
            std::string::npos);
  EXPECT_NE(RenderResults(v1::Table(), Spec(), Format::kTable, {}), "");
}

TEST(ResultsTableTest, NamesCannotSteerATerminal) {
  v1::Table table = Example();
  table.mutable_rows(0)->set_label("\x1b[2J");
  EXPECT_EQ(RenderResults(table, Spec(), Format::kTable, {}).find('\x1b'), std::string::npos);
}

TEST(ResultsTableTest, NatsBecomeBitsAndAnotherUnitStays) {
  v1::Table table = Example();
  const v1::Table percent = table;
  EXPECT_FALSE(TurnIntoBits(table));
  EXPECT_EQ(table.DebugString(), percent.DebugString());

  table.set_unit("nats");
  table.set_title("tiny: attention_entropy (nats) at each test length");
  table.mutable_cells(0)->set_measured(2);
  table.mutable_cells(0)->set_deviation(0.5);
  table.mutable_cells(1)->clear_measured();
  EXPECT_TRUE(TurnIntoBits(table));
  EXPECT_EQ(table.unit(), "bits");
  EXPECT_EQ(table.title(), "tiny: attention_entropy (bits) at each test length");
  EXPECT_NEAR(table.cells(0).measured(), 2.8853900817779268, 1e-12);
  EXPECT_NEAR(table.cells(0).deviation(), 0.7213475204444817, 1e-12);
  EXPECT_NEAR(table.gain() / table.gain_error(), 9.43 / 1.26, 1e-12);
  EXPECT_NEAR(table.gain(), 9.43 / 0.6931471805599453, 1e-12);
  EXPECT_FALSE(table.cells(1).has_measured());
}

TEST(ResultsTableTest, PublishedValuesInBitsAreAsExactAsTheyWerePrinted) {
  v1::Table table = Example();
  table.set_unit("nats");
  const auto in_bits = [&table](double nats, const std::string& printed) {
    v1::Table one = table;
    one.mutable_cells(0)->set_published(nats);
    one.mutable_cells(0)->set_published_text(printed);
    EXPECT_TRUE(TurnIntoBits(one));
    return one.cells(0).published_text();
  };
  EXPECT_EQ(in_bits(232.8, "232.8"), "335.9");
  EXPECT_EQ(in_bits(5.741, "5.741"), "8.283");
  EXPECT_EQ(in_bits(1000, ">1000"), ">1443");
  EXPECT_EQ(in_bits(3.5, "3.5?"), "5.0?");
  EXPECT_EQ(in_bits(3.5, ""), "");
}

TEST(ResultsTableTest, AGainThatRoundsToZeroHasNoSign) {
  v1::Table table = Example();
  table.set_gain(-0.02);
  EXPECT_THAT(RenderResults(table, Spec(), Format::kTable, {}), ::testing::HasSubstr("randomized over plain: 0.0 points"));
  EXPECT_EQ(ShownNumber(-0.04, table), "0.0");
  EXPECT_EQ(ShownNumber(-0.06, table), "-0.1");
  table.set_unit("nats");
  EXPECT_EQ(ShownNumber(-0.0, table), "0.000");
  EXPECT_EQ(ShownNumber(-0.0001, table), "-0.0001");
}

}  // namespace
}  // namespace longreach::client
