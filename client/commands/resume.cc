#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/sweep_calls.h"

namespace longreach::client {
namespace {

class Resume final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupSteer,
            .summary = "Go on with a paused sweep",
            .details =
                "A cancelled sweep is not resumed but submitted again: its results are kept.\n"
                "SWEEP is a sweep's id, the beginning of one, its name, or 'last'.",
            .examples = "longreach resume last",
            .more_formats = kAllFormats};
  }
  void AddOptions(CLI::App& app) override { AddSweepArgument(app, sweep_); }
  absl::StatusOr<int> Run(Session& session) override {
    return SteerSweep(session, sweep_, v1::SteerSweepRequest::ACTION_RESUME);
  }

 private:
  std::string sweep_;
};

}  // namespace

std::unique_ptr<Command> Make_resume() { return std::make_unique<Resume>(); }

}  // namespace longreach::client
