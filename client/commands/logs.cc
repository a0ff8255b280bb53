#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/follow_log.h"
#include "client/commands/outcome.h"
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
            .summary = "Print the end of a job's latest log, also while it runs, or of an earlier attempt's",
            .details =
                "Of a job that runs what its attempt has printed so far, of much of it at least the last 16 KiB; else the last 64 KiB of\n"
                "the newest attempt that has left a log. --attempt names another one: 'longreach job JOB' lists them.\n"
                "With --follow it waits until the job runs, prints what comes until the attempt ends, and says how the job stands then:\n"
                "exit code 0 if it has succeeded, 1 if it has not. With -o json, one JSON object a line for each part. Leaving it with\n"
                "Ctrl-C changes nothing. In JSON 'ended' says whether the attempt has, and 'skipped_bytes' how much is left out before\n"
                "the text: null where more than is kept may have been printed.",
            .examples = "longreach logs 1f3a\nlongreach logs 1f3a --follow\nlongreach logs 1f3a --attempt 7"};
  }
  void AddOptions(CLI::App& app) override {
    AddJobArgument(app, job_);
    app.add_flag("-f,--follow", follow_, "Go on with what comes, until the attempt ends");
    app.add_option("--attempt", attempt_, "The log of this attempt, whether or not another one runs by now")->type_name("ATTEMPT")->check(CheckCount);
  }

  absl::StatusOr<int> Run(Session& session) override {
    if (follow_ && attempt_) return UsageError("--follow and --attempt: one of them at a time", "--follow is of the attempt that runs");
    ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kToRead));
    if (follow_) return FollowLog(session, *connection, job_);
    return attempt_ ? PrintAttempt(session, *connection) : PrintNewest(session, *connection);
  }

 private:
  absl::StatusOr<int> PrintNewest(Session& session, Connection& connection) const {
    grpc::Status refused;
    if (PrintRunning(session, connection, refused)) return kDone;
    const absl::StatusOr<v1::GetLogResponse> left = AskForLeft(connection);
    if (absl::IsNotFound(left.status()) && IsForNow(refused.error_code()) && Runs(connection)) return connection.Translate(refused);
    RETURN_IF_ERROR(left.status());
    PrintLeft(session, *left);
    if (!session.json()) SayIfItRuns(session, connection, left->attempt());
    return kDone;
  }

  // The one that was named, be it that it has ended or that it runs.
  absl::StatusOr<int> PrintAttempt(Session& session, Connection& connection) const {
    absl::StatusOr<v1::GetLogResponse> left = AskForLeft(connection);
    if (absl::IsFailedPrecondition(left.status()) && session.embedded() != nullptr) {
      return Error(absl::StatusCode::kFailedPrecondition,
                   fmt::format("nothing works on {}, where attempt {} has not ended and has left no log yet", Printable(session.store()), *attempt_), kWhatGoesOn);
    }
    if (absl::IsFailedPrecondition(left.status())) {
      grpc::Status refused;
      if (PrintRunning(session, connection, refused)) return kDone;
      left = AskForLeft(connection);  // It may have ended in between.
      if (absl::IsFailedPrecondition(left.status()) && IsForNow(refused.error_code())) return connection.Translate(refused);
    }
    RETURN_IF_ERROR(left.status());
    if (left->attempt() != *attempt_) {
      return Error(absl::StatusCode::kFailedPrecondition,
                   fmt::format("the scheduler at {} is of an older version, and gives the log of attempt {} alone, which is the newest", connection.address(), left->attempt()));
    }
    PrintLeft(session, *left);
    return kDone;
  }

  absl::StatusOr<v1::GetLogResponse> AskForLeft(Connection& connection) const {
    v1::GetLogRequest request;
    request.set_job(job_);
    if (attempt_) request.set_attempt(*attempt_);
    return connection.Call(&Connection::Stub::GetLog, request);
  }

  static void PrintLeft(Session& session, const v1::GetLogResponse& left) {
    if (session.json()) {
      session.out() << LeftLogAsJson(left);
      return;
    }
    PrintText(session, left.text());
    SayIfMoreWasPrinted(session, left);
    if (left.text().empty()) session.Say(fmt::format("attempt {} has left no log", left.attempt()));
  }

  static void PrintText(Session& session, const std::string& text) {
    PrintLogText(session, text);
    if (!text.empty() && !text.ends_with('\n')) session.out() << "\n";
  }

  // Why what a job prints cannot be had while it runs: it is followed by as many as may, or its worker is of an older version.
  static bool IsForNow(grpc::StatusCode refused) { return refused == grpc::StatusCode::RESOURCE_EXHAUSTED || refused == grpc::StatusCode::FAILED_PRECONDITION; }

  bool Runs(Connection& connection) const {
    v1::GetJobRequest request;
    request.set_job(job_);
    const absl::StatusOr<v1::ExplainJobResponse> now = connection.Call(&Connection::Stub::ExplainJob, request);
    return now.ok() && now->job().state() == "leased";
  }

  // False: it does not run, or not as the attempt that was named, or what it prints cannot be had, as `refused` says then.
  bool PrintRunning(Session& session, Connection& connection, grpc::Status& refused) const {
    if (session.embedded() != nullptr) return false;  // In a store of this command's own nothing runs.
    LogStream stream(connection, job_, nullptr, kPatienceForRunning);
    v1::LogPart part;
    if (!stream.Read(part)) {
      refused = stream.Finish();
      return false;
    }
    if (part.ended() || (attempt_ && part.attempt() != *attempt_)) return false;
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
  void SayIfItRuns(Session& session, Connection& connection, uint32_t attempt) const {
    if (session.settings().quiet || session.embedded() != nullptr) return;  // In a store of this command's own nothing runs.
    if (!Runs(connection)) return;
    session.Say(fmt::format("this is the log of attempt {}; the one that runs now leaves its own when it ends", attempt));
  }

  std::string job_;
  bool follow_ = false;
  std::optional<uint32_t> attempt_;
};

}  // namespace

std::unique_ptr<Command> Make_logs() { return std::make_unique<Logs>(); }

}  // namespace longreach::client
