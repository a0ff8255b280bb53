#include <fmt/format.h>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/listings.h"
#include "client/commands/suggestions.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

class Explain final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "Say why a job is where it is, and what it waits for",
            .details = "",
            .examples = "longreach explain 1f3a"};
  }
  void AddOptions(CLI::App& app) override { AddJobArgument(app, job_); }

  absl::StatusOr<int> Run(Session& session) override {
    ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kToRead));
    v1::GetJobRequest request;
    request.set_job(job_);
    ASSIGN_OR_RETURN(v1::ExplainJobResponse response,
                     connection->Call(&Connection::Stub::ExplainJob, request));
    for (std::string& reason : *response.mutable_reasons()) reason = WithFlags(reason, session);
    if (session.json()) {
      session.out() << JsonDocument(response);
      return kDone;
    }
    const v1::Job& job = response.job();
    const std::string systems = job.systems().empty() ? "" : fmt::format("system {}, ", Printable(SystemsText(job)));
    const bool has_ended = job.state() == "succeeded" || job.state() == "failed";
    session.Tell(fmt::format("job {} ({}{} {}, learning rate {}, seed {}) {} {}", ShortId(job.id()), systems, Printable(job.task()), Printable(job.encoding()),
                             ShortestNumber(job.learning_rate()), job.seed(), has_ended ? "has" : "is", ShownState(job.state())));
    for (const std::string& reason : response.reasons()) session.Tell(Printable(reason), "- ");
    if (job.state() == "failed") session.out() << fmt::format("- To repeat it by itself: {}\n", RepeatCommand(session, job));  // To be copied.
    return kDone;
  }

 private:
  std::string job_;
};

}  // namespace

std::unique_ptr<Command> Make_explain() { return std::make_unique<Explain>(); }

}  // namespace longreach::client
