#include "scheduler/service/merge_progress.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "scheduler/service/access/refusals.h"

namespace longreach::service {
namespace {

constexpr std::chrono::seconds kBetweenLines{10};

std::string HowFar(const store::MergeStep& step) {
  constexpr double kMegabyte = 1e6;
  switch (step.part) {
    case store::MergeStep::Part::kFiles: return fmt::format("{:.0f} of {:.0f} MB of files are here", step.done / kMegabyte, step.of / kMegabyte);
    case store::MergeStep::Part::kJobs: return fmt::format("{:.0f} of {:.0f} jobs are taken over", step.done, step.of);
  }
  return "";
}

}  // namespace

store::TellMerge SayingHowFar(const Clock& clock, const std::string& path, std::function<void(const std::string&)> say) {
  return [&clock, path, say = std::move(say), next = clock.Steady() + kBetweenLines](const store::MergeStep& step) mutable {
    const SteadyTime now = clock.Steady();
    if (now < next) return;
    next = now + kBetweenLines;
    say(fmt::format("merging '{}': {}", ForLog(path), HowFar(step)));
  };
}

}  // namespace longreach::service
