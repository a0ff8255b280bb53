// What several commands share: arguments of one meaning, messages as grids, and tables.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/commands/command.h"
#include "client/output/grid.h"
#include "client/session.h"
#include "client/spec/spec_reader.h"
#include "longreach/v1/api.pb.h"

namespace longreach::client {

// SPEC and --set: what `run`, `plan` and `submit` take.
struct SpecArguments : SweepSource {
  void AddTo(CLI::App& app);
  // One sweep, or the parts of one.
  absl::StatusOr<std::vector<LoadedSweep>> Load() const;
};

// "table-b1 --set training.steps=2", for the shell: what to type to get the same again.
std::string CommandLine(const SweepSource& source);

// What a command says of each of several sweeps: as JSON in one document, {"parts": [...]}, where there are several.
class PartsOutput {
 public:
  // `several` is whether the user named a sweep of parts.
  PartsOutput(Session& session, bool several) : session_(session), several_(several) {}
  bool several() const { return several_; }
  // This is the first that is printed: true once.
  bool TakeFirst() { return std::exchange(first_, false); }
  // Before what is said of a sweep for people to read: its name, where there are several.
  void Begin(const std::string& sweep);
  // Members of a JSON object, whose values are JSON already.
  using Members = std::vector<std::pair<std::string, std::string>>;
  // A message is a document of its own where there is one sweep alone, and under `key` beside the sweep's name where there are more.
  void Add(const std::string& sweep, const std::string& key, const google::protobuf::Message& message);
  void Add(const Members& members);
  // After the last one.
  void Finish();

 private:
  Session& session_;
  bool several_;
  bool first_ = true;
  bool begun_ = false;
  std::vector<std::string> parts_;
};

inline constexpr std::string_view kSpecDetails =
    "SPEC is a preset ('longreach list presets') or a YAML file whose fields are those of a SweepSpec\n"
    "(docs/reference/sweep-files.md). A file's name has a '/' or ends in .yaml; a bare word is a preset.\n"
    "--set replaces an axis (task, encoding, learning_rate, seed) or a field (training.steps); lists have ','\n"
    "between their values, and ranges of whole numbers are a..b. A list for a field of one value (model.layers=2,4)\n"
    "makes a grid: one system for each value, or for each combination where several fields have lists.";

// Of words that go to the scheduler, whose texts are UTF-8: why this is none; empty when it is one. For Option::check().
std::string WhyNoText(const std::string& word);

// A sweep with its counts and its specification, by its id, the beginning of one, its name, or 'last'.
absl::StatusOr<v1::Sweep> FindSweep(Connection& connection, const std::string& sweep);

// What the scheduler would do with a sweep; nothing is changed.
absl::StatusOr<v1::SubmitSweepResponse> DryRun(Connection& connection, const v1::SweepSpec& spec);

// Where a file has several sweeps, that the scheduler takes each of them: none is submitted before all are known to be good.
absl::Status CheckParts(Connection& connection, const std::vector<LoadedSweep>& sweeps);

struct SweepArgument {
  bool required = true;
  bool parts = false;  // A preset of parts may stand for its sweeps.
  std::string name = "SWEEP";
  std::string description = "The sweep";
};
CLI::Option* AddSweepArgument(CLI::App& app, std::string& sweep, const SweepArgument& how = {});
CLI::Option* AddJobArgument(CLI::App& app, std::string& job);

inline constexpr std::string_view kSweepDetails =
    "SWEEP is a sweep's id, the beginning of one, its name, or 'last'.";

// That an option's value is one of those; an empty one was not given. INVALID_ARGUMENT: which there are, and the nearest.
absl::Status CheckChoice(std::string_view option, const std::string& value, const std::vector<std::string>& known);
// --metric and --aggregate of commands that show a table's values.
absl::Status CheckMeasure(const std::string& metric, const std::string& aggregate);

// --only AXIS=VALUE[,VALUE...], as TableSpec::only.
void AddOnlyOption(CLI::App& app, std::vector<std::string>& only);

// 'text' as one word for a POSIX shell.
std::string ShellWord(std::string_view text);

// What to type to run a job again, alone and in a store of its own, wherever one likes.
std::string RepeatCommand(Session& session, const v1::Job& job);

// A job as a sweep of its own without a name, with the jobs that make its inputs. `depth` is for its own use.
absl::StatusOr<v1::SweepSpec> SweepOfJob(Connection& connection, const v1::JobSpec& job, int depth = 0);

// " --store FILE" or " --scheduler ADDR" where the session was told so: what a suggested command needs.
std::string WhereFlags(Session& session);

Grid SweepsGrid(const std::vector<v1::Sweep>& sweeps);
Grid JobsGrid(const std::vector<v1::Job>& jobs);
// Its systems, as a list; "" if it has none.
std::string SystemsText(const v1::Job& job);

// One sweep after a change: its line, or JSON, or with --quiet its bare id.
void PrintSweep(Session& session, const v1::Sweep& sweep);

// Calls SteerSweep and prints the sweep.
absl::StatusOr<int> SteerSweep(Session& session, const std::string& sweep,
                               v1::SteerSweepRequest::Action action, int priority = 0);

// The newest state of a sweep.
absl::StatusOr<v1::SweepUpdate> SweepState(Connection& connection, const std::string& sweep);

// The parts of the preset of that name; none: it has none, or there is no such preset.
std::vector<LoadedSweep> PartsOfPreset(const std::string& name);

// How to print a sweep of this name: the preset's table, if there is a preset of that name, or part of one.
v1::TableSpec TableOfPreset(const std::string& sweep_name);

// Fills in the axes that a table leaves open: tasks by encodings, or systems where the sweep has some.
void SetUsualAxes(const v1::SweepSpec& spec, v1::TableSpec& table);

// Fills in what a table leaves open: the usual axes, the main metric of the sweep's experiment kind over all lengths, the best value of
// it, title. `sweep` has its specification.
absl::Status CompleteTable(Connection& connection, const v1::Sweep& sweep, v1::TableSpec& table);

absl::StatusOr<v1::Table> FetchTable(Connection& connection, const std::string& sweep,
                                     const v1::TableSpec& table);

// "90", "90s", "15m", "2h", "1d" in seconds.
absl::StatusOr<double> ParseDuration(std::string_view text, std::string_view option);

}  // namespace longreach::client
