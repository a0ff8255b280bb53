#include "client/commands/plan_json.h"

#include "client/output/json.h"

namespace longreach::client {

bool NothingIsToRun(const v1::Plan& plan) {
  // Of what an older scheduler says, none has failed.
  return plan.jobs() == plan.done() || (plan.jobs() == plan.done() + plan.failed() && plan.packs() == 0);
}

bool HoursAreKnown(const v1::Plan& plan) { return NothingIsToRun(plan) || !(plan.hours() <= 0); }

std::string JsonWithPlan(const google::protobuf::Message& message, const v1::Plan& plan) {
  const std::string json = JsonOf(message);
  return HoursAreKnown(plan) ? json : WithNulls(json, {"hours", "hours_low", "hours_high"});
}

}  // namespace longreach::client
