#include <fmt/format.h>

#include <limits>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/outcome.h"
#include "client/commands/suggestions.h"
#include "client/commands/sweep_calls.h"
#include "client/commands/update_json.h"
#include "client/interrupt.h"
#include "client/output/text.h"
#include "client/pause_news.h"
#include "client/stuck.h"
#include "client/watcher.h"

namespace longreach::client {
namespace {

// Whether something can still come of it.
constexpr double kLookEvery = 2;

class Wait final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "Wait until no job of a sweep is open",
            .details =
                "Exit code 0: all succeeded; 1: some failed or were cancelled; 6: the time was up first.\n"
                "A scheduler that goes away is waited for, 10 minutes long; the one of a 'longreach run' ends with it.\n"
                "SWEEP is a sweep's id, the beginning of one, its name, or 'last', which is\n"
                "meant without it; other sweeps that are open are then named too.",
            .examples =
                "longreach wait table-b1 && longreach results table-b1\nlongreach wait last --timeout 2h"};
  }
  void AddOptions(CLI::App& app) override {
    named_ = AddSweepArgument(app, sweep_, {.required = false});
    app.add_option("--timeout", timeout_, "Give up after this: seconds, or 15min, 2h, 1d")->type_name("TIME");
  }

  absl::StatusOr<int> Run(Session& session) override {
    double seconds = std::numeric_limits<double>::infinity();
    if (!timeout_.empty()) {
      ASSIGN_OR_RETURN(seconds, ParseDuration(timeout_, "--timeout"));
    }
    ASSIGN_OR_RETURN(Connection * connection, session.Connect());
    InterruptScope interrupt;
    SweepWatcher watcher(*connection, sweep_, session.Patience());
    const auto start = std::chrono::steady_clock::now();
    v1::SweepUpdate last;
    StuckWatch stuck(session, *connection);
    PauseNews pauses(session);
    while (true) {
      if (stuck.Ask(last)) session.Say(stuck.reason());
      const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - start;
      const double left = std::max(0.0, std::min(seconds - gone.count(), kLookEvery));
      const SweepWatcher::Event event =
          watcher.Next(interrupt, std::chrono::milliseconds(static_cast<int64_t>(left * 1000) + 1));
      switch (event.kind) {
        case SweepWatcher::Event::Kind::kUpdate:
          if (event.back) session.Say("the scheduler answers again");
          if (const bool taken = last.sweep().id().empty() && named_->count() == 0; taken) {
            if (const std::string others = OthersOpen(session, *connection, event.update.sweep()); !others.empty()) session.Say(others);
          }
          last = event.update;
          if (!last.finished() && session.embedded() != nullptr) return NothingWorks(session, last.sweep());
          if (const std::string news = pauses.Of(last); !news.empty()) session.Say(news);
          break;
        case SweepWatcher::Event::Kind::kLost:
          session.Say(fmt::format("lost the scheduler at {}; trying again", connection->address()));
          break;
        case SweepWatcher::Event::Kind::kInterrupt: return interrupt.exit_code();
        case SweepWatcher::Event::Kind::kEnded: {
          RETURN_IF_ERROR(event.status);
          if (session.json()) session.out() << JsonOfUpdate(last);
          return ReportOutcome(session, *connection, last.sweep());
        }
        case SweepWatcher::Event::Kind::kTick:
          // Even without any time it is asked once; what has finished ends by itself.
          if (left <= 0 && !last.finished() && (!last.sweep().id().empty() || gone.count() > kLookEvery)) return TimedOut(session, last, gone.count());
      }
    }
  }

 private:
  static absl::StatusOr<int> TimedOut(Session& session, const v1::SweepUpdate& last, double seconds) {
    if (session.json()) session.out() << JsonOfUpdate(last);
    if (last.sweep().id().empty()) session.Say("the time was up before the scheduler answered");
    else session.Say(fmt::format("the time was up: {} of {} of sweep {} done after {}", Thousands(last.sweep().counts().succeeded()), Count(last.sweep().jobs(), "job"),
                                 Printable(last.sweep().name()), HumanDuration(seconds)));
    return kWaitTimedOut;
  }

  std::string sweep_ = "last";
  std::string timeout_;
  const CLI::Option* named_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> Make_wait() { return std::make_unique<Wait>(); }

}  // namespace longreach::client
