#include "client/stuck.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "client/commands/suggestions.h"
#include "client/output/text.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

constexpr std::chrono::seconds kBetweenQuestions{2};
constexpr std::chrono::seconds kPatienceForAnswer{10};
// Of a large cluster the first few say enough; `explain` has all of them.
constexpr int kMostReasons = 4;

}  // namespace

bool StuckWatch::Ask(const v1::SweepUpdate& last) {
  const bool idle = last.running().empty() && last.sweep().counts().queued() > 0;
  if (last.finished() || (!idle && last.stalled().empty())) {
    reason_.clear();
    lacks_data_ = false;
    times_ = 0;
    return false;
  }
  if (Clock::now() - asked_ < kBetweenQuestions) return false;
  asked_ = Clock::now();
  reason_.clear();
  lacks_data_ = false;
  if (idle) Look(last);
  times_ = reason_.empty() ? 0 : times_ + 1;
  if (const std::string stalled = WithFlags(Printable(last.stalled()), session_); reason_.find(stalled) == reason_.npos) {
    reason_ += (reason_.empty() ? "" : "; ") + stalled;
  }
  if (reason_.empty() || reason_ == told_) return false;
  told_ = reason_;
  return true;
}

void StuckWatch::Look(const v1::SweepUpdate& last) {
  v1::ListJobsRequest list;
  list.set_sweep(last.sweep().id());
  list.set_state("queued");
  list.set_limit(1);
  const absl::StatusOr<v1::ListJobsResponse> queued = connection_.Call(&Connection::Stub::ListJobs, list, kPatienceForAnswer);
  if (!queued.ok() || queued->jobs().empty()) return;  // The stream of updates tells about the scheduler's health.
  v1::GetJobRequest explain;
  explain.set_job(queued->jobs(0).id());
  const absl::StatusOr<v1::ExplainJobResponse> why = connection_.Call(&Connection::Stub::ExplainJob, explain, kPatienceForAnswer);
  if (!why.ok()) return;
  // To a store no worker comes but that of its 'longreach run', which is on its way.
  if (why->no_worker() && session_.store().empty()) {
    reason_ = fmt::format("nothing runs, for no worker is there: start one with {}", WorkerToStart(session_.settings()));
  }
  if (!why->stuck()) return;
  std::vector<std::string> reasons;
  // The first says that it is ready.
  for (int i = 1; i < std::min(why->reasons_size(), 1 + kMostReasons); ++i) reasons.push_back(WithFlags(Printable(why->reasons(i)), session_));
  lacks_data_ = why->lacks_data();
  reason_ = fmt::format("job {} does not begin. {}", ShortId(why->job().id()), Join(reasons, " "));
}

}  // namespace longreach::client
