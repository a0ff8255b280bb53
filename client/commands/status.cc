#include <fmt/format.h>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/outcome.h"
#include "client/commands/suggestions.h"
#include "client/commands/sweep_calls.h"
#include "client/commands/update_json.h"
#include "client/output/progress.h"
#include "client/output/text.h"
#include "client/pause_news.h"
#include "client/stuck.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

class StatusCommand final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "Show how a sweep gets on",
            .details = "SWEEP is a sweep's id, the beginning of one, its name, or 'last', which is\n"
                       "meant without it; other sweeps that are open are then named too.\n"
                       "With '-o json' comes its whole specification too, which 'sweeps', 'watch' and what steers a sweep leave out.",
            .examples = "longreach status\nlongreach status table-b1 -o json"};
  }
  void AddOptions(CLI::App& app) override { named_ = AddSweepArgument(app, sweep_, {.required = false}); }

  absl::StatusOr<int> Run(Session& session) override {
    ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kToRead));
    ASSIGN_OR_RETURN(v1::SweepUpdate update, SweepState(*connection, sweep_));
    if (session.json()) {
      ASSIGN_OR_RETURN(v1::Sweep whole, FindSweep(*connection, update.sweep().id()));
      *update.mutable_sweep()->mutable_spec() = std::move(*whole.mutable_spec());
      session.out() << JsonOfUpdate(update);
      return kDone;
    }
    const v1::Sweep& sweep = update.sweep();
    session.Tell(fmt::format("{} {}, {}, priority {}, submitted {}", ShortId(sweep.id()), Printable(sweep.name()), Printable(sweep.state()), sweep.priority(),
                             HumanTime(sweep.submitted_at())));
    const Environment& environment = session.environment();
    for (const std::string& line : ProgressBlock(update, environment.out_is_terminal ? environment.width() : 0, /*bar=*/environment.out_is_terminal)) {
      session.out() << line << "\n";
    }
    if (const std::string another = AnotherWorker(update); !another.empty()) session.Tell(another);
    // Nobody else has the store: who had these jobs has ended, without a word.
    const v1::JobCounts& counts = sweep.counts();
    if (session.embedded() != nullptr && sweep.state() != "cancelled" && counts.waiting() + counts.queued() + counts.leased() > 0) {
      session.Tell(fmt::format("nothing works on {} now; {}", Printable(session.store()), kWhatGoesOn));
    } else {
      PrintWhyItStands(session, *connection, update);
    }
    if (sweep.counts().failed() > 0) {
      session.Say(fmt::format("'longreach jobs {} --state failed{}' shows which failed and why",
                              ShortId(sweep.id()), WhereFlags(session)));
    }
    if (const std::string others = named_->count() == 0 ? OthersOpen(session, *connection, sweep) : ""; !others.empty()) session.Say(others);
    return kDone;
  }

 private:
  // Empty where it would save next to nothing.
  static std::string AnotherWorker(const v1::SweepUpdate& update) {
    constexpr double kLeast = 0.05;
    const v1::AnotherWorker& another = update.another_worker();
    if (update.finished() || !(another.seconds_saved() > kLeast * update.seconds_left())) return "";
    return fmt::format("one more worker like '{}' would save about {}", Printable(another.like()), HumanDuration(another.seconds_saved()));
  }

  // A sweep that stands still, paused or because of its workers, should not have to be asked why.
  static void PrintWhyItStands(Session& session, Connection& connection, const v1::SweepUpdate& update) {
    if (const std::string paused = PauseNews(session).Of(update); !paused.empty()) session.Tell(paused);
    if (PrintPutAside(session, connection)) return;
    StuckWatch stuck(session, connection);
    if (stuck.Ask(update)) session.Tell(stuck.reason());
  }

  // Whether there is one.
  static bool PrintPutAside(Session& session, Connection& connection) {
    bool any = false;
    const absl::StatusOr<v1::ListWorkersResponse> workers = connection.Call(&Connection::Stub::ListWorkers, v1::ListWorkersRequest());
    if (!workers.ok()) return any;
    for (const v1::WorkerInfo& worker : workers->workers()) {
      if (worker.state() != Word(WorkerState::kPutAside)) continue;
      session.Tell(fmt::format("worker '{}' is put aside: {}", Printable(worker.name()), WithFlags(Printable(worker.reason()), session)));
      any = true;
    }
    return any;
  }

  std::string sweep_ = "last";
  const CLI::Option* named_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> Make_status() { return std::make_unique<StatusCommand>(); }

}  // namespace longreach::client
