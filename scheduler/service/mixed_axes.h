// Tasks, encodings and systems that a table throws together: those of the values in one cell, where they are neither rows nor columns. Pure.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "longreach/v1/api.pb.h"
#include "scheduler/service/table_axes.h"
#include "scheduler/service/table_cell.h"
#include "scheduler/service/table_side.h"

namespace longreach::service {

class MixedAxes {
 public:
  MixedAxes() = default;
  // Of a table with these rows and columns. Learning rates and seeds are what a value is usually the best of, or the mean.
  MixedAxes(const TableSide& rows, const TableSide& columns);

  // One more job has a value among those of a cell that have the same value of TableSpec.best_of.
  void Add(Mixture& mixture, const TableJob& job) const;
  // These are the values that their cell is made of.
  void Count(const Mixture& mixture);

  // "cells are the maximum over 2 encodings (none, rope); --columns length,encoding tells them apart", and where none has all "over up to 2 of 4 encodings".
  // Empty: they are of one each.
  std::string Note(const v1::TableSpec& spec) const;

 private:
  struct Axis {
    std::string_view name;
    std::set<std::string> keys = {};  // Of cells that have several.
    size_t most = 0;                  // In one of them.
  };
  std::vector<Axis> axes_;
};

}  // namespace longreach::service
