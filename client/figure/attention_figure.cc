#include "client/figure/attention_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "proto/base/text.h"

namespace longreach::client {
namespace {

constexpr int kTextScale = 2;
constexpr int kMargin = 16;
constexpr int kTick = 5;
constexpr int kLegendHeight = 16;
// Of the values above 0, the part that may lie beyond a panel's own scale.
constexpr double kBeyond = 0.01;
constexpr int kPanelsInARow = 4;

int LineHeight() { return Canvas::TextHeight(kTextScale) + 6; }

struct Layout {
  int64_t pool = 1;       // Pairs a side of a pixel.
  int magnify = 1;        // Pixels a side of a pair.
  int side = 0;           // Of a panel, in pixels.
  int columns = 1, rows = 1;
  int left = 0, below = 0;  // Room for the ticks.
  int cell_width = 0, cell_height = 0;
};

Layout LayOut(const AttentionSeries& series) {
  Layout layout;
  const int64_t tape = series.tape(), most = series.layers() > 64 ? 128 : 512;
  layout.pool = (tape + most - 1) / most;
  layout.magnify = layout.pool == 1 ? static_cast<int>(most / tape) : 1;
  layout.side = static_cast<int>((tape + layout.pool - 1) / layout.pool) * layout.magnify;
  const int layers = static_cast<int>(series.layers());
  layout.rows = (layers + kPanelsInARow - 1) / kPanelsInARow;
  layout.columns = (layers + layout.rows - 1) / layout.rows;
  layout.left = Canvas::TextWidth(fmt::to_string(tape), kTextScale) + kTick + 4;
  layout.below = Canvas::TextHeight(kTextScale) + kTick + 4;
  layout.cell_width = std::max(layout.left + layout.side, Canvas::TextWidth("layer 1000: 0 to 0.0001", kTextScale)) + kMargin;
  layout.cell_height = LineHeight() + layout.side + layout.below + kMargin;
  return layout;
}

// The largest value of each pixel's pairs, row by row.
std::vector<float> Pooled(const AttentionSeries& series, int64_t layer, int64_t pool) {
  const int64_t tape = series.tape(), side = (tape + pool - 1) / pool;
  std::vector<float> pooled(static_cast<size_t>(side * side), 0.0f);
  for (int64_t query = 0; query < tape; ++query) {
    for (int64_t key = 0; key < tape; ++key) {
      float& most = pooled[static_cast<size_t>(query / pool * side + key / pool)];
      most = std::max(most, series.At(layer, query, key));
    }
  }
  return pooled;
}

double OwnScale(std::vector<float> values) {
  std::erase_if(values, [](float value) { return value <= 0; });
  if (values.empty()) return 1;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::floor((1 - kBeyond) * static_cast<double>(values.size() - 1)));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// 0, and powers of two apart so that a panel has at most four steps.
int64_t TickStep(int64_t tape) {
  int64_t step = 1;
  while (step * 4 < tape) step *= 2;
  return step;
}

// Words in lines of at most this width.
std::vector<std::string> Wrap(const std::string& text, int width) {
  std::vector<std::string> lines = {""};
  for (const std::string& word : Split(text, ' ')) {
    const std::string longer = lines.back().empty() ? word : lines.back() + " " + word;
    if (lines.back().empty() || Canvas::TextWidth(longer, kTextScale) <= width) {
      lines.back() = longer;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

void DrawTicks(const Layout& layout, int64_t tape, int x, int y, Canvas& canvas) {
  const int scale = kTextScale;
  int right = 0;  // Of the label before, so that none runs into the next.
  for (int64_t position = 0; position < tape; position += TickStep(tape)) {
    const std::string label = fmt::to_string(position);
    const int at = static_cast<int>(position / layout.pool) * layout.magnify + layout.magnify / 2;
    canvas.Fill(x - kTick, y + at, kTick, 1, kBlack);
    canvas.Text(x - kTick - 4 - Canvas::TextWidth(label, scale), y + at - (position == 0 ? 0 : Canvas::TextHeight(scale) / 2), label, scale);
    canvas.Fill(x + at, y + layout.side, 1, kTick, kBlack);
    const int left = x + at - (position == 0 ? 0 : Canvas::TextWidth(label, scale) / 2);
    if (left < right) continue;
    canvas.Text(left, y + layout.side + kTick + 2, label, scale);
    right = left + Canvas::TextWidth(label, scale) + 4;
  }
}

void DrawPanel(const AttentionSeries& series, int64_t layer, const Layout& layout, std::optional<double> most, int x, int y, Canvas& canvas) {
  const std::vector<float> values = Pooled(series, layer, layout.pool);
  const double scale = most ? *most : OwnScale(values);
  x += layout.left;
  canvas.Text(x, y, fmt::format("layer {}: 0 to {:.2g}", layer + 1, scale), kTextScale);
  y += LineHeight();
  const int side = layout.side / layout.magnify;
  for (int row = 0; row < side; ++row) {
    for (int column = 0; column < side; ++column) {
      const double value = values[static_cast<size_t>(row) * static_cast<size_t>(side) + static_cast<size_t>(column)];
      canvas.Fill(x + column * layout.magnify, y + row * layout.magnify, layout.magnify, layout.magnify, LevelOf(value / scale));
    }
  }
  DrawTicks(layout, series.tape(), x, y, canvas);
}

void DrawLegend(int x, int y, int width, Canvas& canvas) {
  canvas.Text(x, y, "0", kTextScale);
  const int left = x + Canvas::TextWidth("0 ", kTextScale);
  for (int i = 0; i < width; ++i) canvas.Fill(left + i, y, 1, kLegendHeight, LevelOf(static_cast<double>(i) / (width - 1)));
  canvas.Text(left + width + Canvas::TextWidth(" ", kTextScale), y, "and more", kTextScale);
}

}  // namespace

Canvas DrawAttention(const AttentionSeries& series, const AttentionFigure& figure) {
  const Layout layout = LayOut(series);
  const int width = kMargin + layout.columns * layout.cell_width;
  const std::vector<std::string> lines = Wrap(figure.title, width - 2 * kMargin);
  const int head = kMargin + static_cast<int>(lines.size()) * LineHeight() + kMargin / 2;
  Canvas canvas(width, head + layout.rows * layout.cell_height + kLegendHeight + kMargin);
  for (size_t i = 0; i < lines.size(); ++i) canvas.Text(kMargin, kMargin + static_cast<int>(i) * LineHeight(), lines[i], kTextScale);
  for (int64_t layer = 0; layer < series.layers(); ++layer) {
    const int column = static_cast<int>(layer) % layout.columns, row = static_cast<int>(layer) / layout.columns;
    DrawPanel(series, layer, layout, figure.most, kMargin + column * layout.cell_width, head + row * layout.cell_height, canvas);
  }
  DrawLegend(kMargin + layout.left, canvas.height() - kLegendHeight - kMargin, std::min(layout.side, 256), canvas);
  return canvas;
}

}  // namespace longreach::client
