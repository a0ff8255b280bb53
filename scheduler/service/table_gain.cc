#include "scheduler/service/table_gain.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "proto/catalog/aggregates.h"
#include "proto/catalog/draws.h"
#include "proto/catalog/encoding_name.h"

namespace longreach::service {
namespace {

// What pairs have in common that are one draw: of the place beside encodings that has this key, and of this encoding.
std::string DrawOf(const TableSide& beside, const std::string& key, const std::string& encoding) {
  if (beside.Has("task")) return beside.KeyOn("task", key);
  const bool of_values = std::ranges::all_of(beside.axes(), [](const std::string& axis) { return IsOfValues(axis); });
  return of_values ? encoding : beside.JobsKeyOf(key);
}

// The differences of a table's pairs, by their draws.
struct Differences {
  std::map<std::string, std::vector<double>> by_draw;
  double largest = 0;  // Of the values, without its sign.
  double published = 0;
  int published_pairs = 0;

  void Add(const v1::TableCell& with, const v1::TableCell& without, const std::string& draw) {
    if (with.has_measured() && without.has_measured()) {
      by_draw[draw].push_back(with.measured() - without.measured());
      largest = std::max({largest, std::abs(with.measured()), std::abs(without.measured())});
    }
    if (with.has_published() && without.has_published()) {
      published += with.published() - without.published();
      ++published_pairs;
    }
  }
};

void SetMeasuredGain(Differences differences, v1::Table& table) {
  std::vector<double> all;
  std::vector<catalog::Draw> draws;
  for (auto& [name, own] : differences.by_draw) {
    std::ranges::sort(own);
    draws.push_back({.pairs = static_cast<int>(own.size()), .mean = catalog::MeanOf(own)});
    all.insert(all.end(), own.begin(), own.end());
  }
  if (all.empty()) return;
  std::ranges::sort(all);
  table.set_gain(catalog::MeanOf(all));
  table.set_gain_pairs(static_cast<int>(all.size()));
  if (draws.size() > 1) table.set_gain_error(std::sqrt(catalog::SquaredErrorOfMean(draws, table.gain(), differences.largest)));
}

}  // namespace

int AddGain(const TableSide& rows, const TableSide& columns, v1::Table& table) {
  const bool in_columns = columns.Is("encoding");
  if (!in_columns && !rows.Is("encoding")) return 0;
  const auto& encodings = in_columns ? table.columns() : table.rows();
  const auto& places = in_columns ? table.rows() : table.columns();
  const auto cell_of = [&](int encoding, int place) -> const v1::TableCell& {
    const int row = in_columns ? place : encoding;
    const int column = in_columns ? encoding : place;
    return table.cells(row * table.columns_size() + column);
  };
  Differences differences;
  for (int randomized = 0; randomized < encodings.size(); ++randomized) {
    for (int plain = 0; plain < encodings.size(); ++plain) {
      const std::string& name = encodings[plain].key();
      if (encodings[randomized].key() != catalog::ToText({.name = name, .randomized = true})) continue;
      for (int place = 0; place < places.size(); ++place) {
        differences.Add(cell_of(randomized, place), cell_of(plain, place), DrawOf(in_columns ? rows : columns, places[place].key(), name));
      }
    }
  }
  const int published_pairs = differences.published_pairs;
  if (published_pairs > 0) table.set_published_gain_of_cells(differences.published / published_pairs);
  SetMeasuredGain(std::move(differences), table);
  return published_pairs;
}

}  // namespace longreach::service
