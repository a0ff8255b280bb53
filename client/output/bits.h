// Entropies are stored in nats; some papers have them in bits.
#pragma once

#include <string_view>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"

namespace longreach::client {

// A table in nats becomes the same in bits, its title too. One of another unit stays as it is: then false.
bool TurnIntoBits(v1::Table& table);
// What --bits is refused with where there are no nats.
absl::Status NoBits(std::string_view metric);

}  // namespace longreach::client
