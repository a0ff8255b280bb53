#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/sweep_calls.h"

namespace longreach::client {
namespace {

class Priority final : public Command {
 public:
  CommandInfo Info() const override {
    return {
        .group = kGroupSteer,
        .summary = "Change which sweep's jobs start first",
        .details =
            "Higher numbers start first; 0 is what a sweep is submitted with. Nothing that runs is displaced.\n"
            "SWEEP is a sweep's id, the beginning of one, its name, or 'last'.",
        .examples = "longreach priority table-b1 10\nlongreach priority last -1",
        .more_formats = kAllFormats};
  }
  void AddOptions(CLI::App& app) override {
    AddSweepArgument(app, sweep_);
    app.add_option("N", priority_, "The new priority")->required();
  }
  absl::StatusOr<int> Run(Session& session) override {
    return SteerSweep(session, sweep_, v1::SteerSweepRequest::ACTION_SET_PRIORITY, priority_);
  }

 private:
  std::string sweep_;
  int priority_ = 0;
};

}  // namespace

std::unique_ptr<Command> Make_priority() { return std::make_unique<Priority>(); }

}  // namespace longreach::client
