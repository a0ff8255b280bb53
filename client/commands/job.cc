#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/listings.h"
#include "client/commands/step_slice.h"
#include "client/commands/suggestions.h"
#include "client/commands/sweep_of_job.h"
#include "client/interrupt.h"
#include "client/new_file.h"
#include "client/output/grid.h"
#include "client/output/json.h"
#include "client/output/sparkline.h"
#include "client/output/text.h"
#include "client/private_folder.h"
#include "client/spec/sweep_writer.h"
#include "proto/base/text.h"
#include "proto/types/artifact_kind.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

constexpr size_t kLogLines = 10;
constexpr size_t kCurveWidth = 60;

// Why it failed as far as its own words go, and what to type to see it fail again.
void PrintFailure(Session& session, Connection& connection, const v1::Job& job) {
  v1::GetLogRequest request;
  request.set_job(job.id());
  const absl::StatusOr<v1::GetLogResponse> log = connection.Call(&Connection::Stub::GetLog, request);
  if (log.ok() && !Trim(log->text()).empty()) {
    std::vector<std::string> lines = Split(Trim(log->text()), '\n');
    if (lines.size() > kLogLines) lines.erase(lines.begin(), lines.end() - kLogLines);
    session.out() << fmt::format("\nlast lines of the log of attempt {}\n", log->attempt());
    for (const std::string& line : lines) session.out() << "  " << Printable(line) << "\n";
  }
  session.out() << fmt::format("\nto repeat it by itself\n  {}\n", RepeatCommand(session, job));
}

// The worker of an attempt: by its name, with its id where another worker of that name trained the job too.
std::string WorkerOf(const v1::AttemptInfo& attempt, const v1::GetJobResponse& job) {
  const bool shared = std::ranges::any_of(job.attempts(), [&attempt](const v1::AttemptInfo& other) {
    return other.worker_name() == attempt.worker_name() && other.worker() != attempt.worker();
  });
  return shared ? fmt::format("{} {}", attempt.worker_name(), ShortId(attempt.worker())) : attempt.worker_name();
}

// Of the phases of one that runs, the one that somebody should do something about is named.
std::string OutcomeOf(const v1::AttemptInfo& attempt) {
  if (!attempt.outcome().empty()) return attempt.outcome();
  return attempt.phase() == Word(AttemptPhase::kWaitingForDisk) ? fmt::format("running: {}", attempt.phase()) : "running";
}

GridCell OriginOf(const v1::AttemptInfo& attempt) {
  if (!attempt.has_went_on_from()) return MissingCell();
  return TextCell(fmt::format("attempt {}, step {}", attempt.went_on_from().attempt(), attempt.went_on_from().step()));
}

Grid AttemptsOf(const v1::GetJobResponse& response) {
  Grid attempts;
  attempts.columns = {{"attempt", "ATTEMPT", true}, {"worker", "WORKER"},  {"outcome", "OUTCOME"},
                      {"started_at", "STARTED"},    {"ended_at", "ENDED"}, {"members", "JOBS", true},
                      {"engine", "ENGINE"},         {"device", "DEVICE"},  {"threads", "THREADS", true},
                      {"build", "BUILD"},           {"detail", "DETAIL"}};
  // Of a job that was never interrupted there is none.
  const bool with_origins = std::ranges::any_of(response.attempts(), [](const v1::AttemptInfo& one) { return one.has_went_on_from(); });
  if (with_origins) attempts.columns.push_back({"went_on_from", "WENT ON FROM"});
  for (const v1::AttemptInfo& one : response.attempts()) {
    attempts.rows.push_back({NumberCell(one.attempt()), TextCell(WorkerOf(one, response)),
                             TextCell(OutcomeOf(one)),
                             TimeCell(one.started_at()), TimeCell(one.ended_at()),
                             NumberCell(one.members()), TextCell(one.engine()), TextCell(one.device()),
                             one.threads() > 0 ? NumberCell(one.threads()) : MissingCell(), TextCell(one.build()), TextCell(one.detail())});
    if (with_origins) attempts.rows.back().push_back(OriginOf(one));
  }
  return attempts;
}

// Of tests while it was trained, of which there may be hundreds: -o json has them here.
bool IsOnTheWay(const v1::Measurement& one) { return StepOfSlice(one.slice()).has_value(); }

// What it measured at its end.
Grid MeasurementsOf(const v1::GetJobResponse& response) {
  Grid measured;
  measured.columns = {
      {"metric", "METRIC"}, {"length", "LENGTH", true}, {"slice", "SLICE"}, {"value", "VALUE", true}};
  for (const v1::Measurement& one : response.measurements()) {
    if (IsOnTheWay(one)) continue;
    measured.rows.push_back(
        {TextCell(one.metric()), one.length() == 0 ? TextCell("all") : NumberCell(one.length()),
         TextCell(one.slice()), NumberCell(one.value(), fmt::format("{:.6g}", one.value()))});
  }
  return measured;
}

Grid ArtifactsOf(const v1::GetJobResponse& response) {
  Grid artifacts;
  artifacts.columns = {
      {"kind", "ARTIFACT"}, {"step", "STEP", true}, {"bytes", "BYTES", true}, {"sha256", "SHA-256"}};
  for (const v1::ArtifactInfo& one : response.artifacts()) {
    artifacts.rows.push_back(
        {TextCell(one.kind()), NumberCell(one.step()), NumberCell(one.bytes()), TextCell(one.sha256())});
  }
  return artifacts;
}

// Of its curve, which -o json has.
void PrintLosses(const v1::GetJobResponse& response, std::ostream& out) {
  if (response.progress().empty()) return;
  const v1::ProgressPoint& last = *response.progress().rbegin();
  out << fmt::format("  training loss {:.4g} at step {}\n", last.loss(), last.step());
  std::vector<double> losses;
  for (const v1::ProgressPoint& point : response.progress()) losses.push_back(point.loss());
  if (const std::string curve = Sparkline(losses, kCurveWidth); !curve.empty()) out << "    " << curve << "\n";
}

void PrintJob(const v1::GetJobResponse& response, int width, std::ostream& out) {
  const v1::Job& job = response.job();
  out << fmt::format("job {}\n", Printable(job.id()));
  if (!job.systems().empty()) out << fmt::format("  system {}\n", Printable(SystemsText(job)));
  out << fmt::format("  {} {}, learning rate {}, seed {}\n", Printable(job.task()), Printable(job.encoding()),
                     ShortestNumber(job.learning_rate()), job.seed());
  out << fmt::format("  {}{}, step {} of {}\n", ShownState(job.state()), job.diverged() ? " (diverged)" : "",
                     job.step(), job.steps());
  PrintLosses(response, out);
  if (job.has_score()) out << fmt::format("  score {:.4f}\n", job.score());
  if (job.failures() > 0 || job.losses() > 0) {
    out << fmt::format("  {}, {} of a worker\n", Count(job.failures(), "failure"),
                       job.losses() == 1 ? "1 loss" : fmt::format("{} losses", job.losses()));
  }
  if (!job.failure().empty()) out << Prose("  reason: ", Printable(job.failure()), width) << "\n";
  for (const std::string& note : response.notes()) out << Prose("  note: ", Printable(note), width) << "\n";
  std::vector<std::string> sweeps;
  for (const std::string& sweep : response.sweeps()) sweeps.push_back(ShortId(sweep));
  if (!sweeps.empty()) out << fmt::format("  in {}\n", Join(sweeps, ", "));

  out << "\nspecification (its SHA-256 is the id)\n";
  for (const std::string& line : Split(Trim(response.canonical()), '\n')) {
    out << "  " << Printable(line) << "\n";
  }

  for (const Grid& grid : {AttemptsOf(response), MeasurementsOf(response), ArtifactsOf(response)}) {
    if (!grid.rows.empty()) out << "\n" << GridAsTable(grid, false, width);
  }
  if (const auto more = std::ranges::count_if(response.measurements(), IsOnTheWay); more > 0) {
    out << fmt::format("\n{} over all lengths, while it was trained, not shown: 'longreach plot SWEEP --x step --metric {}' draws them, and 'longreach results SWEEP --jobs' lists them\n",
                       Count(more, "value"), std::ranges::find_if(response.measurements(), IsOnTheWay)->metric());
  }
}

class JobCommand final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "Show one job: specification, attempts, measurements, artifacts",
            .details = "Of a failed job also the log's last lines, and the command that repeats it. 'longreach logs JOB --attempt N' prints\n"
                       "the log of one of its attempts.\n"
                       "--spec prints a sweep file of that one job: 'longreach run /dev/stdin' takes it.\n"
                       "--get fetches the newest of its files of a kind: weights, series, checkpoint, log.",
            .examples = "longreach job 1f3a\nlongreach job 1f3a92c0 -o json\n"
                        "longreach job 1f3a --spec | longreach run /dev/stdin --store repeat.db\n"
                        "longreach job 1f3a --get weights --file weights.safetensors"};
  }
  void AddOptions(CLI::App& app) override {
    AddJobArgument(app, job_);
    app.add_flag("--spec", spec_, "Print a sweep file of this one job instead");
    app.add_option("--get", get_, "Fetch its newest file of this kind instead")->type_name("KIND");
    app.add_option("--file", file_, "The file to make of it, which is not there yet; -: standard output")->type_name("FILE");
  }

  absl::StatusOr<int> Run(Session& session) override {
    RETURN_IF_ERROR(CheckOptions());
    ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kToRead));
    v1::GetJobRequest request;
    request.set_job(job_);
    ASSIGN_OR_RETURN(v1::GetJobResponse response, connection->Call(&Connection::Stub::GetJob, request));
    for (std::string& note : *response.mutable_notes()) note = WithFlags(note, session);
    if (!get_.empty()) return Get(session, *connection, response);
    if (spec_) {
      ASSIGN_OR_RETURN(v1::SweepSpec sweep, SweepOfJob(*connection, response.spec()));
      sweep.set_name(fmt::format("repeat-{}", ShortId(response.job().id())));
      session.out() << (session.json() ? JsonDocument({{"spec", JsonOf(sweep)}}) : ToYaml(sweep));
    } else if (session.json()) {
      session.out() << JsonDocument(response);
    } else if (session.settings().quiet) {
      session.out() << response.job().id() << "\n";
    } else {
      PrintJob(response, session.environment().out_width(), session.out());
      if (response.job().state() == "failed") PrintFailure(session, *connection, response.job());
    }
    return kDone;
  }

 private:
  absl::Status CheckOptions() const {
    if (spec_ && !get_.empty()) return UsageError("--spec and --get: one of them at a time");
    if (get_.empty() != file_.empty()) {
      return file_.empty() ? UsageError("--get: where to?", "name the file to make with --file") : UsageError("--file: of what?", "name a kind of file with --get");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int> Get(Session& session, Connection& connection, const v1::GetJobResponse& response) const {
    const v1::ArtifactInfo* newest = nullptr;
    std::set<std::string> kinds;
    for (const v1::ArtifactInfo& one : response.artifacts()) {
      kinds.insert(one.kind());
      if (one.kind() == get_ && (newest == nullptr || one.step() >= newest->step())) newest = &one;
    }
    if (newest == nullptr) {
      return Error(absl::StatusCode::kNotFound, fmt::format("job {} has no file of the kind '{}'", ShortId(response.job().id()), Printable(get_)),
                   kinds.empty() ? "it has none at all" : fmt::format("it has: {}", Printable(Join({kinds.begin(), kinds.end()}, ", "))));
    }
    const bool to_stdout = file_ == kStdout;
    if (!to_stdout) RETURN_IF_ERROR(CheckNewFile(file_));
    InterruptScope interrupt;  // What was fetched goes away with us.
    ASSIGN_OR_RETURN(const PrivateFolder download, to_stdout ? PrivateFolder::Temporary() : PrivateFolder::Beside(file_));
    const absl::Status got = connection.DownloadTo(download / "file", newest->sha256(), [&interrupt] { return interrupt.count() > 0; });
    if (interrupt.count() > 0) return interrupt.exit_code();
    RETURN_IF_ERROR(got);
    if (to_stdout) return Print(session, download / "file");
    RETURN_IF_ERROR(RenameToNewFile(download / "file", file_));
    if (session.json()) {
      session.out() << JsonDocument(*newest);
    } else {
      const bool of_pack = HasMemberAxis(ParseArtifactKind(newest->kind()));
      session.out() << fmt::format("{}: {} of step {}, {} bytes{}\n", Printable(file_), Printable(newest->kind()), newest->step(),
                                   Thousands(static_cast<int64_t>(newest->bytes())), of_pack ? fmt::format("; row {} is this job's", newest->member()) : "");
    }
    return kDone;
  }

  // What cannot be written whole is no success.
  static absl::StatusOr<int> Print(Session& session, const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::array<char, 1 << 16> part;
    while (in.read(part.data(), part.size()) || in.gcount() > 0) session.out().write(part.data(), in.gcount());
    session.out().flush();
    if (!session.out() || !in.eof()) return Error(absl::StatusCode::kDataLoss, "the file could not be written to standard output as a whole", "is there room where it goes to?");
    return kDone;
  }

  std::string job_;
  bool spec_ = false;
  std::string get_;
  std::string file_;
};

}  // namespace

std::unique_ptr<Command> Make_job() { return std::make_unique<JobCommand>(); }

}  // namespace longreach::client
