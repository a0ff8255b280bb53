// What a data set of pairs says of each length: how many pairs it has, how long their outputs are, and up to which position they go.
#pragma once

#include <cstdint>
#include <span>

namespace longreach::data {

struct PairsOfLength {
  int length = 0;           // Input symbols.
  int64_t pairs = 0;
  int shortest_output = 0;  // Output symbols.
  int longest_output = 0;
  int highest_position = -1;  // -1: the data set has no positions.
  friend bool operator==(const PairsOfLength&, const PairsOfLength&) = default;
};

// Of all lengths together.
int64_t CountPairs(std::span<const PairsOfLength> lengths);

// Whether outputs of one input length have different lengths, in one of the splits or between them. Then a model has to say where an output
// ends, by one more class behind the output symbols.
bool HasEnds(std::span<const PairsOfLength> train, std::span<const PairsOfLength> test);

// Whether pairs say where their symbols stand; all of a data set do, or none.
bool HavePositions(std::span<const PairsOfLength> lengths);

}  // namespace longreach::data
