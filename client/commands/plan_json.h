// What a plan's numbers mean; and a plan as JSON: hours that nobody knows are null, where the message has 0.
#pragma once

#include <string>

#include "longreach/v1/api.pb.h"

namespace longreach::client {

// All is done, or has failed and stays so, with nothing that it needs left either.
bool NothingIsToRun(const v1::Plan& plan);

// Hours are worked out from workers' speed, which may not have been measured yet; of a sweep of which nothing is to run they are 0.
bool HoursAreKnown(const v1::Plan& plan);

// `message` is `plan`, or has it.
std::string JsonWithPlan(const google::protobuf::Message& message, const v1::Plan& plan);

}  // namespace longreach::client
