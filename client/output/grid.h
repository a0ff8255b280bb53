// A plain table of rows and columns, in every output format.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace longreach::client {

enum class Format { kTable, kCsv, kJson, kMarkdown, kLatex };

// "table", "csv", "json", "markdown", "latex".
std::string_view FormatName(Format format);

struct GridColumn {
  // JSON key and CSV header: a word in lower case.
  std::string key;
  // Header in tables for people.
  std::string label = {};
  bool is_number = false;
};

// A cell: what a program reads, and what people see where that differs.
struct GridCell {
  std::string value;
  std::string shown = {};  // Empty: `value`.
  // JSON: as it stands instead of as a quoted text (numbers, true, false, null).
  bool is_raw = false;
};

GridCell TextCell(std::string_view text);
GridCell NumberCell(double value);
GridCell NumberCell(double value, std::string shown);
GridCell BoolCell(bool value);
// No value: empty in CSV, null in JSON, "-" for people.
GridCell MissingCell();

struct Grid {
  std::vector<GridColumn> columns;
  std::vector<std::vector<GridCell>> rows;
};

// Leaves out each of these columns in which no row has something: a text, a number but 0, or a value at all. For people: a program counts on columns.
void LeaveOutEmpty(Grid& grid, std::initializer_list<std::string_view> keys);

// Aligned columns, two blanks between them. In lines of `width`, where that is not 0: of a table that is wider a text at the right end is broken
// into lines, and what has no room even so comes in blocks of columns below each other, each with the first column, which says what row it is.
std::string GridAsTable(const Grid& grid, bool bold_header, int width = 0);

// RFC 4180 with line feeds; texts that a spreadsheet would take for a formula begin with an apostrophe, and control
// characters are written as \xNN. Without the header, rows that follow others.
std::string GridAsCsv(const Grid& grid, bool header = true);
std::string GridAsMarkdown(const Grid& grid);
// A tabular in the style of booktabs, to be put into a table environment.
std::string GridAsLatex(const Grid& grid);
// Begins each tabular of ours: without that package a document with it does not compile.
inline constexpr std::string_view kNeedsBooktabs = "% needs \\usepackage{booktabs}\n";
// A JSON array of objects.
std::string GridAsJson(const Grid& grid);

// One CSV field, quoted where it must be.
std::string CsvField(std::string_view text, bool is_number);
std::string EscapeMarkdown(std::string_view text);
std::string EscapeLatex(std::string_view text);
// As shown, with a minus in place of the hyphen that stands for it.
std::string LatexNumber(std::string_view shown);

}  // namespace longreach::client
