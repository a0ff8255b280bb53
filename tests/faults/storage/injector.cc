#include "tests/faults/storage/injector.h"

#include <cerrno>
#include <csignal>

namespace longreach::faults {
namespace {

bool armed = false;
Plan plan;
Seen seen;

}  // namespace

void Arm(const Plan& next) {
  plan = next;
  seen = {};
  armed = true;
}

Seen Disarm() {
  armed = false;
  return seen;
}

std::optional<Harm> Strike(Layer layer) {
  if (!armed || layer != plan.layer) return std::nullopt;
  ++seen.calls;
  if (plan.nth == 0 || seen.calls < plan.nth || (seen.calls > plan.nth && !plan.from_then_on)) return std::nullopt;
  ++seen.struck;
  if (plan.harm == Harm::kKill) raise(SIGKILL);
  return plan.harm;
}

int ErrnoOf(Harm harm) {
  switch (harm) {
    case Harm::kFull: return ENOSPC;
    case Harm::kNoMemory: return ENOMEM;
    default: return EIO;
  }
}

std::string_view NameOf(Harm harm) {
  switch (harm) {
    case Harm::kIo: return "io";
    case Harm::kFull: return "full";
    case Harm::kNoMemory: return "memory";
    case Harm::kKill: return "kill";
  }
  return "?";
}

std::string_view NameOf(Layer layer) {
  switch (layer) {
    case Layer::kCalls: return "calls";
    case Layer::kMemory: return "memory";
    case Layer::kNew: return "new";
  }
  return "?";
}

}  // namespace longreach::faults
