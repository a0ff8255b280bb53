#include <fmt/format.h>

#include <string>
#include <vector>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/listings.h"
#include "client/commands/suggestions.h"
#include "client/commands/sweep_calls.h"
#include "client/output/text.h"

namespace longreach::client {
namespace {

class Cancel final : public Command {
 public:
  CommandInfo Info() const override {
    return {
        .group = kGroupSteer,
        .summary = "Give a sweep up, or some of its jobs; results that are there stay",
        .details =
            "Jobs that no other sweep wants are dropped, running ones too, and their checkpoints go, also those of failed jobs.\n"
            "Submitting the sweep again revives them; they begin anew. To go on later from where they are, 'longreach pause'.\n"
            "With --only the jobs that it names are cancelled, and those that need them; the sweep goes on without them, and is done when its\n"
            "other jobs are. 'longreach retry --only' queues them again, and so does submitting the sweep again.\n"
            "SWEEP is a sweep's id, the beginning of one, its name, or 'last'.",
        .examples = "longreach cancel last\nlongreach cancel last --only learning_rate=1e-3 --only encoding=rope,alibi",
        .more_formats = kAllFormats};
  }
  void AddOptions(CLI::App& app) override {
    AddSweepArgument(app, sweep_);
    AddOnlyJobsOption(app, only_);
  }
  absl::StatusOr<int> Run(Session& session) override {
    ASSIGN_OR_RETURN(Connection * connection, session.Connect());
    ASSIGN_OR_RETURN(const v1::Sweep before, FindSweep(*connection, sweep_));
    const bool some = !only_.empty();
    ASSIGN_OR_RETURN(const v1::Sweep after, some ? SteerJobs(*connection, sweep_, v1::SteerSweepRequest::ACTION_CANCEL_JOBS, only_)
                                                 : Steer(*connection, sweep_, v1::SteerSweepRequest::ACTION_CANCEL));
    PrintSweep(session, after);
    if (some) SayWhatGoesOn(session, after);
    else if (HasEnded(before)) session.Say("none of its jobs was left to cancel; results that are there stay");
    else SayWhatStaysOpen(session, after);
    SayWhatIsDropped(session, after, some);
    return kDone;
  }

 private:
  static bool HasEnded(const v1::Sweep& sweep) {
    const v1::JobCounts& counts = sweep.counts();
    const int64_t open = counts.waiting() + counts.queued() + counts.leased();
    return open == 0 && sweep.jobs() == counts.succeeded() + counts.failed();
  }

  // An older scheduler does not tell.
  static void SayWhatIsDropped(Session& session, const v1::Sweep& after, bool some) {
    const int32_t dropped = after.jobs_dropped();
    if (dropped == 0) return;
    const bool one = dropped == 1;
    session.Say(fmt::format("{} {} being trained: what {} had done is dropped, with {} checkpoints. 'longreach pause' would have kept it; {} begins {} anew",
                            Count(dropped, "job"), one ? "was" : "were", one ? "it" : "they", one ? "its" : "their", some ? "a retry" : "submitting the sweep again",
                            one ? "it" : "them"));
  }

  // Else who sees open jobs of a cancelled sweep takes them for some that the cancel has missed.
  static void SayWhatStaysOpen(Session& session, const v1::Sweep& after) {
    const int64_t open = OpenJobs(after);
    if (open == 0) return;
    session.Say(fmt::format("{} of it {} open, as other sweeps have {} too; 'longreach sweeps{}' shows those", Count(open, "job"), open == 1 ? "stays" : "stay",
                            open == 1 ? "it" : "them", WhereFlags(session)));
  }

  static void SayWhatGoesOn(Session& session, const v1::Sweep& after) {
    const int32_t jobs = after.jobs_steered();
    if (jobs == 0) return session.Say("none of these jobs was left to cancel");
    session.Say(fmt::format("{} {} cancelled, and the sweep goes on without {}; 'longreach retry {} --only ...{}' queues {} again", Count(jobs, "job"),
                            jobs == 1 ? "is" : "are", jobs == 1 ? "it" : "them", ShortId(after.id()), WhereFlags(session), jobs == 1 ? "it" : "them"));
  }

  std::string sweep_;
  std::vector<std::string> only_;
};

}  // namespace

std::unique_ptr<Command> Make_cancel() { return std::make_unique<Cancel>(); }

}  // namespace longreach::client
