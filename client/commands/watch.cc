#include <fmt/format.h>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/outcome.h"
#include "client/commands/sweep_calls.h"
#include "client/commands/update_json.h"
#include "client/interrupt.h"
#include "client/output/progress.h"
#include "client/output/text.h"
#include "client/pause_news.h"
#include "client/stuck.h"
#include "client/watcher.h"

namespace longreach::client {
namespace {

class Watch final : public Command {
 public:
  CommandInfo Info() const override {
    return {
        .group = kGroupLook,
        .summary = "Follow a sweep until it is done",
        .details =
            "On a terminal a block that is redrawn, in a pipe a line at changes. With -o json, one JSON object a line for\n"
            "each change. Leaving it with Ctrl-C changes nothing.\n"
            "SWEEP is a sweep's id, the beginning of one, its name, or 'last', which is\n"
            "meant without it; other sweeps that are open are then named too.",
        .examples = "longreach watch\nlongreach watch table-b1 -o json | jq .sweep.counts"};
  }
  void AddOptions(CLI::App& app) override { named_ = AddSweepArgument(app, sweep_, {.required = false}); }

  absl::StatusOr<int> Run(Session& session) override {
    ASSIGN_OR_RETURN(Connection * connection, session.Connect());
    InterruptScope interrupt;
    const Environment& environment = session.environment();
    ProgressView view(session.out(), {.terminal = environment.out_is_terminal && !session.settings().dumb_terminal,
                                      .color = session.settings().color_out,
                                      .width = environment.width});
    SweepWatcher watcher(*connection, sweep_, session.Patience());
    v1::SweepUpdate last;
    StuckWatch stuck(session, *connection);
    PauseNews pauses(session);
    while (true) {
      // What is said to people; a program reads the updates.
      if (!session.json() && stuck.Ask(last)) view.Say(stuck.reason());
      const SweepWatcher::Event event = watcher.Next(interrupt, std::chrono::seconds(2));
      switch (event.kind) {
        case SweepWatcher::Event::Kind::kTick: view.Tick(); break;
        case SweepWatcher::Event::Kind::kInterrupt: return interrupt.exit_code();
        case SweepWatcher::Event::Kind::kLost:
          Tell(session, view, fmt::format("lost the scheduler at {}; trying again", connection->address()));
          break;
        case SweepWatcher::Event::Kind::kUpdate:
          if (event.back) Tell(session, view, "the scheduler answers again");
          if (session.json()) {
            session.out() << JsonOfUpdate(event.update) << std::flush;
          } else {
            view.Show(event.update);
            const bool taken = last.sweep().id().empty() && named_->count() == 0;
            if (const std::string others = taken ? OthersOpen(session, *connection, event.update.sweep()) : ""; !others.empty()) view.Say(others);
            if (const std::string news = pauses.Of(event.update); !news.empty()) view.Say(news);
          }
          last = event.update;
          // The reader of a pipe went away.
          if (!session.out()) return kReaderGone;
          if (!last.finished() && session.embedded() != nullptr) {
            if (!session.json()) view.Finish();
            return NothingWorks(session, last.sweep());
          }
          break;
        case SweepWatcher::Event::Kind::kEnded:
          RETURN_IF_ERROR(event.status);
          if (!session.json()) view.Finish();
          return ReportOutcome(session, *connection, last.sweep());
      }
    }
  }

 private:
  // Where the block is redrawn; of JSON nothing but updates goes to stdout.
  static void Tell(Session& session, ProgressView& view, const std::string& line) {
    if (session.json()) {
      session.Say(line);
    } else {
      view.Say(line);
    }
  }

  std::string sweep_ = "last";
  const CLI::Option* named_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> Make_watch() { return std::make_unique<Watch>(); }

}  // namespace longreach::client
