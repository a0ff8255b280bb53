#include <fmt/format.h>

#include <chrono>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/follow_log.h"
#include "client/commands/suggestions.h"
#include "client/log_stream.h"
#include "client/output/json.h"
#include "client/output/text.h"

namespace longreach::client {
namespace {

// A worker answers within moments; what is held up longer than this is not waited for.
constexpr std::chrono::seconds kPatienceForRunning{10};

class Logs final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "Print the end of a job's latest log, also while it runs",
            .details =
                "Of a job that runs what its attempt has printed so far, of much of it at least the last 16 KiB; else the last 64 KiB of\n"
                "the newest attempt that has left a log.\n"
                "With --follow it waits until the job runs, prints what comes until the attempt ends, and says how the job stands then:\n"
                "exit code 0 if it has succeeded, 1 if it has not. With -o json, one JSON object a line for each part. Leaving it with\n"
                "Ctrl-C changes nothing.",
            .examples = "longreach logs 1f3a\nlongreach logs 1f3a --follow"};
  }
  void AddOptions(CLI::App& app) override {
    AddJobArgument(app, job_);
    app.add_flag("-f,--follow", follow_, "Go on with what comes, until the attempt ends");
  }

  absl::StatusOr<int> Run(Session& session) override {
    ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kToRead));
    if (follow_) return FollowLog(session, *connection, job_);
    grpc::Status refused;
    if (PrintRunning(session, *connection, refused)) return kDone;
    v1::GetJobRequest request;
    request.set_job(job_);
    const absl::StatusOr<v1::GetLogResponse> left = connection->Call(&Connection::Stub::GetLog, request);
    if (absl::IsNotFound(left.status()) && IsForNow(refused.error_code()) && Runs(*connection, request)) return connection->Translate(refused);
    RETURN_IF_ERROR(left.status());
    const v1::GetLogResponse& response = *left;
    if (session.json()) {
      session.out() << JsonDocument(response);
      return kDone;
    }
    PrintText(session, response.text());
    if (response.text().empty()) session.Say(fmt::format("attempt {} has left no log", response.attempt()));
    SayIfItRuns(session, *connection, request, response.attempt());
    return kDone;
  }

 private:
  static void PrintText(Session& session, const std::string& text) {
    PrintLogText(session, text);
    if (!text.empty() && !text.ends_with('\n')) session.out() << "\n";
  }

  // Why what a job prints cannot be had while it runs: it is followed by as many as may, or its worker is of an older version.
  static bool IsForNow(grpc::StatusCode refused) { return refused == grpc::StatusCode::RESOURCE_EXHAUSTED || refused == grpc::StatusCode::FAILED_PRECONDITION; }

  static bool Runs(Connection& connection, const v1::GetJobRequest& request) {
    const absl::StatusOr<v1::ExplainJobResponse> now = connection.Call(&Connection::Stub::ExplainJob, request);
    return now.ok() && now->job().state() == "leased";
  }

  // False: it does not run, or what it prints cannot be had, as `refused` says then.
  bool PrintRunning(Session& session, Connection& connection, grpc::Status& refused) const {
    if (session.embedded() != nullptr) return false;  // In a store of this command's own nothing runs.
    LogStream stream(connection, job_, nullptr, kPatienceForRunning);
    v1::LogPart part;
    if (!stream.Read(part)) {
      refused = stream.Finish();
      return false;
    }
    if (part.ended()) return false;
    if (session.json()) {
      session.out() << JsonDocument(part);
      return true;
    }
    PrintText(session, part.text());
    const std::string skipped = part.skipped_bytes() > 0 ? fmt::format(" ({})", LeftOut(part.skipped_bytes(), true)) : "";
    session.Say(fmt::format("attempt {} runs, and has printed {}{}; 'longreach logs {} --follow{}' goes on with what comes", part.attempt(),
                            part.text().empty() ? "nothing yet" : "so much", skipped, Printable(job_), WhereFlags(session)));
    return true;
  }

  // Else who looks for what a job does now takes an older attempt's words for that.
  static void SayIfItRuns(Session& session, Connection& connection, const v1::GetJobRequest& request, uint32_t attempt) {
    if (session.settings().quiet || session.embedded() != nullptr) return;  // In a store of this command's own nothing runs.
    if (!Runs(connection, request)) return;
    session.Say(fmt::format("this is the log of attempt {}; the one that runs now leaves its own when it ends", attempt));
  }

  std::string job_;
  bool follow_ = false;
};

}  // namespace

std::unique_ptr<Command> Make_logs() { return std::make_unique<Logs>(); }

}  // namespace longreach::client
