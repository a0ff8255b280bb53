#include "client/output/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "client/output/column_blocks.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

std::string Shown(const GridCell& cell) { return Printable(cell.shown.empty() ? cell.value : cell.shown); }

// Of its last line: a line feed is no blank.
void TrimEnd(std::string& text) { text.erase(text.find_last_not_of(' ') + 1); }

// The last column of a table, of texts, stands beside the others as long as it has so much room. Below that it comes in a block of its own, in lines that
// are no shorter than the other number.
constexpr int kLeastText = 24, kLeastLine = 12;

// A line of a table without its end. Straight behind what is there: a large sweep's table has hundreds of thousands of lines.
template <typename TextOf>
void AddCells(const Grid& grid, const std::vector<size_t>& columns, const std::vector<int>& widths, const TextOf& text_of, std::string& out) {
  for (const size_t c : columns) {
    if (c != columns.front()) out += "  ";
    const std::string text = text_of(c);
    const auto missing = static_cast<size_t>(std::max(widths[c] - DisplayWidth(text), 0));
    if (grid.columns[c].is_number) out.append(missing, ' ');
    out += text;
    if (!grid.columns[c].is_number) out.append(missing, ' ');
  }
  TrimEnd(out);
}

// What the last column, of texts, must have to stand beside others: a word is not broken.
int LeastOfTexts(const Grid& grid) {
  int least = kLeastText;
  for (const auto& row : grid.rows) {
    const std::string text = Shown(row.back());
    if (text.size() <= kLeastText) continue;
    for (const std::string& word : Split(text, ' ')) least = std::max(least, DisplayWidth(word));
  }
  return least;
}

// These columns of all rows below their header.
void AddColumns(const Grid& grid, const std::vector<size_t>& columns, const std::vector<int>& widths, int width, bool bold_header, std::string& out) {
  const size_t last = columns.empty() ? 0 : columns.back();
  int before = 0;
  for (const size_t c : columns) before += c == last ? 0 : widths[c] + 2;
  const bool wraps = width > 0 && !columns.empty() && !grid.columns[last].is_number && before + widths[last] > width;
  const int room = std::max(width - before, kLeastLine);
  if (bold_header) out += "\x1b[1m";
  AddCells(grid, columns, widths, [&](size_t c) { return grid.columns[c].label; }, out);
  out += bold_header ? "\x1b[0m\n" : "\n";
  for (const auto& row : grid.rows) {
    std::vector<std::string> lines;
    if (wraps) lines = WrapWords(Shown(row[last]), room);
    AddCells(grid, columns, widths, [&](size_t c) { return c != last || lines.empty() ? Shown(row[c]) : lines.front(); }, out);
    out += '\n';
    for (size_t l = 1; l < lines.size(); ++l) out += PadRight("", before) + lines[l] + "\n";
  }
}

}  // namespace

std::string_view FormatName(Format format) {
  switch (format) {
    case Format::kTable: return "table";
    case Format::kCsv: return "csv";
    case Format::kJson: return "json";
    case Format::kMarkdown: return "markdown";
    case Format::kLatex: return "latex";
  }
  return "";
}

GridCell TextCell(std::string_view text) { return {.value = std::string(text)}; }
GridCell NumberCell(double value) {
  std::string shown = ShortestNumber(value);
  return {.value = std::isfinite(value) ? shown : JsonNumber(value), .shown = std::move(shown), .is_raw = true};
}
GridCell NumberCell(double value, std::string shown) {
  return {.value = JsonNumber(value), .shown = std::move(shown), .is_raw = true};
}
GridCell BoolCell(bool value) {
  return {.value = value ? "true" : "false", .shown = value ? "yes" : "no", .is_raw = true};
}
GridCell MissingCell() { return {.value = "null", .shown = "-", .is_raw = true}; }

void LeaveOutEmpty(Grid& grid, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    const auto column = std::ranges::find(grid.columns, key, &GridColumn::key);
    if (column == grid.columns.end()) continue;
    const auto at = column - grid.columns.begin();
    const auto has_something = [at, is_number = column->is_number](const std::vector<GridCell>& row) {
      const GridCell& cell = row[static_cast<size_t>(at)];
      return !cell.value.empty() && !(cell.is_raw && cell.value == "null") && !(is_number && cell.value == "0");
    };
    if (std::ranges::any_of(grid.rows, has_something)) continue;
    grid.columns.erase(column);
    for (std::vector<GridCell>& row : grid.rows) row.erase(row.begin() + at);
  }
}

std::string GridAsTable(const Grid& grid, bool bold_header, int width) {
  std::vector<int> widths;
  for (const GridColumn& column : grid.columns) widths.push_back(DisplayWidth(column.label));
  for (const auto& row : grid.rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(Shown(row[i])));
  }
  const int left = widths.empty() ? 0 : widths.front();
  std::vector<int> needed(widths.empty() ? widths.begin() : widths.begin() + 1, widths.end());
  if (width > 0 && !needed.empty() && !grid.columns.back().is_number) needed.back() = std::min(needed.back(), LeastOfTexts(grid));
  std::string out;
  for (const ColumnBlock& block : ColumnBlocks(left, needed, width)) {
    std::vector<size_t> columns;
    if (!widths.empty()) columns.push_back(0);
    for (size_t c = block.begin; c < block.end; ++c) columns.push_back(c + 1);
    if (!out.empty()) out += '\n';
    AddColumns(grid, columns, widths, width, bold_header, out);
  }
  return out;
}

std::string CsvField(std::string_view text, bool is_number) {
  // Blanks in front do not keep every spreadsheet from looking behind them, and some take the wide forms too.
  constexpr std::string_view kBegins[] = {"=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"};
  std::string field = Printable(text, /*keep_lines=*/true);
  if (!is_number) {
    const std::string_view begin = text.substr(std::min(text.find_first_not_of(' '), text.size()));
    if (std::ranges::any_of(kBegins, [&begin](std::string_view one) { return begin.starts_with(one); })) field.insert(0, 1, '\'');
  }
  const auto is_quoted = [](char c) { return c == ',' || c == ';' || c == '"' || c == '\t' || c == '\n'; };
  if (std::ranges::none_of(field, is_quoted)) return field;
  std::string quoted = "\"";
  for (const char c : field) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string GridAsCsv(const Grid& grid, bool header) {
  std::string out;
  for (size_t i = 0; header && i < grid.columns.size(); ++i) {
    out += (i > 0 ? "," : "") + CsvField(grid.columns[i].key, false);
  }
  if (header) out += '\n';
  for (const auto& row : grid.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) out += ',';
      if (!(row[i].is_raw && row[i].value == "null")) {
        // Texts that stand for numbers ("NaN") come quoted from the JSON writer.
        const std::string_view value = row[i].value;
        const bool quoted = row[i].is_raw && value.starts_with('"');
        out += CsvField(quoted ? value.substr(1, value.size() - 2) : value, row[i].is_raw);
      }
    }
    out += '\n';
  }
  return out;
}

std::string EscapeMarkdown(std::string_view text) {
  std::string out;
  for (const char c : Printable(text)) {
    if (std::string_view("\\|*_`<>[]&~$").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string EscapeLatex(std::string_view text) {
  std::string out;
  for (const char c : Printable(text)) {
    switch (c) {
      case '\\': out += "\\textbackslash{}"; break;
      case '~': out += "\\textasciitilde{}"; break;
      case '^': out += "\\textasciicircum{}"; break;
      case '<': out += "\\textless{}"; break;
      case '>': out += "\\textgreater{}"; break;
      case '&':
      case '%':
      case '$':
      case '#':
      case '_':
      case '{':
      case '}':
        out += '\\';
        out += c;
        break;
      default: out += c;
    }
  }
  // At the begin of a row these would belong to the \\ or the rule before it.
  if (out.starts_with('[') || out.starts_with('*')) out.insert(0, "{}");
  return out;
}

std::string LatexNumber(std::string_view shown) {
  const bool is_negative = shown.size() > 1 && shown[0] == '-' && shown[1] >= '0' && shown[1] <= '9';
  return is_negative ? "$-$" + EscapeLatex(shown.substr(1)) : EscapeLatex(shown);
}

std::string GridAsMarkdown(const Grid& grid) {
  std::string out = "|";
  std::string rule = "|";
  for (const GridColumn& column : grid.columns) {
    out += fmt::format(" {} |", EscapeMarkdown(column.label));
    rule += column.is_number ? " ---: |" : " --- |";
  }
  out += "\n" + rule + "\n";
  for (const auto& row : grid.rows) {
    out += '|';
    for (const GridCell& cell : row) out += fmt::format(" {} |", EscapeMarkdown(Shown(cell)));
    out += '\n';
  }
  return out;
}

std::string GridAsLatex(const Grid& grid) {
  std::string out(kNeedsBooktabs);
  out += "\\begin{tabular}{";
  for (const GridColumn& column : grid.columns) out += column.is_number ? 'r' : 'l';
  out += "}\n\\toprule\n";
  for (size_t i = 0; i < grid.columns.size(); ++i) {
    out += (i > 0 ? " & " : "") + EscapeLatex(grid.columns[i].label);
  }
  out += " \\\\\n\\midrule\n";
  for (const auto& row : grid.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string shown = Shown(row[i]);
      out += (i > 0 ? " & " : "") + (grid.columns[i].is_number ? LatexNumber(shown) : EscapeLatex(shown));
    }
    out += " \\\\\n";
  }
  return out + "\\bottomrule\n\\end{tabular}\n";
}

std::string GridAsJson(const Grid& grid) {
  std::vector<std::string> keys;
  for (const GridColumn& column : grid.columns) keys.push_back(JsonText(column.key) + ":");
  std::string out = "[";
  for (size_t r = 0; r < grid.rows.size(); ++r) {
    out += r > 0 ? ",{" : "{";
    for (size_t i = 0; i < grid.rows[r].size(); ++i) {
      const GridCell& cell = grid.rows[r][i];
      if (i > 0) out += ',';
      out += keys[i];
      out += cell.is_raw ? cell.value : JsonText(cell.value);
    }
    out += '}';
  }
  return out + "]";
}

}  // namespace longreach::client
