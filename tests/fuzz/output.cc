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
    const std::string text = longreach::client::RenderResults(table, spec, format, {.published = style % 2 == 1, .color = false});
    if (format == Format::kJson) {
      Must(nlohmann::json::accept(text), "JSON is JSON", text);
    } else if (format != Format::kCsv) {
      Must(longreach::client::Printable(text, true) == text, "nothing that a terminal obeys", text);
    }
  }
  Must(nlohmann::json::accept(longreach::client::JsonDocument(table)), "a message's JSON is JSON");
  return 0;
}
