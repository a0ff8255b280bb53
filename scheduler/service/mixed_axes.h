// Tasks, encodings and systems that a table throws together: those of the values in one cell, where they are neither rows nor columns. Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "longreach/v1/api.pb.h"
#include "scheduler/service/table_axes.h"
#include "scheduler/service/table_side.h"

namespace longreach::service {

class MixedAxes {
 public:
  MixedAxes() = default;
  // Of a table with these rows and columns, each cell of one value of `best_of`. Learning rates and seeds are what a value is usually the best of, or the mean.
  MixedAxes(const TableSide& rows, const TableSide& columns, const TableSide& best_of);

  // One more job has a value in a cell; `first`: what that of the cell's first job is of, which is filled in here.
  void Add(std::vector<std::string>& first, const TableJob& job);

  // "cells are the maximum over 2 encodings (none, rope); --columns length,encoding tells them apart". Empty: they are of one each.
  std::string Note(const v1::TableSpec& spec) const;

 private:
  struct Axis {
    std::string_view name;
    std::set<std::string> keys = {};  // Of cells that have several.
  };
  std::vector<Axis> axes_;
};

}  // namespace longreach::service
