// The measured table of a sweep in the paper's shape: rows in groups, the best of each row marked, measured
// beside published, the gain of randomized positions below.
#pragma once

#include <string>

#include "client/output/grid.h"
#include "longreach/v1/api.pb.h"

namespace longreach::client {

struct ResultsStyle {
  // Print published values in parentheses behind the measured ones.
  bool published = false;
  // Print the standard deviation of a cell's jobs behind their aggregate.
  bool spread = false;
  // Bold the best of each row and the header (terminals only).
  bool color = false;
  // As text: columns of the terminal, which a table that is wider keeps to in blocks of its columns, below each other; 0: it is printed as wide as
  // it is.
  int width = 0;
  // In CSV, of one of several sweeps: a first column of its name, and columns that all tables have. Empty: it is the only one.
  std::string sweep = {};
  // In CSV: with a line of column names, as of the first of several sweeps.
  bool header = true;
};

// `spec` is what the table was asked for by: it names the axes.
std::string RenderResults(const v1::Table& table, const v1::TableSpec& spec, Format format,
                          const ResultsStyle& style);

// A value of the table for people: percent as the papers print them; other units with three decimals, or as many digits where that would
// hide the value.
std::string ShownNumber(double value, const v1::Table& table);

}  // namespace longreach::client
