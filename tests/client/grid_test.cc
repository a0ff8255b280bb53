#include "client/output/grid.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cmath>

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

}  // namespace
}  // namespace longreach::client
