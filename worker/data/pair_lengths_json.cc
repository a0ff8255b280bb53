#include "worker/data/pair_lengths_json.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace longreach::data {

nlohmann::ordered_json JsonOf(std::span<const PairsOfLength> lengths) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const PairsOfLength& of : lengths) {
    nlohmann::ordered_json one = {{"length", of.length}, {"pairs", of.pairs}, {"shortest_output", of.shortest_output}, {"longest_output", of.longest_output}};
    if (of.highest_position >= 0) one["highest_position"] = of.highest_position;
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace longreach::data
