#include "worker/data/pair_lengths.h"

#include <map>

namespace longreach::data {

int64_t CountPairs(std::span<const PairsOfLength> lengths) {
  int64_t pairs = 0;
  for (const PairsOfLength& of : lengths) pairs += of.pairs;
  return pairs;
}

bool HasEnds(std::span<const PairsOfLength> train, std::span<const PairsOfLength> test) {
  std::map<int, int> outputs;  // By length: that of its outputs.
  for (const std::span<const PairsOfLength> split : {train, test}) {
    for (const PairsOfLength& of : split) {
      if (of.shortest_output != of.longest_output) return true;
      if (outputs.emplace(of.length, of.shortest_output).first->second != of.shortest_output) return true;
    }
  }
  return false;
}

bool HavePositions(std::span<const PairsOfLength> lengths) { return !lengths.empty() && lengths.front().highest_position >= 0; }

}  // namespace longreach::data
