#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/outcome.h"
#include "client/commands/suggestions.h"
#include "client/commands/sweep_of_job.h"
#include "client/figure/attention_figure.h"
#include "client/figure/attention_series.h"
#include "client/figure/png.h"
#include "client/new_file.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "client/sweep_run.h"
#include "client/watcher.h"
#include "proto/base/text.h"
#include "proto/types/artifact_kind.h"

namespace longreach::client {
namespace {

class Attention final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "Draw where a trained job's model looks: its attention matrices",
            .details =
                "A job of its own computes them with that job's weights, of the first test sequence of this length; it is kept,\n"
                "so that the same command draws the figure again at once. With --store a worker of this machine does it.\n"
                "FILE.png has a panel for each layer: queries downwards, keys to the right, the maximum over the heads.\n"
                "FILE.safetensors has the numbers (docs/howto/attention.md).",
            .examples = "longreach attention 1f3a --length 1024 --file figure.png\n"
                        "longreach attention 1f3a --length 256 --file figure.png --max 0.5 --store table1.db\n"
                        "longreach attention 1f3a --length 256 --file matrices.safetensors"};
  }
  void AddOptions(CLI::App& app) override {
    AddJobArgument(app, job_);
    app.add_option("--length", length_, "Length of the sequence")->type_name("N")->required()->check(CLI::Range(1, 1'000'000));
    app.add_option("--file", file_, "What to write: FILE.png or FILE.safetensors")->type_name("FILE")->required()->check(WhyNoText);
    app.add_option("--max", most_, "Where the colours of all panels end [in each at the 99th percentile of its values above 0]")
        ->type_name("SHARE")
        ->check([](const std::string& text) {
          const std::optional<double> share = ParseDouble(text);
          return share && *share > 0 && *share <= 1 ? "" : fmt::format("'{}' is no number above 0 and at most 1", Printable(text));
        });
    AddWorkerOptions(app, worker_options_);
  }

  absl::StatusOr<int> Run(Session& session) override {
    const std::filesystem::path path(file_);
    const std::string extension = path.extension().string();
    if (extension != ".png" && extension != ".safetensors") {
      return UsageError(fmt::format("--file: '{}' ends neither in .png, a figure, nor in .safetensors, the numbers", Printable(file_)));
    }
    RETURN_IF_ERROR(CheckNewFile(path));
    session.KeepStore();
    ASSIGN_OR_RETURN(Connection * connection, session.Connect());
    RETURN_IF_ERROR(CheckWorkerOptions(session, worker_options_));
    v1::GetJobRequest request;
    request.set_job(job_);
    ASSIGN_OR_RETURN(const v1::GetJobResponse trained, connection->Call(&Connection::Stub::GetJob, request));
    RETURN_IF_ERROR(CheckTrained(session, trained));
    ASSIGN_OR_RETURN(const v1::SweepSpec spec, SpecOf(*connection, trained));
    RETURN_IF_ERROR(CheckPlan(*connection, spec, trained.job()));

    InterruptScope interrupt;
    const std::string most = most_ ? fmt::format(" --max {}", *most_) : "";
    const std::string again = fmt::format("longreach attention {} --length {} --file {}{}{}", ShortId(trained.job().id()), length_, ShellWord(file_), most, WhereFlags(session));
    v1::SubmitSweepRequest submission;
    *submission.mutable_spec() = spec;
    submission.set_aside(true);
    SweepRun run(session, *connection, interrupt, submission, {.retry_failed = true, .worker = worker_options_, .again = again});
    ASSIGN_OR_RETURN(const std::optional<int> ended, run.ToItsEnd());
    if (ended.has_value()) return *ended;
    if (!AllSucceeded(run.sweep())) return ReportOutcome(session, *connection, run.sweep(), "the same command tries again");
    ASSIGN_OR_RETURN(const v1::GetJobResponse computed, JobOfSweep(*connection, run.sweep()));
    ASSIGN_OR_RETURN(const v1::ArtifactInfo artifact, SeriesOf(computed));
    ASSIGN_OR_RETURN(std::string bytes, connection->Download(artifact.sha256()));
    ASSIGN_OR_RETURN(const AttentionSeries series, AttentionSeries::Parse(bytes, length_));
    if (extension == ".png") {
      ASSIGN_OR_RETURN(bytes, Draw(series, trained, computed.job()));
    }
    RETURN_IF_ERROR(WriteNewFileForAll(path, bytes));
    Print(session, series, trained.job(), computed.job(), artifact, bytes.size());
    return kDone;
  }

 private:
  static bool Has(const v1::GetJobResponse& response, ArtifactKind kind) {
    return std::ranges::any_of(response.artifacts(), [kind](const v1::ArtifactInfo& one) { return one.kind() == Word(kind); });
  }

  static absl::Status CheckTrained(Session& session, const v1::GetJobResponse& trained) {
    const v1::Job& job = trained.job();
    const std::string id = Printable(ShortId(job.id()));
    if (trained.spec().experiment() == "llama") {
      return Error(absl::StatusCode::kFailedPrecondition, fmt::format("job {} is of the kind llama, whose jobs keep no attention matrices", id),
                   "'longreach plot SWEEP --metric attention_entropy' shows how its heads look around");
    }
    if (job.state() != "succeeded") {
      return Error(absl::StatusCode::kFailedPrecondition,
                   fmt::format("job {} is {} at update {} of {}: it has no final weights", id, ShownState(job.state()), job.step(), job.steps()),
                   fmt::format("'longreach explain {}{}' says what it waits for", id, WhereFlags(session)));
    }
    if (!Has(trained, ArtifactKind::kWeights)) {
      return Error(absl::StatusCode::kFailedPrecondition, fmt::format("job {} has no weights any more", id),
                   fmt::format("to train it again, in a store of its own: {}", RepeatCommand(session, job)));
    }
    if (job.diverged()) session.Say(fmt::format("job {} diverged: these are the weights before that", id));
    return absl::OkStatus();
  }

  // One job that trains nothing: the trained job's model and positions, with its weights.
  absl::StatusOr<v1::SweepSpec> SpecOf(Connection& connection, const v1::GetJobResponse& trained) const {
    ASSIGN_OR_RETURN(const v1::SweepSpec made, SweepOfJob(connection, trained.spec()));
    v1::SweepSpec spec = made;
    spec.set_name(fmt::format("attention-{}-{}", ShortId(trained.job().id()), length_));
    spec.clear_inputs();
    v1::Input& weights = *spec.add_inputs();
    weights.set_name("weights");
    weights.set_artifact(std::string(Word(ArtifactKind::kWeights)));
    *weights.mutable_from() = made;
    spec.clear_training();
    spec.mutable_training()->set_steps(0);
    *spec.mutable_training()->mutable_lengths() = made.training().lengths();  // Where attention goes by how long trained tapes were.
    v1::Evaluation& evaluation = *spec.mutable_evaluation();
    evaluation.clear_lengths();
    evaluation.add_lengths(length_);
    evaluation.clear_output_lengths();
    evaluation.clear_curve_every();
    evaluation.clear_curve_lengths();
    evaluation.clear_attention_lengths();
    evaluation.add_attention_lengths(length_);
    evaluation.set_examples(1);
    evaluation.clear_dropout();
    return spec;
  }

  // What this length asks too much of; and that nothing would be trained again because what the job was made by has a newer
  // revision by now.
  absl::Status CheckPlan(Connection& connection, const v1::SweepSpec& spec, const v1::Job& job) const {
    v1::SubmitSweepRequest request;
    *request.mutable_spec() = spec;
    request.set_dry_run(true);
    const absl::StatusOr<v1::SubmitSweepResponse> response = connection.Call(&Connection::Stub::SubmitSweep, request);
    if (response.status().code() == absl::StatusCode::kInvalidArgument) {
      return UsageError(fmt::format("--length {}: {}", length_, SplitError(response.status()).message), "choose another --length");
    }
    RETURN_IF_ERROR(response.status());
    const v1::Plan& plan = response->plan();
    if (plan.prerequisites_done() == plan.prerequisites()) return absl::OkStatus();
    return Error(absl::StatusCode::kFailedPrecondition,
                 fmt::format("job {} was made by an older revision of its task, encoding or model than this scheduler has, which would "
                             "train it again",
                             Printable(ShortId(job.id()))),
                 "submit its sweep again, and take the job that it has then");
  }

  static absl::StatusOr<v1::GetJobResponse> JobOfSweep(Connection& connection, const v1::Sweep& sweep) {
    v1::ListJobsRequest list;
    list.set_sweep(sweep.id());
    ASSIGN_OR_RETURN(const v1::ListJobsResponse jobs, connection.Call(&Connection::Stub::ListJobs, list));
    if (jobs.jobs_size() != 1) return absl::InternalError(fmt::format("sweep {} has {} jobs", Printable(sweep.name()), jobs.jobs_size()));
    v1::GetJobRequest request;
    request.set_job(jobs.jobs(0).id());
    return connection.Call(&Connection::Stub::GetJob, request);
  }

  static absl::StatusOr<v1::ArtifactInfo> SeriesOf(const v1::GetJobResponse& computed) {
    for (const v1::ArtifactInfo& artifact : computed.artifacts()) {
      if (artifact.kind() == Word(ArtifactKind::kSeries)) return artifact;
    }
    const std::string id = Printable(ShortId(computed.job().id()));
    const std::string build = computed.attempts().empty() ? "" : computed.attempts().rbegin()->build();
    return Error(absl::StatusCode::kFailedPrecondition, fmt::format("job {} left no matrices; it was computed by {}", id, Printable(build)),
                 "a worker of an older version leaves them out; update it, and try another --length");
  }

  absl::StatusOr<std::string> Draw(const AttentionSeries& series, const v1::GetJobResponse& trained, const v1::Job& computed) const {
    const v1::Job& job = trained.job();
    const std::string& data = trained.spec().data();
    const std::string what = fmt::format("attention of job {}: {} {}, learning rate {}, seed {}", ShortId(job.id()),
                                         data.empty() ? job.task() : data, job.encoding(), ShortestNumber(job.learning_rate()), job.seed());
    const AttentionFigure figure{
        .title = fmt::format("{}; length {} ({} tokens), maximum over {} heads; query downwards, key to the right", what, length_,
                             series.tape(), series.heads()),
        .most = most_};
    return EncodePng(DrawAttention(series, figure), {{"Title", what}, {"Source", fmt::format("longreach job {}, from the weights of {}",
                                                                                            computed.id(), job.id())}});
  }

  void Print(Session& session, const AttentionSeries& series, const v1::Job& trained, const v1::Job& computed,
             const v1::ArtifactInfo& artifact, size_t bytes) const {
    if (session.json()) {
      session.out() << JsonDocument({{"job", JsonText(trained.id())},
                                     {"attention_job", JsonText(computed.id())},
                                     {"length", JsonNumber(length_)},
                                     {"tape", JsonNumber(static_cast<double>(series.tape()))},
                                     {"layers", JsonNumber(static_cast<double>(series.layers()))},
                                     {"series", JsonText(artifact.sha256())},
                                     {"file", JsonText(file_)},
                                     {"bytes", JsonNumber(static_cast<double>(bytes))}});
    } else if (session.settings().quiet) {
      session.out() << computed.id() << "\n";
    } else {
      session.out() << fmt::format("{}: {} of job {}, {} tokens\n", Printable(file_), Count(series.layers(), "layer"),
                                   Printable(ShortId(trained.id())), series.tape());
    }
  }

  std::string job_;
  int length_ = 0;
  std::string file_;
  std::optional<double> most_;
  WorkerOptions worker_options_;
};

}  // namespace

std::unique_ptr<Command> Make_attention() { return std::make_unique<Attention>(); }

}  // namespace longreach::client
