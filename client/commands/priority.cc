#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/sweep_calls.h"
#include "client/output/text.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

// In place of a range of CLI11's, which would stand in the help.
std::string WhyNoPriority(const std::string& word) {
  using Limits = std::numeric_limits<int32_t>;
  const std::optional<int64_t> number = ParseInteger(std::string_view(word).substr(word.starts_with('+') ? 1 : 0));
  if (number.has_value() && *number >= Limits::min() && *number <= Limits::max()) return "";
  return fmt::format("'{}' is not a whole number from {} to {}", Printable(word), Limits::min(), Limits::max());
}

class Priority final : public Command {
 public:
  CommandInfo Info() const override {
    return {
        .group = kGroupSteer,
        .summary = "Change which sweep's jobs start first",
        .details =
            "Higher numbers start first; a sweep has 0 unless it was submitted with another. Nothing that runs is displaced.\n"
            "SWEEP is a sweep's id, the beginning of one, its name, or 'last'.",
        .examples = "longreach priority table-b1 10\nlongreach priority last -1",
        .more_formats = kAllFormats};
  }
  void AddOptions(CLI::App& app) override {
    AddSweepArgument(app, sweep_);
    app.add_option("N", priority_, "The new priority")->required()->check(WhyNoPriority);
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
