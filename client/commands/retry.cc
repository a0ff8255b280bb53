#include <fmt/format.h>

#include <string>
#include <vector>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/listings.h"
#include "client/commands/outcome.h"
#include "client/commands/sweep_calls.h"
#include "client/output/text.h"

namespace longreach::client {
namespace {

class Retry final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupSteer,
            .summary = "Queue a sweep's failed jobs again, or some of its jobs",
            .details =
                "Their counts of failures start anew.\n"
                "With --only those of the jobs that it names, with what they need; jobs of these that were cancelled are queued again, too.\n"
                "SWEEP is a sweep's id, the beginning of one, its name, or 'last'.",
            .examples = "longreach retry last\nlongreach retry last --only encoding=rope,alibi --only seed=1",
            .more_formats = kAllFormats};
  }
  void AddOptions(CLI::App& app) override {
    AddSweepArgument(app, sweep_);
    AddOnlyJobsOption(app, only_);
  }
  absl::StatusOr<int> Run(Session& session) override {
    ASSIGN_OR_RETURN(Connection * connection, session.Connect());
    ASSIGN_OR_RETURN(const v1::Sweep before, FindSweep(*connection, sweep_));
    // What has failed is failed no more when it is queued again.
    const absl::StatusOr<std::vector<v1::Job>> failed = before.counts().failed() > 0 ? FailedJobs(*connection, before.id(), only_) : std::vector<v1::Job>();
    if (!only_.empty()) {
      ASSIGN_OR_RETURN(const v1::Sweep some, SteerJobs(*connection, sweep_, v1::SteerSweepRequest::ACTION_RETRY_JOBS, only_));
      PrintSweep(session, some);
      if (some.jobs_steered() == 0) session.Say("none of these jobs has failed or was cancelled");
      SayHowMany(session, some);
      if (failed.ok()) SayWhatIsInVain(session, *failed, static_cast<int64_t>(failed->size()));
      return kDone;
    }
    ASSIGN_OR_RETURN(const v1::Sweep after, Steer(*connection, sweep_, v1::SteerSweepRequest::ACTION_RETRY));
    PrintSweep(session, after);
    // Only now: a sweep that cannot be retried says why.
    if (before.counts().failed() == 0 && after.jobs_steered() == 0) session.Say("none of its jobs has failed");
    SayHowMany(session, after);
    if (failed.ok()) SayWhatIsInVain(session, *failed, before.counts().failed());  // Else they are queued all the same.
    if (const int64_t diverged = before.counts().diverged(); diverged > 0) {
      session.Say(fmt::format("{} diverged, which is a result: the same settings lead there again", Count(diverged, "job")));
    }
    return kDone;
  }

 private:
  static void SayHowMany(Session& session, const v1::Sweep& after) {
    if (const int32_t jobs = after.jobs_steered(); jobs > 0) session.Say(fmt::format("{} {} queued again", Count(jobs, "job"), jobs == 1 ? "is" : "are"));
  }

  static void SayWhatIsInVain(Session& session, const std::vector<v1::Job>& failed, int64_t all) {
    const std::string in_vain = OfDivergedInputs(failed, all);
    if (!in_vain.empty()) session.Say(in_vain);
  }

  std::string sweep_;
  std::vector<std::string> only_;
};

}  // namespace

std::unique_ptr<Command> Make_retry() { return std::make_unique<Retry>(); }

}  // namespace longreach::client
