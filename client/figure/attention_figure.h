// Attention matrices as a drawing: a panel for each layer, queries downwards and keys to the right.
#pragma once

#include <optional>
#include <string>

#include "client/figure/attention_series.h"
#include "client/figure/canvas.h"

namespace longreach::client {

struct AttentionFigure {
  std::string title;
  // Where the colours end, in all panels. Absent: in each panel at the value that one in a hundred of its own exceeds.
  std::optional<double> most = {};
};

// A panel has at most 512 pixels a side (128 where there are more than 64 layers): a pixel is one pair of query and key or more, then
// it shows the largest of them; shorter tapes are magnified.
Canvas DrawAttention(const AttentionSeries& series, const AttentionFigure& figure);

}  // namespace longreach::client
