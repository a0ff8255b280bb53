#include "client/output/grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "client/output/column_blocks.h"

namespace longreach::client {
namespace {

Grid ExampleGrid() {
  Grid grid;
  grid.columns = {{"name", "NAME"}, {"value", "VALUE", true}, {"note", "NOTE"}};
  grid.rows = {{TextCell("rope"), NumberCell(0.5), TextCell("a,b \"c\"")},
               {TextCell("a_b|c"), NumberCell(1234), MissingCell()}};
  return grid;
}

TEST(GridTest, AlignsTextToTheLeftAndNumbersToTheRight) {
  EXPECT_EQ(GridAsTable(ExampleGrid(), false),
            "NAME   VALUE  NOTE\n"
            "rope     0.5  a,b \"c\"\n"
            "a_b|c   1234  -\n");
}

TEST(GridTest, NoLineOfATableEndsWithBlanks) {
  Grid grid;
  grid.columns = {{"a", "A"}, {"b", "LONGER"}, {"c", "ÜBER"}};
  grid.rows = {{TextCell("表"), TextCell(""), TextCell("")}, {TextCell(""), TextCell(""), TextCell("")}, {TextCell("x"), TextCell("\x1b"), TextCell("y")}};
  const std::string rows = "表\n\nx   \\x1b    y\n";
  EXPECT_EQ(GridAsTable(grid, false), "A   LONGER  ÜBER\n" + rows);
  EXPECT_EQ(GridAsTable(grid, true), "\x1b[1mA   LONGER  ÜBER\x1b[0m\n" + rows);
}

TEST(GridTest, ATableThatIsWiderThanItsTerminalComesInBlocksOfColumns) {
  EXPECT_EQ(GridAsTable(ExampleGrid(), false, 21), GridAsTable(ExampleGrid(), false)) << "it fits";
  const std::string blocks =
      "NAME   VALUE\n"
      "rope     0.5\n"
      "a_b|c   1234\n"
      "\n"
      "NAME   NOTE\n"
      "rope   a,b \"c\"\n"
      "a_b|c  -\n";
  EXPECT_EQ(GridAsTable(ExampleGrid(), false, 20), blocks);
  EXPECT_EQ(GridAsTable(ExampleGrid(), false, 14), blocks);
  EXPECT_THAT(GridAsTable(ExampleGrid(), true, 20), ::testing::HasSubstr("\n\n\x1b[1mNAME   NOTE\x1b[0m\n"));
  EXPECT_EQ(GridAsTable(Grid(), false, 20), GridAsTable(Grid(), false));
}

TEST(GridTest, ATextAtTheRightEndOfANarrowTableIsBrokenIntoLines) {
  Grid grid;
  grid.columns = {{"name", "CHECK"}, {"seen", "SEEN"}};
  grid.rows = {{TextCell("disk"), TextCell("there is no folder here at all, and none beside it either")}, {TextCell("cpu"), TextCell("")}, {TextCell("gpu"), TextCell("none")}};
  EXPECT_EQ(GridAsTable(grid, false, 40),
            "CHECK  SEEN\n"
            "disk   there is no folder here at all,\n"
            "       and none beside it either\n"
            "cpu\n"
            "gpu    none\n");
  grid.columns.push_back({"count", "COUNT", true});
  for (std::vector<GridCell>& row : grid.rows) row.push_back(NumberCell(12));
  EXPECT_EQ(GridAsTable(grid, false, 40),
            "CHECK  SEEN\n"
            "disk   there is no folder here at all,\n"
            "       and none beside it either\n"
            "cpu\n"
            "gpu    none\n"
            "\n"
            "CHECK  COUNT\n"
            "disk      12\n"
            "cpu       12\n"
            "gpu       12\n") << "in a block of its own, too";
}

// Beside the others it would be wider than the terminal, as a word is not broken.
TEST(GridTest, ATextWhoseWordIsLongHasABlockOfItsOwn) {
  const Grid grid{.columns = {{"kind", "KIND"}, {"bytes", "BYTES", true}, {"hash", "HASH"}}, .rows = {{TextCell("log"), NumberCell(123456), TextCell(std::string(40, 'f'))}}};
  EXPECT_EQ(GridAsTable(grid, false, 50),
            "KIND   BYTES\n"
            "log   123456\n"
            "\n"
            "KIND  HASH\n"
            "log   ffffffffffffffffffffffffffffffffffffffff\n");
  EXPECT_EQ(GridAsTable(grid, false, 54),
            "KIND   BYTES  HASH\n"
            "log   123456  ffffffffffffffffffffffffffffffffffffffff\n");
}

TEST(GridTest, ColumnsThatAreTooWideByThemselvesHaveABlockEach) {
  const auto blocks = [](const std::vector<int>& widths, int width) {
    std::vector<std::pair<size_t, size_t>> found;
    for (const ColumnBlock& block : ColumnBlocks(5, widths, width)) found.emplace_back(block.begin, block.end);
    return found;
  };
  using Blocks = std::vector<std::pair<size_t, size_t>>;
  EXPECT_EQ(blocks({3, 3, 3}, 0), (Blocks{{0, 3}}));
  EXPECT_EQ(blocks({3, 3, 3}, 15), (Blocks{{0, 2}, {2, 3}}));
  EXPECT_EQ(blocks({3, 30, 3}, 15), (Blocks{{0, 1}, {1, 2}, {2, 3}}));
  EXPECT_EQ(blocks({30, 30}, 3), (Blocks{{0, 1}, {1, 2}}));
  EXPECT_EQ(blocks({}, 3), (Blocks{{0, 0}}));
}

TEST(GridTest, CsvQuotesWhateverStandsBehindPlainText) {
  EXPECT_EQ(CsvField("plain text", false), "plain text");
  EXPECT_EQ(CsvField("a;b", false), "\"a;b\"");
  EXPECT_EQ(CsvField("a\tb", false), "\"a\tb\"");
  EXPECT_EQ(CsvField("a†,b", false), "\"a†,b\"");
  EXPECT_EQ(CsvField("a†\x7f", false), "a†\\x7f");
  EXPECT_EQ(CsvField("", false), "");
}

TEST(GridTest, QuotesCsvAsRfc4180Says) {
  EXPECT_EQ(GridAsCsv(ExampleGrid()),
            "name,value,note\n"
            "rope,0.5,\"a,b \"\"c\"\"\"\n"
            "a_b|c,1234,\n");
  EXPECT_EQ(CsvField("a\nb", false), "\"a\nb\"");
  EXPECT_EQ(GridAsCsv(ExampleGrid(), false), "rope,0.5,\"a,b \"\"c\"\"\"\na_b|c,1234,\n");
}

TEST(GridTest, TextsThatASpreadsheetWouldRunAreDisarmedAndNumbersAreNot) {
  EXPECT_EQ(CsvField("=HYPERLINK(1)", false), "'=HYPERLINK(1)");
  EXPECT_EQ(CsvField("@x", false), "'@x");
  EXPECT_EQ(CsvField(" \t=1+1", false), "\"' \t=1+1\"");
  EXPECT_EQ(CsvField("＝1", false), "'＝1");
  EXPECT_EQ(CsvField("\r=1", false), "'\\x0d=1");
  EXPECT_EQ(CsvField("-0.5", true), "-0.5");
}

TEST(GridTest, CsvHoldsNothingThatATerminalObeys) {
  EXPECT_EQ(CsvField("a\x1b[2J\xc2\x9b", false), "a\\x1b[2J\\xc2\\x9b");
  EXPECT_EQ(CsvField("a\nb", false), "\"a\nb\"") << "lines stay lines";
}

TEST(GridTest, EscapesMarkdownAndLatex) {
  EXPECT_EQ(GridAsMarkdown(ExampleGrid()),
            "| NAME | VALUE | NOTE |\n"
            "| --- | ---: | --- |\n"
            "| rope | 0.5 | a,b \"c\" |\n"
            "| a\\_b\\|c | 1234 | - |\n");
  EXPECT_EQ(EscapeLatex("50% of a_b & {c}~^\\"),
            "50\\% of a\\_b \\& \\{c\\}\\textasciitilde{}\\textasciicircum{}\\textbackslash{}");
}

TEST(GridTest, MarkdownShowsHtmlAndMathsAsText) {
  EXPECT_EQ(EscapeMarkdown("&lt; <b> $x$ ~~y~~"), "\\&lt; \\<b\\> \\$x\\$ \\~\\~y\\~\\~");
}

TEST(GridTest, LatexTakesNoTextForTheArgumentOfTheRowBefore) {
  EXPECT_EQ(EscapeLatex("[9cm]"), "{}[9cm]");
  EXPECT_EQ(EscapeLatex("*"), "{}*");
  EXPECT_EQ(EscapeLatex("a[1]"), "a[1]");
}

TEST(GridTest, LatexHasAMinusAndNoHyphen) {
  EXPECT_EQ(LatexNumber("-1.2*"), "$-$1.2*");
  EXPECT_EQ(LatexNumber("+1.2"), "+1.2");
  EXPECT_EQ(LatexNumber(">1000"), "\\textgreater{}1000");
  EXPECT_EQ(LatexNumber("-"), "-") << "what is not there";
  const Grid grid{.columns = {{"name", "NAME"}, {"value", "VALUE", true}}, .rows = {{TextCell("-1"), NumberCell(-1)}}};
  EXPECT_EQ(GridAsLatex(grid), "% needs \\usepackage{booktabs}\n\\begin{tabular}{lr}\n\\toprule\nNAME & VALUE \\\\\n\\midrule\n-1 & $-$1 \\\\\n\\bottomrule\n\\end{tabular}\n");
}

TEST(GridTest, JsonHasTypedMembers) {
  Grid grid = ExampleGrid();
  grid.rows.push_back({TextCell("\x1b"), NumberCell(std::nan("")), BoolCell(true)});
  const nlohmann::json json = nlohmann::json::parse(GridAsJson(grid));
  EXPECT_EQ(json[0]["value"], 0.5);
  EXPECT_TRUE(json[1]["note"].is_null());
  EXPECT_EQ(json[2]["value"], "NaN");
  EXPECT_EQ(json[2]["note"], true);
}

TEST(GridTest, ColumnsInWhichNothingStandsMayBeLeftOut) {
  const std::vector<GridColumn> columns = {{"name", "NAME"}, {"zeros", "ZEROS", true}, {"text", "TEXT"}, {"missing", "MISSING", true}, {"word", "WORD"}};
  Grid grid{.columns = columns, .rows = {{TextCell("a"), NumberCell(0), TextCell(""), MissingCell(), TextCell("0")}, {TextCell(""), NumberCell(0), TextCell(""), MissingCell(), TextCell("0")}}};

  LeaveOutEmpty(grid, {"name", "zeros", "text", "missing", "word"});

  EXPECT_EQ(GridAsCsv(grid), "name,word\na,0\n,0\n") << "a text '0' is a name like others";
}

}  // namespace
}  // namespace longreach::client
