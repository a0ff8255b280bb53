#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/sweep_calls.h"

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
    return SteerSweep(session, sweep_, v1::SteerSweepRequest::ACTION_RETRY);
  }

 private:
  std::string sweep_;
};

}  // namespace

std::unique_ptr<Command> Make_retry() { return std::make_unique<Retry>(); }

}  // namespace longreach::client
