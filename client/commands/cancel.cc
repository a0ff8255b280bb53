#include <fmt/format.h>

#include <algorithm>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/listings.h"
#include "client/commands/sweep_calls.h"
#include "client/output/text.h"

namespace longreach::client {
namespace {

class Cancel final : public Command {
 public:
  CommandInfo Info() const override {
    return {
        .group = kGroupSteer,
        .summary = "Give a sweep up; results that are there stay",
        .details =
            "Jobs that no other sweep wants are dropped, running ones too, and their checkpoints go, also those of failed jobs.\n"
            "Submitting the sweep again revives them; they begin anew. To go on later from where they are, 'longreach pause'.\n"
            "SWEEP is a sweep's id, the beginning of one, its name, or 'last'.",
        .examples = "longreach cancel last",
        .more_formats = kAllFormats};
  }
  void AddOptions(CLI::App& app) override { AddSweepArgument(app, sweep_); }
  absl::StatusOr<int> Run(Session& session) override {
    ASSIGN_OR_RETURN(Connection * connection, session.Connect());
    ASSIGN_OR_RETURN(const v1::Sweep before, FindSweep(*connection, sweep_));
    ASSIGN_OR_RETURN(const v1::Sweep after, Steer(*connection, sweep_, v1::SteerSweepRequest::ACTION_CANCEL));
    PrintSweep(session, after);
    if (const int64_t dropped = Dropped(before, after); dropped > 0) {
      session.Say(fmt::format("{} {} running: what they had done is dropped, with their checkpoints. 'longreach pause' would have kept it; submitting the sweep "
                              "again begins them anew",
                              Count(dropped, "job"), dropped == 1 ? "was" : "were"));
    }
    return kDone;
  }

 private:
  // How many of the jobs that ran are cancelled now: others have ended meanwhile, or go on for another sweep.
  static int64_t Dropped(const v1::Sweep& before, const v1::Sweep& after) {
    if (after.id() != before.id()) return 0;  // 'last' was another one meanwhile.
    return std::min<int64_t>(before.counts().leased() - after.counts().leased(), after.counts().cancelled() - before.counts().cancelled());
  }

  std::string sweep_;
};

}  // namespace

std::unique_ptr<Command> Make_cancel() { return std::make_unique<Cancel>(); }

}  // namespace longreach::client
