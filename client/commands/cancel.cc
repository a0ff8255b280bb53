#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/sweep_calls.h"

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
    return SteerSweep(session, sweep_, v1::SteerSweepRequest::ACTION_CANCEL);
  }

 private:
  std::string sweep_;
};

}  // namespace

std::unique_ptr<Command> Make_cancel() { return std::make_unique<Cancel>(); }

}  // namespace longreach::client
