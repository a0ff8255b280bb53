// What randomized positions add in a table whose rows or columns are encodings: the mean gain over all pairs of cells, and how sure it is. Pure.
#pragma once

#include "longreach/v1/table.pb.h"
#include "scheduler/service/table_side.h"

namespace longreach::service {

// Fills in the gain of a table that has its cells, its error, and that of the cells' published values. Returns of how many pairs this one is.
// Pairs of one task are one draw, as in comparisons of one seed: what makes the task hard, or lucky, is in all of them. Where tasks are not beside
// encodings a row (or column) of theirs is one, and where these are lengths or slices alone, whose values are of the same jobs, each encoding.
int AddGain(const TableSide& rows, const TableSide& columns, v1::Table& table);

}  // namespace longreach::service
