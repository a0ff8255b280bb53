#include "client/output/results_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "client/output/column_blocks.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "proto/types/axis_list.h"

namespace longreach::client {
namespace {

using v1::Table;
using v1::TableAxisEntry;
using v1::TableCell;

// On a narrow terminal labels of rows are broken into lines that are no shorter than this.
constexpr int kLeastLabel = 12;

// A header is broken into lines no longer than this where it has blanks: eight columns fit beside the tasks.
constexpr int kHeaderWidth = 10;

const TableCell& CellAt(const Table& table, int row, int column) {
  const int at = row * table.columns_size() + column;
  return at < table.cells_size() ? table.cells(at) : TableCell::default_instance();
}

std::string Label(const TableAxisEntry& entry) {
  return Printable(entry.label().empty() ? entry.key() : entry.label());
}

bool IsMarked(const TableAxisEntry& entry) { return entry.mark() == "permutation_invariant"; }

bool HasPublished(const Table& table) {
  return std::any_of(table.cells().begin(), table.cells().end(),
                     [](const TableCell& cell) { return cell.has_published(); });
}

std::string Signed(double value, const Table& table) { return WithSign(ShownNumber(value, table)); }

std::string GainUnit(const Table& table) { return table.unit() == "%" ? "points" : table.unit(); }

// What randomized minus plain is called: where less is better, more of it is no gain.
std::string_view GainName(const Table& table) {
  const catalog::Metric* metric = catalog::FindMetric(table.metric());
  const bool lower = metric != nullptr && metric->better == catalog::Better::kLower;
  return lower ? "mean difference, randomized minus plain" : "mean gain of randomized over plain";
}

// The line below the table; empty when there is no pair, measured or published.
std::string GainLine(const Table& table) {
  std::vector<std::string> published;
  if (table.has_published_gain_of_cells()) {
    published.push_back(fmt::format("{} from its cells", Signed(table.published_gain_of_cells(), table)));
  }
  if (table.has_published_gain_stated()) {
    published.push_back(fmt::format("{} stated", Signed(table.published_gain_stated(), table)));
  }
  const std::string tail = published.empty() ? "" : fmt::format("; published: {}", Join(published, ", "));
  if (!table.has_gain()) {
    return published.empty() ? ""
                             : fmt::format("{}: not measured yet{}", GainName(table), tail);
  }
  const std::string error = table.has_gain_error() ? ", standard error " + ShownNumber(table.gain_error(), table) : "";
  return fmt::format("{}: {} {} ({}{}){}", GainName(table), Signed(table.gain(), table),
                     Printable(GainUnit(table)), Count(table.gain_pairs(), "pair"), error, tail);
}

// Empty: of one job there is none.
std::string SpreadText(const TableCell& cell, const Table& table) {
  return cell.has_measured() && cell.has_deviation() ? ShownNumber(cell.deviation(), table) : "";
}

// "± standard deviation of 9 jobs", where all cells have as many.
std::string SpreadLegend(const Table& table) {
  int least = 0, most = 0;
  for (const TableCell& cell : table.cells()) {
    if (!cell.has_measured() || !cell.has_deviation()) continue;
    least = least == 0 ? cell.measured_jobs() : std::min(least, cell.measured_jobs());
    most = std::max(most, cell.measured_jobs());
  }
  if (most == 0) return "no cell has two jobs, so none has a standard deviation";
  return least == most ? fmt::format("± standard deviation of {}", Count(most, "job")) : fmt::format("± standard deviation of {} to {} jobs", least, most);
}

// How a format marks cells and rows.
struct Marks {
  std::string_view best = "*";
  std::string_view invariant = "†";
  std::string_view missing = "-";
};

bool HasGroups(const Table& table) {
  return std::any_of(table.rows().begin(), table.rows().end(), [](const TableAxisEntry& row) { return !row.group().empty(); });
}

std::vector<std::string> Legend(const Table& table, const ResultsStyle& style, const Marks& marks) {
  const bool published = style.published;
  std::vector<std::string> legend;
  const auto any_cell = [&table](auto&& test) {
    return std::any_of(table.cells().begin(), table.cells().end(), test);
  };
  if (any_cell([&](const TableCell& cell) { return cell.best() || (published && cell.published_best()); })) {
    legend.push_back(fmt::format("{} best of its row", marks.best));
  }
  if (std::any_of(table.rows().begin(), table.rows().end(), IsMarked)) {
    legend.push_back(fmt::format("{} permutation-invariant", marks.invariant));
  }
  if (style.spread) legend.push_back(SpreadLegend(table));
  if (published) legend.push_back("in parentheses: published");
  if (any_cell([](const TableCell& cell) { return !cell.has_measured(); }) || table.cells().empty()) {
    const bool diverged = any_cell([](const TableCell& cell) { return !cell.has_measured() && cell.diverged() > 0; });
    legend.push_back(fmt::format("{} not measured{}", marks.missing, diverged ? ", or all diverged" : ""));
  }
  return legend;
}

// Words of a header on as few lines as fit into kHeaderWidth.
std::vector<std::string> WrapHeader(const std::string& label) {
  std::vector<std::string> lines;
  for (const std::string& word : Split(label, ' ')) {
    if (!lines.empty() && DisplayWidth(lines.back()) + 1 + DisplayWidth(word) <= kHeaderWidth) {
      lines.back() += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

// As it was printed.
std::string PublishedText(const TableCell& cell, const Table& table) {
  return cell.published_text().empty() ? ShownNumber(cell.published(), table) : Printable(cell.published_text());
}

// Columns of the widest SpreadText().
int SpreadWidth(const Table& table) {
  int width = 0;
  for (const TableCell& cell : table.cells()) width = std::max(width, DisplayWidth(SpreadText(cell, table)));
  return width;
}

// "81.2*", "81.2* ± 2.1" or "81.2* (69.3 )": every cell of a table has the same parts, so that right-aligned numbers line up. `spread`: columns
// of the standard deviation; 0: none.
std::string CellText(const Table& table, int row, int column, int spread, bool published) {
  const TableCell& cell = CellAt(table, row, column);
  std::string text = cell.has_measured() ? ShownNumber(cell.measured(), table) : "-";
  text += cell.has_measured() && cell.best() ? "*" : " ";
  if (spread > 0) {
    const std::string deviation = SpreadText(cell, table);
    text += deviation.empty() ? PadRight("", spread + 3) : " ± " + PadLeft(deviation, spread);
  }
  if (published) {
    const std::string value =
        cell.has_published() ? PublishedText(cell, table) + (cell.published_best() ? "*" : "") : "";
    text += value.empty() ? "         " : PadRight(fmt::format(" ({})", value), 9);
  }
  return text;
}

// Where the parts of a table stand as text.
struct Layout {
  int group_width = 0;  // 0: it has no groups.
  int label_width = 0;
  int spread_width = 0;
  std::vector<std::vector<std::string>> headers = {};  // The lines of each column's.
  std::vector<int> widths = {};  // Of each column.

  int Left() const { return (group_width > 0 ? group_width + 2 : 0) + label_width; }
};

// As it stands before its row.
std::string MarkedLabel(const TableAxisEntry& row) { return Label(row) + (IsMarked(row) ? "†" : ""); }

// What the widest column leaves of the terminal to labels, but not less than their longest word has.
int LabelRoom(const Table& table, const Layout& layout, int width) {
  int room = width - (layout.Left() - layout.label_width);
  if (!layout.widths.empty()) room -= 2 + *std::ranges::max_element(layout.widths);
  room = std::max(room, kLeastLabel);
  for (const TableAxisEntry& row : table.rows()) {
    for (const std::string& word : Split(MarkedLabel(row), ' ')) room = std::max(room, DisplayWidth(word));
  }
  return room;
}

Layout LayoutOf(const Table& table, const ResultsStyle& style) {
  Layout layout;
  for (const TableAxisEntry& row : table.rows()) {
    layout.group_width = std::max(layout.group_width, DisplayWidth(Printable(row.group())));
    layout.label_width = std::max(layout.label_width, DisplayWidth(MarkedLabel(row)));
  }
  layout.spread_width = style.spread ? SpreadWidth(table) : 0;
  for (int c = 0; c < table.columns_size(); ++c) {
    const std::vector<std::string>& header = layout.headers.emplace_back(WrapHeader(Label(table.columns(c))));
    int width = 0;
    // Headers end above the last digit: one column before the mark's.
    for (const std::string& line : header) width = std::max(width, DisplayWidth(line) + 1);
    for (int r = 0; r < table.rows_size(); ++r) {
      width = std::max(width, DisplayWidth(CellText(table, r, c, layout.spread_width, style.published)));
    }
    layout.widths.push_back(width);
  }
  if (style.width > 0) layout.label_width = std::min(layout.label_width, LabelRoom(table, layout, style.width));
  return layout;
}

void AddLine(std::string line, std::string& out) {
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
}

// Prose around a table.
void AddText(const std::string& text, int width, std::string& out) { out += Prose("", text, width) + "\n"; }

// What the marks mean, each with its mark on one line.
void AddLegend(const std::vector<std::string>& legend, int width, std::string& out) {
  std::string line;
  for (const std::string& part : legend) {
    if (width > 0 && !line.empty() && DisplayWidth(line) + 2 + DisplayWidth(part) >= width) {
      out += line + ";\n";
      line.clear();
    }
    line += (line.empty() ? "" : "; ") + part;
  }
  if (!line.empty()) AddText(line, width, out);
}

void AddHeader(const Layout& layout, const ColumnBlock& block, bool color, std::string& out) {
  size_t lines = 0;
  for (size_t c = block.begin; c < block.end; ++c) lines = std::max(lines, layout.headers[c].size());
  for (size_t l = 0; l < lines; ++l) {
    std::string line = PadRight("", layout.Left());
    for (size_t c = block.begin; c < block.end; ++c) {
      const std::vector<std::string>& header = layout.headers[c];
      // Short headers stand at the bottom.
      const size_t blank = lines - header.size();
      line += "  " + PadLeft((l < blank ? "" : header[l - blank]) + " ", layout.widths[c]);
    }
    if (color) line = "\x1b[1m" + line + "\x1b[0m";
    AddLine(line, out);
  }
}

void AddRow(const Table& table, int r, const Layout& layout, const ColumnBlock& block, const ResultsStyle& style, std::string& out) {
  const TableAxisEntry& row = table.rows(r);
  const bool new_group = r == 0 || table.rows(r - 1).group() != row.group();
  if (r > 0 && new_group) out += "\n";
  std::string line;
  if (layout.group_width > 0) line += PadRight(new_group ? Printable(row.group()) : "", layout.group_width + 2);
  const std::string label = MarkedLabel(row);
  std::vector<std::string> labels = {label};
  if (DisplayWidth(label) > layout.label_width) labels = WrapWords(label, layout.label_width);
  if (labels.empty()) labels = {""};  // Of blanks alone.
  line += PadRight(labels.front(), layout.label_width);
  for (int c = static_cast<int>(block.begin); c < static_cast<int>(block.end); ++c) {
    const std::string text = PadLeft(CellText(table, r, c, layout.spread_width, style.published), layout.widths[static_cast<size_t>(c)]);
    line += "  " + (style.color && CellAt(table, r, c).best() ? "\x1b[1m" + text + "\x1b[0m" : text);
  }
  AddLine(line, out);
  for (size_t l = 1; l < labels.size(); ++l) AddLine(PadRight("", layout.Left() - layout.label_width) + labels[l], out);
}

std::string AsTable(const Table& table, const ResultsStyle& style) {
  const Layout layout = LayoutOf(table, style);
  std::string out;
  if (!table.title().empty()) {
    AddText(Printable(table.title()), style.width, out);
    out += "\n";
  }
  for (const ColumnBlock& block : ColumnBlocks(layout.Left(), layout.widths, style.width)) {
    AddHeader(layout, block, style.color, out);
    for (int r = 0; r < table.rows_size(); ++r) AddRow(table, r, layout, block, style, out);
    out += "\n";
  }
  AddLegend(Legend(table, style, {}), style.width, out);
  if (const std::string gain = GainLine(table); !gain.empty()) AddText(gain, style.width, out);
  for (const std::string& note : table.notes()) AddText("note: " + Printable(note), style.width, out);
  return out;
}

std::string AsMarkdown(const Table& table, const ResultsStyle& style) {
  std::string out;
  if (!table.title().empty()) out += fmt::format("**{}**\n\n", EscapeMarkdown(table.title()));
  const bool groups = HasGroups(table);
  std::string header = groups ? "| | |" : "| |";
  std::string rule = groups ? "| --- | --- |" : "| --- |";
  for (const TableAxisEntry& column : table.columns()) {
    header += fmt::format(" {} |", EscapeMarkdown(Label(column)));
    rule += " ---: |";
  }
  out += header + "\n" + rule + "\n";
  for (int r = 0; r < table.rows_size(); ++r) {
    const TableAxisEntry& row = table.rows(r);
    out += groups ? fmt::format("| {} | {}{} |", EscapeMarkdown(row.group()), EscapeMarkdown(Label(row)),
                                IsMarked(row) ? "†" : "")
                  : fmt::format("| {}{} |", EscapeMarkdown(Label(row)), IsMarked(row) ? "†" : "");
    for (int c = 0; c < table.columns_size(); ++c) {
      const TableCell& cell = CellAt(table, r, c);
      std::string text = cell.has_measured() ? ShownNumber(cell.measured(), table) : "-";
      if (cell.has_measured() && cell.best()) text = "**" + text + "**";
      if (const std::string spread = SpreadText(cell, table); style.spread && !spread.empty()) text += " ± " + spread;
      if (style.published && cell.has_published()) {
        const std::string value = EscapeMarkdown(PublishedText(cell, table));
        text += cell.published_best() ? fmt::format(" (**{}**)", value) : fmt::format(" ({})", value);
      }
      out += fmt::format(" {} |", text);
    }
    out += "\n";
  }
  if (const std::vector<std::string> legend = Legend(table, style, {.best = "bold:", .missing = "\\-"}); !legend.empty()) {
    out += fmt::format("\n{}\n", Join(legend, "; "));
  }
  if (const std::string gain = GainLine(table); !gain.empty()) {
    out += fmt::format("\n{}\n", EscapeMarkdown(gain));
  }
  for (const std::string& note : table.notes()) out += fmt::format("\nNote: {}\n", EscapeMarkdown(note));
  return out;
}

// As GridAsLatex().
std::string AsLatex(const Table& table, const ResultsStyle& style) {
  const bool groups = HasGroups(table);
  std::string out;
  if (!table.title().empty()) out += fmt::format("% {}\n", Printable(table.title()));
  out += kNeedsBooktabs;
  out += fmt::format("\\begin{{tabular}}{{{}{}}}\n\\toprule\n{}", groups ? "ll" : "l", std::string(table.columns_size(), 'r'), groups ? " & " : "");
  for (const TableAxisEntry& column : table.columns()) out += " & " + EscapeLatex(Label(column));
  out += " \\\\\n\\midrule\n";
  for (int r = 0; r < table.rows_size(); ++r) {
    const TableAxisEntry& row = table.rows(r);
    const bool new_group = r == 0 || table.rows(r - 1).group() != row.group();
    if (r > 0 && new_group) out += "\\midrule\n";
    if (groups) out += (new_group ? EscapeLatex(row.group()) : "") + " & ";
    out += EscapeLatex(Label(row)) + (IsMarked(row) ? "$^\\dagger$" : "");
    for (int c = 0; c < table.columns_size(); ++c) {
      const TableCell& cell = CellAt(table, r, c);
      std::string text = cell.has_measured() ? LatexNumber(ShownNumber(cell.measured(), table)) : "--";
      if (cell.has_measured() && cell.best()) text = fmt::format("\\textbf{{{}}}", text);
      if (const std::string spread = SpreadText(cell, table); style.spread && !spread.empty()) text += " $\\pm$ " + spread;
      if (style.published && cell.has_published()) {
        const std::string value = EscapeLatex(PublishedText(cell, table));
        text += cell.published_best() ? fmt::format(" (\\textbf{{{}}})", value) : fmt::format(" ({})", value);
      }
      out += " & " + text;
    }
    out += " \\\\\n";
  }
  out += "\\bottomrule\n\\end{tabular}\n";
  if (const std::vector<std::string> legend = Legend(table, style, {.best = "bold:", .invariant = "dagger:", .missing = "--:"}); !legend.empty()) out += fmt::format("% {}\n", Join(legend, "; "));
  if (const std::string gain = GainLine(table); !gain.empty()) out += fmt::format("% {}\n", gain);
  for (const std::string& note : table.notes()) out += fmt::format("% note: {}\n", Printable(note));
  return out;
}

// One line for each cell, with all that is known about it: what pandas and R want.
std::string AsCsv(const Table& table, const v1::TableSpec& spec, const std::string& sweep, bool header) {
  const auto number_or_missing = [](bool has, double value) {
    return has ? NumberCell(value) : MissingCell();
  };
  // Tables of several sweeps have axes and metrics of their own, and together one header.
  const bool several = !sweep.empty();
  const std::vector<std::string> row_axes = AxesIn(spec.rows()), column_axes = AxesIn(spec.columns());
  Grid grid;
  if (several) grid.columns = {{.key = "sweep"}, {.key = "rows"}, {.key = "row"}, {.key = "columns"}, {.key = "column"}, {.key = "metric"}, {.key = "value"}};
  else {
    for (const std::vector<std::string>& axes : {row_axes, column_axes}) {
      for (const std::string& axis : axes) grid.columns.push_back({.key = axis});
    }
    grid.columns.push_back({.key = table.metric()});
  }
  for (const char* key : {"unit", "published", "best", "jobs", "succeeded", "diverged", "failed", "measured_jobs", "median", "deviation", "published_text"}) {
    grid.columns.push_back({.key = key});
  }
  const bool best_of = several || !spec.best_of().empty();
  if (best_of) grid.columns.push_back({.key = "best_of"});
  for (int r = 0; r < table.rows_size(); ++r) {
    for (int c = 0; c < table.columns_size(); ++c) {
      const TableCell& cell = CellAt(table, r, c);
      std::vector<GridCell>& line = grid.rows.emplace_back();
      const std::string &row = table.rows(r).key(), &column = table.columns(c).key();
      if (several) {
        line = {TextCell(sweep), TextCell(spec.rows()), TextCell(row), TextCell(spec.columns()), TextCell(column), TextCell(table.metric())};
      } else {
        for (const std::string& key : SplitKeys(row, row_axes.size())) line.push_back(TextCell(key));
        for (const std::string& key : SplitKeys(column, column_axes.size())) line.push_back(TextCell(key));
      }
      const std::vector<GridCell> values = {number_or_missing(cell.has_measured(), cell.measured()),
                                            TextCell(table.unit()),
                                            number_or_missing(cell.has_published(), cell.published()),
                                            BoolCell(cell.best()),
                                            NumberCell(cell.jobs()),
                                            NumberCell(cell.succeeded()),
                                            NumberCell(cell.diverged()),
                                            NumberCell(cell.failed()),
                                            NumberCell(cell.measured_jobs()),
                                            number_or_missing(cell.has_median(), cell.median()),
                                            number_or_missing(cell.has_deviation(), cell.deviation()),
                                            cell.published_text().empty() ? MissingCell() : TextCell(cell.published_text())};
      line.insert(line.end(), values.begin(), values.end());
      if (best_of) line.push_back(cell.best_of().empty() ? MissingCell() : TextCell(cell.best_of()));
    }
  }
  return GridAsCsv(grid, header);
}

}  // namespace

std::string ShownNumber(double value, const v1::Table& table) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  if (table.unit() == "%") return WithoutMinusOfZero(fmt::format("{:.1f}", value));
  const double size = std::abs(value);
  return size != 0 && (size < 0.01 || size >= 1e6) ? fmt::format("{:.3g}", value)
                                                   : WithoutMinusOfZero(fmt::format("{:.3f}", value));
}

std::string RenderResults(const Table& table, const v1::TableSpec& spec, Format format,
                          const ResultsStyle& style) {
  ResultsStyle shown = style;
  shown.published = style.published && HasPublished(table);
  switch (format) {
    case Format::kTable: return AsTable(table, shown);
    case Format::kCsv: return AsCsv(table, spec, shown.sweep, shown.header);
    case Format::kJson: return JsonDocument(table);
    case Format::kMarkdown: return AsMarkdown(table, shown);
    case Format::kLatex: return AsLatex(table, shown);
  }
  return "";
}

}  // namespace longreach::client
