// Entries of a table by their numbers, wherever the table lies.
#pragma once

#include <vector>

#include "worker/trainer/sent.h"
#include "worker/trainer/torch.h"

namespace longreach::trainer {

// table.index_select(dim, entries), with a gradient that sums in a fixed order. On a GPU that of index_select is in the order of
// the moment, and that of an index is sorted first; on a CPU it is the other way round.
inline Tensor Pick(const Tensor& table, int64_t dim, const Tensor& entries) {
  const Tensor there = Sent(entries, table.device());
  if (table.is_cpu()) return table.index_select(dim, there);
  std::vector<at::indexing::TensorIndex> index(static_cast<size_t>(dim < 0 ? dim + table.dim() : dim), at::indexing::Slice());
  index.emplace_back(there);
  return table.index(index);
}

}  // namespace longreach::trainer
