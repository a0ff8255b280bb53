// Tables from a scheduler that may say anything: whatever the texts in them, every format stays what it is.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "client/output/json.h"
#include "client/output/results_table.h"
#include "client/output/text.h"
#include "tests/fuzz/draw.h"
#include "tests/fuzz/must.h"

using longreach::client::Format;
using longreach::fuzz::Must;

namespace {

const longreach::fuzz::Known& KnownWords() {
  static const longreach::fuzz::Known known = {
      {"task", "encoding", "learning_rate", "seed", "accuracy", "loss", "mean", "max", "percent", "even_pairs", "rope", "rope:randomized",
       "R", "DCF", "permutation_invariant", "", "=1+1", "\x1b[31m", "a|b", "\\input{x}", "<b>", "a,\"b\"\r\n", "table_b1"},
      {0, 1, 2, 3}};
  return known;
}

// The table's texts as a plain grid, as other commands print theirs.
longreach::client::Grid GridOf(const longreach::v1::Table& table) {
  using longreach::client::GridCell;
  longreach::client::Grid grid;
  grid.columns = {{"key", "KEY"}, {"label", "LABEL"}, {"value", "VALUE", true}, {"best", "BEST"}};
  for (const longreach::v1::TableAxisEntry& row : table.rows()) {
    const double value = table.cells_size() > 0 ? table.cells(0).measured() : 0;
    grid.rows.push_back({longreach::client::TextCell(row.key()), GridCell{.value = row.key(), .shown = row.label()},
                         row.mark().empty() ? longreach::client::MissingCell() : longreach::client::NumberCell(value),
                         longreach::client::BoolCell(!row.group().empty())});
  }
  return grid;
}

void MustBeInert(const longreach::client::Grid& grid) {
  for (const std::string& text : {GridAsTable(grid, false), GridAsTable(grid, false, 20), GridAsCsv(grid), GridAsMarkdown(grid), GridAsLatex(grid)}) {
    std::string plain;
    for (const char c : text) plain += c == '\t' ? ' ' : c;
    Must(longreach::client::Printable(plain, true) == plain, "nothing that a terminal obeys", text);
  }
  Must(nlohmann::json::accept(GridAsJson(grid)), "JSON is JSON");
  for (const Format format : {Format::kTable, Format::kCsv, Format::kJson, Format::kMarkdown, Format::kLatex}) {
    Must(!longreach::client::FormatName(format).empty(), "every format has a name");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  longreach::fuzz::Draw draw(std::string_view(reinterpret_cast<const char*>(data), size), KnownWords());
  longreach::v1::Table table;
  longreach::v1::TableSpec spec;
  spec.set_rows("task");
  spec.set_columns("encoding");
  spec.set_metric("accuracy");
  spec.set_aggregate("max");
  const uint8_t style = draw.Byte();
  const int rows = draw.Byte() % 5;
  const int columns = draw.Byte() % 5;
  draw.Fill(spec);
  for (int i = 0; i < rows; ++i) draw.Fill(*table.add_rows());
  for (int i = 0; i < columns; ++i) draw.Fill(*table.add_columns());
  for (int i = 0; i < rows * columns; ++i) draw.Fill(*table.add_cells());
  draw.Fill(table);

  for (const Format format : {Format::kTable, Format::kCsv, Format::kJson, Format::kMarkdown, Format::kLatex}) {
    const std::string text = longreach::client::RenderResults(table, spec, format, {.published = style % 2 == 1, .color = false, .width = style / 2});
    if (format == Format::kJson) {
      Must(nlohmann::json::accept(text), "JSON is JSON", text);
    } else if (format != Format::kCsv) {
      Must(longreach::client::Printable(text, true) == text, "nothing that a terminal obeys", text);
    }
  }
  MustBeInert(GridOf(table));
  Must(nlohmann::json::accept(longreach::client::JsonDocument(table)), "a message's JSON is JSON");
  return 0;
}
