#include "client/commands/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "client/commands/command.h"
#include "client/commands/listings.h"
#include "client/commands/suggestions.h"
#include "client/output/text.h"
#include "client/watcher.h"
#include "proto/base/text.h"
#include "proto/types/input_failure.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

constexpr int kShown = 5;
// Failed jobs whose reasons are looked through.
constexpr int kLookedThrough = 1000;

// Also of a quiet command: that jobs failed is no talk.
void Tell(Session& session, const std::string& line) { *session.environment().err << line << std::endl; }

// One that failed because of another has written nothing.
bool FailedByItself(const v1::Job& job) { return !job.failure().starts_with(kInputFailed); }

// One whose workers were all lost has none.
bool HasLog(Connection& connection, const v1::Job& job) {
  v1::GetLogRequest request;
  request.set_job(job.id());
  return connection.Call(&Connection::Stub::GetLog, request).ok();
}

int64_t CountOfDivergedInputs(const std::vector<v1::Job>& failed) {
  return std::ranges::count_if(failed, [](const v1::Job& job) { return InputHasDiverged(job.failure()); });
}

// "3 of its 8 jobs", and "its only job" where there are no others.
std::string SomeOf(int64_t some, int64_t all, std::string_view whose) {
  return all == 1 ? fmt::format("{} only job", whose) : fmt::format("{} of {} {}", Thousands(some), whose, Count(all, "job"));
}

void TellFailedJobs(Session& session, Connection& connection, const v1::Sweep& sweep, std::string again) {
  const absl::StatusOr<std::vector<v1::Job>> jobs = FailedJobs(connection, sweep.id(), {});
  if (!jobs.ok() || jobs->empty()) return;
  const size_t shown = std::min<size_t>(jobs->size(), kShown);
  for (const v1::Job& job : std::span(*jobs).first(shown)) {
    const std::string system = SystemsText(job);
    Tell(session, fmt::format("  {}  {}{} {}, learning rate {}, seed {}: {}", ShortId(job.id()), system.empty() ? "" : Printable(system) + ": ",
                              Printable(job.task()), Printable(job.encoding()),
                              ShortestNumber(job.learning_rate()), job.seed(), Printable(job.failure())));
  }
  const int64_t more = sweep.counts().failed() - static_cast<int64_t>(shown);
  if (more > 0) Tell(session, fmt::format("  and {} more", Thousands(more)));
  const std::string where = WhereFlags(session);
  if (again.empty()) {
    again = session.embedded() != nullptr ? "the same 'longreach run' with --retry-failed runs the failed ones again"
                                          : fmt::format("{}'longreach retry {}{}' queues the failed ones again", sweep.state() == "cancelled" ? "once it is submitted again, " : "",
                                                        ShortId(sweep.id()), where);
  }
  const auto job = std::ranges::find_if(*jobs, FailedByItself);
  std::string look;
  if (job == jobs->end()) look = fmt::format("'longreach explain {}{}' says what its input lacks", ShortId(jobs->front().id()), where);
  else if (HasLog(connection, *job)) look = fmt::format("'longreach logs {}{}' shows its log", ShortId(job->id()), where);
  else look = fmt::format("'longreach explain {}{}' says what is known of it", ShortId(job->id()), where);
  session.Say(CountOfDivergedInputs(*jobs) == sweep.counts().failed() ? look : fmt::format("{}; {}", look, again));
  if (const std::string in_vain = OfDivergedInputs(*jobs, sweep.counts().failed()); !in_vain.empty()) session.Say(in_vain);
}

}  // namespace

absl::StatusOr<std::vector<v1::Job>> FailedJobs(Connection& connection, const std::string& sweep, const std::vector<std::string>& only) {
  v1::ListJobsRequest request;
  request.set_sweep(sweep);
  request.set_state("failed");
  request.set_limit(kLookedThrough);
  for (const std::string& one : only) request.add_only(one);
  ASSIGN_OR_RETURN(const v1::ListJobsResponse page, connection.Call(&Connection::Stub::ListJobs, request));
  return std::vector<v1::Job>(page.jobs().begin(), page.jobs().end());
}

std::string OfDivergedInputs(const std::vector<v1::Job>& failed, int64_t all) {
  const int64_t diverged = CountOfDivergedInputs(failed);
  if (diverged == 0) return "";
  const std::string who = diverged < all ? fmt::format("{} of them", Thousands(diverged)) : all == 1 ? "it" : "they";
  return fmt::format("what {} {} with diverged, which is a result that no retry changes: it takes another learning rate or seed", who,
                     diverged == 1 ? "begins" : "begin");
}

void SayWhatStaysFailed(Session& session, Connection& connection, const v1::Sweep& sweep, int64_t failed) {
  if (session.settings().quiet) return;
  const absl::StatusOr<std::vector<v1::Job>> jobs = FailedJobs(connection, sweep.id(), {});
  const bool in_vain = jobs.ok() && CountOfDivergedInputs(*jobs) == failed;
  session.Say(fmt::format("{} {} failed, and {} so{}", Count(failed, "job"), failed == 1 ? "has" : "have", failed == 1 ? "stays" : "stay",
                          in_vain ? "" : fmt::format("; 'longreach retry {}{}' queues {} again", ShortId(sweep.id()), WhereFlags(session), failed == 1 ? "it" : "them")));
  const std::string why = jobs.ok() ? OfDivergedInputs(*jobs, failed) : "";
  if (!why.empty()) session.Say(why);
}

int ReportOutcome(Session& session, Connection& connection, const v1::Sweep& sweep, const std::string& again) {
  if (AllSucceeded(sweep)) return kDone;
  const v1::JobCounts& counts = sweep.counts();
  const int open = sweep.jobs() - counts.succeeded() - counts.failed() - counts.cancelled();
  if (open > 0) {
    session.Say(fmt::format("sweep {} is cancelled; {} of its jobs {} another sweep's too, and {} on", Printable(sweep.name()), Thousands(open),
                            open == 1 ? "is" : "are", open == 1 ? "goes" : "go"));
  }
  if (counts.cancelled() > 0 && sweep.state() != "cancelled") {
    session.Say(fmt::format("{} of sweep {} {} cancelled; 'longreach retry {} --only ...{}' queues some again, and submitting the sweep again all",
                            SomeOf(counts.cancelled(), sweep.jobs(), "the"), Printable(sweep.name()), counts.cancelled() == 1 ? "was" : "were",
                            ShortId(sweep.id()), WhereFlags(session)));
  } else if (counts.cancelled() > 0) {
    session.Say(fmt::format("sweep {} was cancelled: {} {} no result; submit it again to go on", Printable(sweep.name()),
                            SomeOf(counts.cancelled(), sweep.jobs(), "its"), counts.cancelled() == 1 ? "has" : "have"));
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
