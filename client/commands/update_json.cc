#include "client/commands/update_json.h"

#include <utility>

#include "client/output/json.h"

namespace longreach::client {

std::string JsonOfUpdate(const v1::SweepUpdate& update) {
  std::string json = JsonOf(update);
  if (!update.finished() && !(update.seconds_left() > 0)) json = WithNulls(std::move(json), {"seconds_left"});
  if (!update.finished() && !(update.seconds_left_high() > 0)) json = WithNulls(std::move(json), {"seconds_left_low", "seconds_left_high"});
  return JsonDocumentOf(json);
}

}  // namespace longreach::client
