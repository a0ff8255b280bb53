#include <fmt/format.h>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/output/json.h"
#include "client/output/text.h"

namespace longreach::client {
namespace {

class Logs final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "Print the end of a job's latest log",
            .details = "The last 64 KiB of the newest attempt that has left one, which it does when it ends. How far a running one is 'watch' and 'job' tell.",
            .examples = "longreach logs 1f3a"};
  }
  void AddOptions(CLI::App& app) override { AddJobArgument(app, job_); }

  absl::StatusOr<int> Run(Session& session) override {
    ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kToRead));
    v1::GetJobRequest request;
    request.set_job(job_);
    ASSIGN_OR_RETURN(const v1::GetLogResponse response, connection->Call(&Connection::Stub::GetLog, request));
    if (session.json()) {
      session.out() << JsonDocument(response);
      return kDone;
    }
    // A file gets the bytes as they are; a terminal gets nothing that it would obey.
    const bool terminal = session.environment().out_is_terminal;
    session.out() << (terminal ? Printable(response.text(), /*keep_lines=*/true) : response.text());
    if (!response.text().empty() && !response.text().ends_with('\n')) session.out() << "\n";
    if (response.text().empty()) session.Say(fmt::format("attempt {} has left no log", response.attempt()));
    SayIfItRuns(session, *connection, request, response.attempt());
    return kDone;
  }

 private:
  // Else who looks for what a job does now takes an older attempt's words for that.
  static void SayIfItRuns(Session& session, Connection& connection, const v1::GetJobRequest& request, uint32_t attempt) {
    if (session.settings().quiet || session.embedded() != nullptr) return;  // In a store of this command's own nothing runs.
    const absl::StatusOr<v1::ExplainJobResponse> now = connection.Call(&Connection::Stub::ExplainJob, request);
    if (!now.ok() || now->job().state() != "leased") return;
    session.Say(fmt::format("this is the log of attempt {}; the one that runs now leaves its own when it ends", attempt));
  }

  std::string job_;
};

}  // namespace

std::unique_ptr<Command> Make_logs() { return std::make_unique<Logs>(); }

}  // namespace longreach::client
