// What a data set of pairs says of each length, as its manifest has it and 'longreach data list -o json' shows it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "worker/data/pair_lengths.h"

namespace longreach::data {

// A list of objects.
nlohmann::ordered_json JsonOf(std::span<const PairsOfLength> lengths);

}  // namespace longreach::data
