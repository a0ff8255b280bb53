#include <fmt/format.h>

#include <algorithm>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/known_values.h"
#include "client/commands/sweep_calls.h"
#include "client/output/grid.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "client/spec/field_notes.h"
#include "client/spec/spec_reader.h"
#include "proto/base/text.h"
#include "proto/catalog/axes.h"
#include "proto/catalog/catalog.h"

namespace longreach::client {
namespace {

Grid TasksGrid() {
  Grid grid;
  grid.columns = {{"name", "NAME"},
                  {"label", "LABEL"},
                  {"experiment", "EXPERIMENT"},
                  {"level", "LEVEL"},
                  {"chance_percent", "CHANCE %", true},
                  {"permutation_invariant", "PERMUTATION-INVARIANT"},
                  {"revision", "REVISION", true}};
  for (const catalog::Task& task : catalog::Tasks()) {
    grid.rows.push_back({TextCell(task.name), TextCell(task.label), TextCell("algorithmic"),
                         TextCell(catalog::Abbreviation(task.level)), NumberCell(task.ChancePercent(), fmt::format("{:.3g}", task.ChancePercent())),
                         BoolCell(task.permutation_invariant), NumberCell(task.revision)});
  }
  for (const catalog::DataTask& task : catalog::DataTasks()) {
    grid.rows.push_back({TextCell(task.name), TextCell(task.label), TextCell(task.experiment), TextCell(""), MissingCell(),
                         BoolCell(false), NumberCell(task.revision)});
  }
  return grid;
}

Grid EncodingsGrid() {
  Grid grid;
  grid.columns = {{"name", "NAME"},       {"label", "LABEL"},
                  {"plain", "PLAIN"},     {"randomized", "RANDOMIZED"},
                  {"shifted", "SHIFTED"}, {"revision", "REVISION", true}};
  for (const catalog::Encoding& one : catalog::Encodings()) {
    grid.rows.push_back({TextCell(one.name), TextCell(one.label),
                         BoolCell((one.positions & catalog::kConsecutive) != 0),
                         BoolCell((one.positions & catalog::kRandomized) != 0),
                         BoolCell((one.positions & catalog::kShifted) != 0), NumberCell(one.revision)});
  }
  return grid;
}

std::string_view BetterWord(catalog::Better better) {
  switch (better) {
    case catalog::Better::kHigher: return "higher";
    case catalog::Better::kLower: return "lower";
    case catalog::Better::kNeither: return "neither";
  }
  return "";
}

Grid MetricsGrid() {
  Grid grid;
  grid.columns = {{"name", "NAME"},
                  {"label", "LABEL"},
                  {"unit", "UNIT"},
                  {"better", "BETTER"},
                  {"revision", "REVISION", true}};
  for (const catalog::Metric& one : catalog::Metrics()) {
    grid.rows.push_back({TextCell(one.name), TextCell(one.label), TextCell(one.unit), TextCell(BetterWord(one.better)), NumberCell(one.revision)});
  }
  return grid;
}

Grid AxesGrid() {
  Grid grid;
  grid.columns = {{"name", "NAME"}, {"of", "TELLS APART"}};
  for (const std::string& axis : catalog::TableAxes()) {
    const bool of_values = axis == "length" || catalog::FindSliceAxis(axis) != nullptr;
    grid.rows.push_back({TextCell(axis), TextCell(of_values ? "values of a job" : "jobs")});
  }
  return grid;
}

absl::StatusOr<Grid> PresetsGrid() {
  Grid grid;
  grid.columns = {{"name", "NAME"}, {"summary", "WHAT IT IS"}, {"published", "PUBLISHED TABLE"}};
  for (const catalog::File& preset : catalog::Presets()) {
    ASSIGN_OR_RETURN(const SweepFile file, ReadSweepFile(preset.text, fmt::format("preset {}", preset.name)));
    grid.rows.push_back({TextCell(preset.name), TextCell(file.summary),
                         file.table.published().empty() ? MissingCell() : TextCell(file.table.published())});
  }
  return grid;
}

// Those below `asked`, or all.
absl::StatusOr<std::vector<FieldNote>> FieldsBelow(const std::string& asked) {
  // Axes go by their bare names; a file has them below `axes` too.
  const std::string group = asked.starts_with("axes.") ? asked.substr(5) : asked;
  const auto is_asked = [&group](const std::string& path) {
    if (group == "axes") return v1::Axes::descriptor()->FindFieldByName(path) != nullptr;
    return group.empty() || path == group || path.starts_with(group + ".");
  };
  std::vector<FieldNote> notes;
  std::vector<std::string> known;
  for (FieldNote& note : FieldNotes()) {
    known.push_back(note.path);
    if (const size_t dot = note.path.find('.'); dot != std::string::npos) known.push_back(note.path.substr(0, dot));
    if (is_asked(note.path)) notes.push_back(std::move(note));
  }
  if (notes.empty()) {
    return UsageError(fmt::format("a sweep has no field '{}'", Printable(asked)), JoinHints(DidYouMean(group, known), "'longreach list fields' shows all of them"));
  }
  return notes;
}

Grid FieldsGrid(const std::vector<FieldNote>& notes) {
  const auto text_or_missing = [](const std::string& text) { return text.empty() ? MissingCell() : TextCell(text); };
  Grid grid;
  grid.columns = {{"field", "FIELD"}, {"type", "TYPE"}, {"default", "DEFAULT"}, {"experiment", "OF KIND"}, {"text", "WHAT IT IS"}};
  for (const FieldNote& note : notes) {
    grid.rows.push_back({TextCell(note.path), TextCell(note.type), text_or_missing(note.standard), text_or_missing(note.kind), TextCell(note.text)});
  }
  return grid;
}

// For people: their texts are too long for a column.
void PrintFields(const std::vector<FieldNote>& notes, Session& session) {
  constexpr int kWidest = 100;
  const int width = std::min(session.environment().width(), kWidest) - 4;
  for (const FieldNote& note : notes) {
    session.out() << note.path << "  " << note.type;
    if (!note.standard.empty()) session.out() << " [" << note.standard << "]";
    if (!note.kind.empty()) session.out() << ", of kind " << note.kind;
    session.out() << "\n";
    for (const std::string& line : WrapWords(note.text, width)) session.out() << "    " << line << "\n";
  }
}

Grid DataGrid(const v1::ListDataSetsResponse& response) {
  Grid grid;
  grid.columns = {{"name", "NAME"}, {"bytes", "BYTES", true}, {"sha256", "SHA-256"}};
  for (const v1::DataSet& one : response.data_sets()) {
    grid.rows.push_back(
        {TextCell(one.name()), NumberCell(one.bytes(), HumanBytes(one.bytes())), TextCell(one.sha256())});
  }
  return grid;
}

Grid ValuesGrid(const std::vector<ValuesOfAxis>& known) {
  Grid grid;
  grid.columns = {{"axis", "AXIS"}, {"value", "VALUE"}};
  for (const ValuesOfAxis& one : known) {
    for (const std::string& value : one.values) grid.rows.push_back({TextCell(one.axis), TextCell(value)});
  }
  return grid;
}

class List final : public Command {
 public:
  CommandInfo Info() const override {
    return {
        .group = kGroupLook,
        .summary = "List what there is: tasks, encodings, presets, metrics, axes, data, fields and values of a sweep",
        .details =
            "'data' and 'values' ask the scheduler; everything else is part of this program and needs none. Paths of settings\n"
            "(model.layers) are axes as well. Defaults of fields are those of the experiment kind 'algorithmic'; a field that only\n"
            "one kind has shows that kind's default. docs/models.md has more.\n"
            "CHANCE % of a task is the accuracy of guessing each output token that counts, with every token equally likely. Where some\n"
            "are the answer more often than others, guessing these gets more: nearly 50 in stack_manipulation and the two binary ones.",
        .examples = "longreach list tasks\nlongreach list presets\nlongreach list encodings -o json\nlongreach list fields training\nlongreach list values last",
        .more_formats = kAllFormats};
  }
  void AddOptions(CLI::App& app) override {
    app.require_subcommand(1);
    for (const auto& [kind, summary] : {std::pair{"tasks", "What can be learned"},
                                        {"encodings", "Positional encodings"},
                                        {"presets", "Sweeps that come with the program"},
                                        {"metrics", "What is measured"},
                                        {"axes", "What tables and figures go by: --rows, --columns, --x"},
                                        {"data", "Data sets that the scheduler knows"}}) {
      app.add_subcommand(kind, summary)->callback([this, name = std::string(kind)] { kind_ = name; });
    }
    CLI::App* const fields = app.add_subcommand("fields", "Fields that describe the jobs of a sweep, for its file and --set");
    fields->add_option("GROUP", group_, "Only these: training, or training.steps");
    fields->callback([this] { kind_ = "fields"; });
    CLI::App* const values = app.add_subcommand("values", "Values that a sweep has of each axis, and of the settings in which its systems differ: for --only, --between");
    AddSweepArgument(*values, sweep_, {.required = false});
    values->callback([this] { kind_ = "values"; });
  }

  absl::StatusOr<int> Run(Session& session) override {
    if (kind_ == "fields" && session.settings().format == Format::kTable && !session.settings().quiet) {
      ASSIGN_OR_RETURN(const std::vector<FieldNote> notes, FieldsBelow(group_));
      PrintFields(notes, session);
      return kDone;
    }
    ASSIGN_OR_RETURN(const Grid grid, GridOf(session));
    if (session.settings().quiet && !session.json()) {
      // A value alone would not say of what it is.
      for (const auto& row : grid.rows) session.out() << row.front().value << (kind_ == "values" ? "=" + row.back().value : "") << "\n";
      return kDone;
    }
    session.Print(grid, kind_ == "data" ? "data_sets" : kind_);
    if (grid.rows.empty()) {
      session.Say(fmt::format("there are no {} yet", kind_ == "data" ? "data sets" : kind_));
    }
    return kDone;
  }

 private:
  absl::StatusOr<Grid> GridOf(Session& session) {
    if (kind_ == "tasks") return TasksGrid();
    if (kind_ == "encodings") return EncodingsGrid();
    if (kind_ == "metrics") return MetricsGrid();
    if (kind_ == "axes") return AxesGrid();
    if (kind_ == "presets") return PresetsGrid();
    if (kind_ == "fields") {
      ASSIGN_OR_RETURN(const std::vector<FieldNote> notes, FieldsBelow(group_));
      return FieldsGrid(notes);
    }
    ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kToRead));
    if (kind_ == "values") {
      ASSIGN_OR_RETURN(const v1::Sweep sweep, FindSweep(*connection, sweep_));
      ASSIGN_OR_RETURN(const SystemSettings settings, SystemSettings::Fetch(*connection, sweep, {}));
      return ValuesGrid(KnownValues(settings));
    }
    ASSIGN_OR_RETURN(const v1::ListDataSetsResponse response,
                     connection->Call(&Connection::Stub::ListDataSets, v1::ListDataSetsRequest()));
    return DataGrid(response);
  }

  std::string kind_;
  std::string group_;
  std::string sweep_ = "last";
};

}  // namespace

std::unique_ptr<Command> Make_list() { return std::make_unique<List>(); }

}  // namespace longreach::client
