#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/sweep_calls.h"

namespace longreach::client {
namespace {

class Pause final : public Command {
 public:
  CommandInfo Info() const override {
    return {
        .group = kGroupSteer,
        .summary = "Hold a sweep: nothing new starts, what runs stops after a checkpoint",
        .details =
            "Jobs that another live sweep wants as well go on. 'longreach resume' goes on from the checkpoints.\n"
            "SWEEP is a sweep's id, the beginning of one, its name, or 'last'.",
        .examples = "longreach pause last",
        .more_formats = kAllFormats};
  }
  void AddOptions(CLI::App& app) override { AddSweepArgument(app, sweep_); }
  absl::StatusOr<int> Run(Session& session) override {
    return SteerSweep(session, sweep_, v1::SteerSweepRequest::ACTION_PAUSE);
  }

 private:
  std::string sweep_;
};

}  // namespace

std::unique_ptr<Command> Make_pause() { return std::make_unique<Pause>(); }

}  // namespace longreach::client
