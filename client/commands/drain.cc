#include <fmt/format.h>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/suggestions.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "proto/base/shell_word.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

class Drain final : public Command {
 public:
  CommandInfo Info() const override {
    return {
        .group = kGroupSteer,
        .summary = "Give a worker no more work; what it holds is given back after a checkpoint",
        .details =
            "WORKER is a worker's id, the beginning of one, or its name. --undo gives it work again, also when it was put\n"
            "aside because its attempts failed.",
        .examples = "longreach drain gpu-node-3\nlongreach drain gpu-node-3 --undo"};
  }
  void AddOptions(CLI::App& app) override {
    app.add_option("WORKER", worker_, "The worker")->required()->check(WhyNoText);
    app.add_flag("--undo", undo_, "Give it work again");
  }

  absl::StatusOr<int> Run(Session& session) override {
    ASSIGN_OR_RETURN(Connection * connection, session.Connect());
    v1::SteerWorkerRequest request;
    request.set_worker(worker_);
    request.set_drain(!undo_);
    ASSIGN_OR_RETURN(const v1::WorkerInfo after, connection->Call(&Connection::Stub::SteerWorker, request));
    if (session.json()) {
      session.out() << JsonDocument(after);
    } else if (session.settings().quiet) {
      session.out() << after.id() << "\n";
    } else {
      session.out() << fmt::format("worker {} {} is {}\n", ShortId(after.id()), Printable(after.name()),
                                   Printable(after.state()));
      // Of one that is gone its state does not show it, and the next process of that worker is drained all the same.
      if (!undo_) session.Say(fmt::format("it gets no work, also when it comes back, until 'longreach drain --undo {}{}'", ShellWord(Printable(worker_)), WhereFlags(session)));
      else if (after.state() == Word(WorkerState::kGone)) session.Say("it gets work again when it comes back");
    }
    return kDone;
  }

 private:
  std::string worker_;
  bool undo_ = false;
};

}  // namespace

std::unique_ptr<Command> Make_drain() { return std::make_unique<Drain>(); }

}  // namespace longreach::client
