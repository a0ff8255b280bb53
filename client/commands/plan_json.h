// A plan as JSON: hours that nobody knows are null, where the message has 0.
#pragma once

#include <string>

#include "longreach/v1/api.pb.h"

namespace longreach::client {

// Hours are worked out from workers' speed, which may not have been measured yet; of a sweep of which all is done they are 0.
bool HoursAreKnown(const v1::Plan& plan);

// `message` is `plan`, or has it.
std::string JsonWithPlan(const google::protobuf::Message& message, const v1::Plan& plan);

}  // namespace longreach::client
