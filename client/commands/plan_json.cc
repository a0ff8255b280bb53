#include "client/commands/plan_json.h"

#include <string_view>

#include "client/output/json.h"

namespace longreach::client {

bool NothingIsToRun(const v1::Plan& plan) {
  // Of what an older scheduler says, none has failed.
  return plan.jobs() == plan.done() || (plan.jobs() == plan.done() + plan.failed() && plan.packs() == 0);
}

bool HoursAreKnown(const v1::Plan& plan) { return NothingIsToRun(plan) || !(plan.hours() <= 0); }

std::string JsonWithPlan(const google::protobuf::Message& message, const v1::Plan& plan) {
  std::string json = JsonOf(message);
  if (HoursAreKnown(plan)) return json;
  // Within a text the quotes are escaped, so that it has none of these.
  for (const std::string_view key : {"\"hours\":", "\"hours_low\":", "\"hours_high\":"}) {
    const size_t at = json.find(key);
    if (at == std::string::npos) continue;
    const size_t value = at + key.size();
    json.replace(value, json.find_first_of(",}", value) - value, "null");
  }
  return json;
}

}  // namespace longreach::client
