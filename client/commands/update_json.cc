#include "client/commands/update_json.h"

#include "client/output/json.h"

namespace longreach::client {

std::string JsonOfUpdate(const v1::SweepUpdate& update) {
  const bool is_known = update.finished() || update.seconds_left() > 0;
  const std::string json = JsonOf(update);
  return JsonDocumentOf(is_known ? json : WithNulls(json, {"seconds_left"}));
}

}  // namespace longreach::client
