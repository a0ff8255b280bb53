#include "client/output/column_blocks.h"

namespace longreach::client {

std::vector<ColumnBlock> ColumnBlocks(int left, const std::vector<int>& widths, int width) {
  std::vector<ColumnBlock> blocks = {{.begin = 0, .end = 0}};
  int used = left;
  for (size_t c = 0; c < widths.size(); ++c) {
    const int more = 2 + widths[c];
    const bool is_first = blocks.back().begin == blocks.back().end;
    if (width > 0 && !is_first && used + more > width) {
      blocks.push_back({.begin = c, .end = c});
      used = left;
    }
    used += more;
    blocks.back().end = c + 1;
  }
  return blocks;
}

}  // namespace longreach::client
