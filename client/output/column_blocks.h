// Which columns of a table stand beside each other on a terminal that has not room for all of them.
#pragma once

#include <cstddef>
#include <vector>

namespace longreach::client {

struct ColumnBlock {
  size_t begin = 0;
  size_t end = 0;  // Behind the last.
};

// Columns of these widths in order, as many in each block as fit into lines of `width`: each line of a block begins with `left`, which says what row it
// is, and has two blanks before each column. What is too wide by itself is a block of its own. There is a block in any case, and with a `width` of 0
// no second one.
std::vector<ColumnBlock> ColumnBlocks(int left, const std::vector<int>& widths, int width);

}  // namespace longreach::client
