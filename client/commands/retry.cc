#include <fmt/format.h>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/sweep_calls.h"
#include "client/output/text.h"

namespace longreach::client {
namespace {

class Retry final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupSteer,
            .summary = "Queue a sweep's failed jobs again",
            .details =
                "Their counts of failures start anew.\n"
                "SWEEP is a sweep's id, the beginning of one, its name, or 'last'.",
            .examples = "longreach retry last",
            .more_formats = kAllFormats};
  }
  void AddOptions(CLI::App& app) override { AddSweepArgument(app, sweep_); }
  absl::StatusOr<int> Run(Session& session) override {
    ASSIGN_OR_RETURN(Connection * connection, session.Connect());
    ASSIGN_OR_RETURN(const v1::Sweep before, FindSweep(*connection, sweep_));
    ASSIGN_OR_RETURN(const int code, SteerSweep(session, sweep_, v1::SteerSweepRequest::ACTION_RETRY));
    // Only now: a sweep that cannot be retried says why.
    if (before.counts().failed() == 0) session.Say("none of its jobs has failed");
    if (const int64_t diverged = before.counts().diverged(); diverged > 0) {
      session.Say(fmt::format("{} diverged, which is a result: the same settings lead there again", Count(diverged, "job")));
    }
    return code;
  }

 private:
  std::string sweep_;
};

}  // namespace

std::unique_ptr<Command> Make_retry() { return std::make_unique<Retry>(); }

}  // namespace longreach::client
