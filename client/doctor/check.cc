#include "client/doctor/check.h"

#include <algorithm>

namespace longreach::client {
namespace {

void Append(std::string& text, std::string_view more) {
  if (more.empty()) return;
  if (!text.empty()) text += "; ";
  text += more;
}

}  // namespace

std::string_view WordOfCheck(CheckState state) {
  switch (state) {
    case CheckState::kNotAsked: break;
    case CheckState::kOk: return "ok";
    case CheckState::kWarning: return "warning";
    case CheckState::kFailed: return "failed";
  }
  return "not_asked";
}

std::string_view ShownCheck(CheckState state) { return state == CheckState::kNotAsked ? "not asked" : WordOfCheck(state); }

bool AnyFailed(const std::vector<Check>& checks) { return std::ranges::find(checks, CheckState::kFailed, &Check::state) != checks.end(); }

Check NotAsked(std::string_view name, std::string_view why) { return {.name = std::string(name), .state = CheckState::kNotAsked, .seen = std::string(why), .advice = {}}; }

void Findings::Add(CheckState state, std::string_view seen, std::string_view advice) {
  check_.state = std::max(check_.state, state);
  Append(check_.seen, seen);
  Append(check_.advice, advice);
}

}  // namespace longreach::client
