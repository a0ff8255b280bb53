// How a sweep gets on, as JSON: seconds that nobody knows are null, where the message has 0.
#pragma once

#include <string>

#include "longreach/v1/api.pb.h"

namespace longreach::client {

// One document, with the schema. Of a sweep that is finished 0 seconds are left.
std::string JsonOfUpdate(const v1::SweepUpdate& update);

}  // namespace longreach::client
