#include "client/commands/common.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/output/json.h"
#include "client/output/text.h"
#include "client/spec/sweep_writer.h"
#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "proto/types/words.h"

namespace longreach::client {

void SpecArguments::AddTo(CLI::App& app) {
  app.add_option("SPEC", spec, "A preset, or a YAML file")->required();
  app.add_option("--set", overrides, "Replace an axis or a field of the sweep; may be repeated")
      ->type_name("PATH=VALUE[,VALUE...]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

namespace {

// What the scheduler would refuse as well, but only if the message reached it: lists of millions make it
// too large.
absl::Status CheckSize(const v1::SweepSpec& spec) {
  constexpr double kMaxJobs = 10'000'000;
  constexpr size_t kMaxBytes = 15 << 20;
  const v1::Axes& axes = spec.axes();
  const double jobs = static_cast<double>(axes.task_size()) * axes.encoding_size() *
                      axes.learning_rate_size() * axes.seed_size();
  if (jobs > kMaxJobs) {
    return Error(
        absl::StatusCode::kResourceExhausted,
        fmt::format(
            "axes: {} tasks x {} encodings x {} learning rates x {} seeds = {:.0f} jobs; at most {:.0f}",
            axes.task_size(), axes.encoding_size(), axes.learning_rate_size(), axes.seed_size(), jobs,
            kMaxJobs),
        "cut an axis with --set, or split the sweep");
  }
  if (spec.ByteSizeLong() > kMaxBytes) {
    return Error(absl::StatusCode::kResourceExhausted,
                 "the sweep's lists are too long to be sent to the scheduler", "split the sweep");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckChoice(std::string_view option, const std::string& value, const std::vector<std::string>& known) {
  if (value.empty() || std::ranges::find(known, value) != known.end()) return absl::OkStatus();
  return UsageError(fmt::format("{}: unknown value '{}'", option, Printable(value)),
                    JoinHints(DidYouMean(value, known), fmt::format("there are: {}", Join(known, ", "))));
}

absl::Status CheckMeasure(const std::string& metric, const std::string& aggregate) {
  RETURN_IF_ERROR(CheckChoice("--aggregate", aggregate, {"max", "min", "mean", "median"}));
  std::vector<std::string> metrics;
  for (const catalog::Metric& one : catalog::Metrics()) metrics.emplace_back(one.name);
  return CheckChoice("--metric", metric, metrics);
}

void AddOnlyOption(CLI::App& app, std::vector<std::string>& only) {
  app.add_option("--only", only, "Only jobs with these values of an axis; may be repeated for other axes")
      ->type_name("AXIS=VALUE[,VALUE...]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->check(WhyNoText);
}

absl::StatusOr<std::vector<LoadedSweep>> SpecArguments::Load() const {
  ASSIGN_OR_RETURN(std::vector<LoadedSweep> sweeps, LoadSweeps(*this));
  for (const LoadedSweep& one : sweeps) RETURN_IF_ERROR(CheckSize(one.file.spec));
  return sweeps;
}

absl::StatusOr<v1::Sweep> FindSweep(Connection& connection, const std::string& sweep) {
  v1::GetSweepRequest request;
  request.set_sweep(sweep);
  return connection.Call(&Connection::Stub::GetSweep, request);
}

absl::StatusOr<v1::SubmitSweepResponse> DryRun(Connection& connection, const v1::SweepSpec& spec) {
  v1::SubmitSweepRequest request;
  *request.mutable_spec() = spec;
  request.set_dry_run(true);
  return connection.Call(&Connection::Stub::SubmitSweep, request, std::chrono::minutes(10));
}

absl::Status CheckParts(Connection& connection, const std::vector<LoadedSweep>& sweeps) {
  if (sweeps.size() < 2) return absl::OkStatus();
  for (const LoadedSweep& one : sweeps) {
    const absl::StatusOr<v1::SubmitSweepResponse> planned = DryRun(connection, one.file.spec);
    if (planned.ok()) continue;
    const auto [message, hint] = SplitError(planned.status());
    return Error(planned.status().code(), fmt::format("part '{}': {}", Printable(one.file.spec.name()), message), hint);
  }
  return absl::OkStatus();
}

std::string CommandLine(const SweepSource& source) {
  std::string line = ShellWord(source.spec);
  for (const std::string& one : source.overrides) line += " --set " + ShellWord(one);
  return line;
}

void PartsOutput::Begin(const std::string& sweep) {
  const Format format = session_.settings().format;
  if (!several_ || format == Format::kJson || format == Format::kCsv) return;
  const std::string_view mark = format == Format::kMarkdown ? "## " : format == Format::kLatex ? "% " : "";
  session_.out() << fmt::format("{}{}{}\n", begun_ ? "\n" : "", mark, Printable(sweep)) << (format == Format::kMarkdown ? "\n" : "");
  begun_ = true;
}

void PartsOutput::Add(const std::string& sweep, const std::string& key, const google::protobuf::Message& message) {
  if (several_) return Add({{"sweep", JsonText(sweep)}, {key, JsonOf(message)}});
  session_.out() << JsonDocument(message);
}

void PartsOutput::Add(const Members& members) {
  if (!several_) {
    session_.out() << JsonDocument(members);
    return;
  }
  std::vector<std::string> texts;
  for (const auto& [name, value] : members) texts.push_back(JsonText(name) + ":" + value);
  parts_.push_back("{" + Join(texts, ",") + "}");
}

void PartsOutput::Finish() {
  if (several_) session_.out() << JsonDocument({{"parts", "[" + Join(parts_, ",") + "]"}});
}

std::string WhyNoText(const std::string& word) {
  for (std::string_view rest = word; !rest.empty();) {
    if (TakeCodePoint(rest) < 0) return fmt::format("'{}' is not UTF-8", Printable(word));
  }
  return "";
}

// Why this names no single sweep; empty: it may.
std::string WhyNotOneSweep(const std::string& word) {
  std::vector<std::string> names;
  for (const LoadedSweep& part : PartsOfPreset(word)) names.push_back(part.file.spec.name());
  return names.empty() ? "" : fmt::format("'{}' stands for several sweeps; name one of {}", Printable(word), Join(names, ", "));
}

CLI::Option* AddSweepArgument(CLI::App& app, std::string& sweep, const SweepArgument& how) {
  CLI::Option* const option = app.add_option(how.name, sweep, how.required ? how.description : how.description + " [last]")->required(how.required)->check(WhyNoText);
  return how.parts ? option : option->check(WhyNotOneSweep);
}

CLI::Option* AddJobArgument(CLI::App& app, std::string& job) {
  return app.add_option("JOB", job, "The job's id, or its beginning (at least 4 digits)")->required()->check(WhyNoText);
}

std::string ShellWord(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string WhereFlags(Session& session) {
  if (!session.store().empty()) return " --store " + ShellWord(session.store());
  // A scheduler named by the environment or the config file is found again without a flag, but a flag does
  // no harm.
  if (session.settings().scheduler_named) return " --scheduler " + ShellWord(session.settings().scheduler);
  return "";
}

std::string RepeatCommand(Session& session, const v1::Job& job) {
  const std::string id = Printable(ShortId(job.id()));
  return fmt::format("longreach job {0} --spec{1} | longreach run /dev/stdin --store repeat-{0}.db", id, WhereFlags(session));
}

absl::StatusOr<v1::SweepSpec> SweepOfJob(Connection& connection, const v1::JobSpec& job, int depth) {
  constexpr int kMaxDepth = 8;  // Inputs of inputs.
  if (depth > kMaxDepth) return absl::InternalError("the job's inputs need each other");
  v1::SweepSpec sweep = SweepOf(job);
  for (const v1::JobInput& one : job.inputs()) {
    v1::GetJobRequest request;
    request.set_job(one.job());
    ASSIGN_OR_RETURN(const v1::GetJobResponse source, connection.Call(&Connection::Stub::GetJob, request));
    v1::Input& input = *sweep.add_inputs();
    input.set_name(one.name());
    input.set_artifact(one.artifact());
    input.set_metric(one.metric());
    ASSIGN_OR_RETURN(*input.mutable_from(), SweepOfJob(connection, source.spec(), depth + 1));
  }
  return sweep;
}

Grid SweepsGrid(const std::vector<v1::Sweep>& sweeps) {
  Grid grid;
  grid.columns = {{"id", "ID"},
                  {"name", "NAME"},
                  {"state", "STATE"},
                  {"priority", "PRIORITY", true},
                  {"jobs", "JOBS", true},
                  {"succeeded", "DONE", true},
                  {"leased", "RUNNING", true},
                  {"queued", "QUEUED", true},
                  {"waiting", "WAITING", true},
                  {"failed", "FAILED", true},
                  {"cancelled", "CANCELLED", true},
                  {"submitted_at", "SUBMITTED"}};
  for (const v1::Sweep& sweep : sweeps) {
    const v1::JobCounts& counts = sweep.counts();
    grid.rows.push_back({{.value = sweep.id(), .shown = ShortId(sweep.id())},
                         TextCell(sweep.name()),
                         TextCell(sweep.state()),
                         NumberCell(sweep.priority()),
                         NumberCell(sweep.jobs()),
                         NumberCell(counts.succeeded()),
                         NumberCell(counts.leased()),
                         NumberCell(counts.queued()),
                         NumberCell(counts.waiting()),
                         NumberCell(counts.failed()),
                         NumberCell(counts.cancelled()),
                         TextCell(HumanTime(sweep.submitted_at()))});
  }
  return grid;
}

std::string SystemsText(const v1::Job& job) { return Join({job.systems().begin(), job.systems().end()}, ", "); }

Grid JobsGrid(const std::vector<v1::Job>& jobs) {
  Grid grid;
  grid.columns = {{"id", "ID"},
                  {"task", "TASK"},
                  {"encoding", "ENCODING"},
                  {"learning_rate", "LEARNING RATE", true},
                  {"seed", "SEED", true},
                  {"state", "STATE"},
                  {"step", "STEP", true},
                  {"steps", "OF", true},
                  {"score", "SCORE", true},
                  {"failures", "FAILURES", true},
                  {"failure", "REASON"}};
  // Only where there are some: what other sweeps print stays as it is.
  const bool systems = std::ranges::any_of(jobs, [](const v1::Job& job) { return !job.systems().empty(); });
  if (systems) grid.columns.insert(grid.columns.begin() + 1, GridColumn{"system", "SYSTEM"});
  for (const v1::Job& job : jobs) {
    grid.rows.push_back(
        {{.value = job.id(), .shown = ShortId(job.id())},
         TextCell(job.task()),
         TextCell(job.encoding()),
         NumberCell(job.learning_rate()),
         NumberCell(job.seed()),
         TextCell(job.diverged() ? job.state() + " (diverged)" : job.state()),
         NumberCell(job.step()),
         NumberCell(job.steps()),
         job.has_score() ? NumberCell(job.score(), fmt::format("{:.4f}", job.score())) : MissingCell(),
         NumberCell(job.failures()),
         TextCell(job.failure())});
    if (systems) grid.rows.back().insert(grid.rows.back().begin() + 1, TextCell(SystemsText(job)));
  }
  return grid;
}

void PrintSweep(Session& session, const v1::Sweep& sweep) {
  if (session.json()) {
    session.out() << JsonDocument(sweep);
  } else if (session.settings().quiet) {
    session.out() << sweep.id() << "\n";
  } else {
    session.Print(SweepsGrid({sweep}), "sweeps");
  }
}

absl::StatusOr<int> SteerSweep(Session& session, const std::string& sweep,
                               v1::SteerSweepRequest::Action action, int priority) {
  ASSIGN_OR_RETURN(Connection * connection, session.Connect());
  v1::SteerSweepRequest request;
  request.set_sweep(sweep);
  request.set_action(action);
  request.set_priority(priority);
  ASSIGN_OR_RETURN(const v1::Sweep after, connection->Call(&Connection::Stub::SteerSweep, request, std::chrono::minutes(10)));
  PrintSweep(session, after);
  return kDone;
}

absl::StatusOr<v1::SweepUpdate> SweepState(Connection& connection, const std::string& sweep) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  v1::GetSweepRequest request;
  request.set_sweep(sweep);
  const auto reader = connection.stub().WatchSweep(&context, request);
  v1::SweepUpdate update;
  if (reader->Read(&update)) {
    context.TryCancel();
    reader->Finish();
    return update;
  }
  const grpc::Status status = reader->Finish();
  if (status.ok()) return absl::InternalError("the scheduler sent no state of the sweep");
  return connection.Translate(status);
}

v1::TableSpec TableOfPreset(const std::string& sweep_name) {
  if (const catalog::File* preset = catalog::FindPreset(sweep_name); preset != nullptr) {
    absl::StatusOr<SweepFile> file = ReadSweepFile(preset->text, sweep_name);
    return file.ok() ? std::move(file)->table : v1::TableSpec();
  }
  for (const catalog::File& preset : catalog::Presets()) {
    for (const LoadedSweep& part : PartsOfPreset(std::string(preset.name))) {
      if (part.file.spec.name() == sweep_name) return part.file.table;
    }
  }
  return {};
}

std::vector<LoadedSweep> PartsOfPreset(const std::string& name) {
  const catalog::File* preset = catalog::FindPreset(name);
  // Most have none, and reading a long one takes milliseconds.
  if (preset == nullptr || preset->text.find("\nparts:") == std::string_view::npos) return {};
  absl::StatusOr<std::vector<LoadedSweep>> parts = LoadSweeps({.spec = name, .overrides = {}});
  return parts.ok() ? *std::move(parts) : std::vector<LoadedSweep>();
}

void SetUsualAxes(const v1::SweepSpec& spec, v1::TableSpec& table) {
  // Different systems are never one cell.
  const bool systems = !spec.systems().empty();
  const bool encodings = !systems || (spec.axes().encoding_size() > 1 && spec.axes().task_size() <= 1);
  if (table.rows().empty()) table.set_rows(systems ? "system" : "task");
  if (table.columns().empty()) table.set_columns(encodings ? "encoding" : "task");
}

namespace {

// What goes into a sweep's cells: "mean over seeds and learning rates". Empty: each is of one job.
std::string AggregatedOver(const v1::SweepSpec& spec, const v1::TableSpec& table) {
  std::vector<std::string> axes;
  const auto add = [&](std::string_view axis, int64_t values, std::string_view plural) {
    for (const std::string& only : table.only()) {
      if (only.starts_with(fmt::format("{}=", axis))) values = std::ranges::count(only, ',') + 1;
    }
    if (values > 1 && table.rows() != axis && table.columns() != axis) axes.emplace_back(plural);
  };
  add("seed", spec.axes().seed_size(), "seeds");
  add("learning_rate", spec.axes().learning_rate_size(), "learning rates");
  add("encoding", spec.axes().encoding_size(), "encodings");
  add("task", spec.axes().task_size(), "tasks");
  add("system", spec.systems_size(), "systems");
  if (axes.empty()) return "";
  const std::string how = table.aggregate() == "max" ? "maximum" : table.aggregate() == "min" ? "minimum" : table.aggregate();
  return fmt::format("{} over {}", how, Join(axes, " and "));
}

// "{over}" in a title, by what it stands for; where that is nothing, without the comma before it.
void FillTitle(const v1::SweepSpec& spec, v1::TableSpec& table) {
  constexpr std::string_view kOver = "{over}";
  std::string& title = *table.mutable_title();
  const size_t at = title.find(kOver);
  if (at == std::string::npos) return;
  const std::string over = AggregatedOver(spec, table);
  const bool comma = over.empty() && at >= 2 && title.compare(at - 2, 2, ", ") == 0;
  title.replace(comma ? at - 2 : at, kOver.size() + (comma ? 2 : 0), over);
}

}  // namespace

absl::Status CompleteTable(Connection& connection, const v1::Sweep& sweep, v1::TableSpec& table) {
  SetUsualAxes(sweep.spec(), table);
  if (table.metric().empty()) {
    // The experiment kind's main one, which the scheduler knows.
    ASSIGN_OR_RETURN(const v1::Table any, FetchTable(connection, sweep.id(), table));
    table.set_metric(any.metric());
  }
  const catalog::Metric* metric = catalog::FindMetric(table.metric());
  if (table.aggregate().empty()) table.set_aggregate(std::string(catalog::UsualAggregate(metric)));
  FillTitle(sweep.spec(), table);
  if (!table.title().empty()) return absl::OkStatus();
  const std::string unit = metric == nullptr || metric->unit.empty() ? "" : fmt::format(" ({})", metric->unit);
  std::vector<std::string> slices = {table.slice()};
  for (const std::string& only : table.only()) {
    if (catalog::FindSliceAxis(only.substr(0, only.find('='))) != nullptr) slices.push_back(only);
  }
  std::erase(slices, "");
  const bool by_length = table.rows() == "length" || table.columns() == "length";
  const bool by_step = table.rows() == kStepAxis || table.columns() == kStepAxis;
  const std::string lengths = table.metric() == kTrainingLoss ? by_step ? "by step" : "at the newest step"
                              : by_length           ? "at each test length"
                              : table.length() == 0 ? "over all test lengths"
                                                    : fmt::format("at length {}", table.length());
  const std::string slice = slices.empty() ? "" : fmt::format(", {}", Join(slices, " and "));
  std::vector<std::string> rest;
  for (const std::string axis : {"task", "encoding", "learning_rate", "seed", "system"}) {
    if (axis == "system" && sweep.spec().systems().empty()) continue;
    if (table.rows() != axis && table.columns() != axis) rest.push_back(axis);
  }
  table.set_title(fmt::format("{}: {}{} {}{}, {} over {}", sweep.name(), table.metric(), unit, lengths, slice,
                              table.aggregate(), Join(rest, " and ")));
  return absl::OkStatus();
}

absl::StatusOr<v1::Table> FetchTable(Connection& connection, const std::string& sweep,
                                     const v1::TableSpec& table) {
  v1::GetTableRequest request;
  request.set_sweep(sweep);
  *request.mutable_table() = table;
  return connection.Call(&Connection::Stub::GetTable, request, std::chrono::minutes(10));
}

absl::StatusOr<double> ParseDuration(std::string_view text, std::string_view option) {
  double unit = 1;
  std::string_view number = text;
  if (!text.empty()) {
    switch (text.back()) {
      case 's': number.remove_suffix(1); break;
      case 'm':
        unit = 60;
        number.remove_suffix(1);
        break;
      case 'h':
        unit = 3600;
        number.remove_suffix(1);
        break;
      case 'd':
        unit = 86400;
        number.remove_suffix(1);
        break;
      default: break;
    }
  }
  const std::optional<double> value = ParseDouble(number);
  // The upper bound keeps sums with clock times in range.
  if (!value.has_value() || !(*value >= 0 && *value * unit <= 1e9)) {
    return UsageError(fmt::format("{}: '{}' is not a duration", option, Printable(text)),
                      "write seconds, or a number with s, m, h or d behind it: 90, 15m, 2h");
  }
  return *value * unit;
}

}  // namespace longreach::client
