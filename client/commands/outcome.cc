#include "client/commands/outcome.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/commands/command.h"
#include "client/commands/listings.h"
#include "client/commands/suggestions.h"
#include "client/output/text.h"
#include "client/watcher.h"
#include "proto/base/text.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

constexpr int kShown = 5;

// Also of a quiet command: that jobs failed is no talk.
void Tell(Session& session, const std::string& line) { *session.environment().err << line << std::endl; }

// One that failed because of another has written nothing.
bool FailedByItself(const v1::Job& job) { return !job.failure().starts_with(kInputFailed); }

void TellFailedJobs(Session& session, Connection& connection, const v1::Sweep& sweep, std::string again) {
  v1::ListJobsRequest request;
  request.set_sweep(sweep.id());
  request.set_state("failed");
  request.set_limit(kShown);
  const absl::StatusOr<v1::ListJobsResponse> page = connection.Call(&Connection::Stub::ListJobs, request);
  if (!page.ok() || page->jobs().empty()) return;
  for (const v1::Job& job : page->jobs()) {
    const std::string system = SystemsText(job);
    Tell(session, fmt::format("  {}  {}{} {}, learning rate {}, seed {}: {}", ShortId(job.id()), system.empty() ? "" : Printable(system) + ": ",
                              Printable(job.task()), Printable(job.encoding()),
                              ShortestNumber(job.learning_rate()), job.seed(), Printable(job.failure())));
  }
  if (sweep.counts().failed() > page->jobs_size()) {
    Tell(session, fmt::format("  and {} more", sweep.counts().failed() - page->jobs_size()));
  }
  const std::string where = WhereFlags(session);
  if (again.empty()) {
    again = session.embedded() != nullptr ? "the same 'longreach run' with --retry-failed runs the failed ones again"
                                          : fmt::format("'longreach retry {}{}' queues the failed ones again", ShortId(sweep.id()), where);
  }
  const auto job = std::ranges::find_if(page->jobs(), FailedByItself);
  const std::string look = job != page->jobs().end() ? fmt::format("'longreach logs {}{}' shows its log", ShortId(job->id()), where)
                                                     : fmt::format("'longreach explain {}{}' says what its input lacks", ShortId(page->jobs(0).id()), where);
  session.Say(fmt::format("{}; {}", look, again));
}

}  // namespace

int ReportOutcome(Session& session, Connection& connection, const v1::Sweep& sweep, const std::string& again) {
  if (AllSucceeded(sweep)) return kDone;
  const v1::JobCounts& counts = sweep.counts();
  const int open = sweep.jobs() - counts.succeeded() - counts.failed() - counts.cancelled();
  if (open > 0) {
    session.Say(fmt::format("sweep {} is cancelled; {} of its jobs {} another sweep's too, and {} on", Printable(sweep.name()), Thousands(open),
                            open == 1 ? "is" : "are", open == 1 ? "goes" : "go"));
  }
  if (counts.cancelled() > 0 && sweep.state() != "cancelled") {
    session.Say(fmt::format("{} of the {} of sweep {} {} cancelled; 'longreach retry {} --only ...{}' queues some again, and submitting the sweep again all",
                            Thousands(counts.cancelled()), Count(sweep.jobs(), "job"), Printable(sweep.name()), counts.cancelled() == 1 ? "was" : "were",
                            ShortId(sweep.id()), WhereFlags(session)));
  } else if (counts.cancelled() > 0) {
    session.Say(fmt::format("sweep {} was cancelled: {} of its {} {} no result; submit it again to go on", Printable(sweep.name()), Thousands(counts.cancelled()),
                            Count(sweep.jobs(), "job"), counts.cancelled() == 1 ? "has" : "have"));
  }
  if (counts.failed() > 0) {
    Tell(session, fmt::format("{} of sweep {} failed:", Count(counts.failed(), "job"), Printable(sweep.name())));
    TellFailedJobs(session, connection, sweep, again);
  }
  return kFailed;
}

absl::Status NothingWorks(Session& session, const v1::Sweep& sweep) {
  return Error(absl::StatusCode::kFailedPrecondition,
               fmt::format("{} of {} of sweep {} are done, and nothing works on {}", Thousands(sweep.counts().succeeded()), Count(sweep.jobs(), "job"),
                           Printable(sweep.name()), Printable(session.store())),
               kWhatGoesOn);
}

}  // namespace longreach::client
