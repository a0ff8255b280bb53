#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "client/app.h"
#include "client/commands/between.h"
#include "client/commands/choice_words.h"
#include "client/commands/command.h"
#include "client/commands/known_values.h"
#include "client/commands/listings.h"
#include "client/commands/paired_values.h"
#include "client/output/text.h"
#include "client/settings.h"
#include "client/spec/field_notes.h"
#include "client/spec/field_paths.h"
#include "client/spec/spec_reader.h"
#include "proto/base/names.h"
#include "proto/base/text.h"
#include "proto/catalog/aggregates.h"
#include "proto/catalog/axes.h"
#include "proto/catalog/catalog.h"
#include "proto/catalog/encoding_name.h"
#include "proto/types/settings.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

// A shell waits for the answer with every key.
constexpr std::chrono::milliseconds kPatienceOfShell{300};
constexpr uintmax_t kMostBytesCopied = uintmax_t{128} << 20;
constexpr int kMostJobsOffered = 100;
constexpr size_t kJobDigits = 12;

// A store with its log.
bool IsQuicklyCopied(const std::string& store) {
  uintmax_t bytes = 0;
  for (const char* suffix : {"", "-wal"}) {
    std::error_code error;
    const uintmax_t size = std::filesystem::file_size(store + suffix, error);
    if (!error) bytes += size;
  }
  return bytes <= kMostBytesCopied;
}

// What the words before the last one say of the scheduler or store to ask. nullopt: nothing. A shell passes on words as they were typed, where it would put `home`
// in the place of a '~' that begins one.
std::optional<GlobalFlags> PlaceTyped(const std::vector<std::string>& words, const std::string& home) {
  using Flag = std::optional<std::string> GlobalFlags::*;
  constexpr std::pair<std::string_view, Flag> kFlags[] = {
      {"--context", &GlobalFlags::context},         {"--scheduler", &GlobalFlags::scheduler}, {"--store", &GlobalFlags::store},          {"--ca", &GlobalFlags::ca},
      {"--certificate", &GlobalFlags::certificate}, {"--key", &GlobalFlags::key},             {"--token-file", &GlobalFlags::token_file}};
  std::optional<GlobalFlags> typed;
  const auto note = [&typed](Flag flag, std::string_view value) {
    if (!typed) typed.emplace();
    (*typed).*flag = std::string(value);
  };
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string_view word = words[i];
    for (const auto& [name, flag] : kFlags) {
      if (word == name && i + 2 < words.size()) note(flag, words[i + 1].starts_with("~/") ? home + words[i + 1].substr(1) : words[i + 1]);
      if (word.starts_with(name) && word.substr(name.size()).starts_with('=')) note(flag, word.substr(name.size() + 1));
    }
  }
  return typed;
}

// What a shell offers next: lines "WORD<tab>DESCRIPTION", or ":files" for file names.
class Completer {
 public:
  Completer(const CLI::App& root, Session& session) : root_(root), session_(session) {}

  std::vector<std::string> Complete(const std::vector<std::string>& words) {
    const CLI::App* app = &root_;
    const CLI::Option* waiting = nullptr;  // An option whose value comes next.
    for (size_t i = 0; i + 1 < words.size(); ++i) {
      const std::string& word = words[i];
      if (waiting != nullptr) {
        waiting = nullptr;
      } else if (word.size() > 1 && word[0] == '-') {
        const size_t equals = word.find('=');
        const CLI::Option* option = FindOption(*app, word.substr(0, equals));
        if (option == nullptr || option->get_items_expected_max() == 0) continue;
        if (equals == std::string::npos) waiting = option;
      } else if (const CLI::App* child = Child(*app, word); child != nullptr) {
        app = child;
      } else {
        arguments_.push_back(word);
      }
    }
    const std::string current = words.empty() ? "" : words.back();
    if (waiting != nullptr) {
      OfferValues(*app, *waiting, current);
    } else if (const size_t equals = current.find('='); current.starts_with("--") && equals != std::string::npos) {
      OfferValuesInWord(*app, current.substr(0, equals), current.substr(equals + 1));
    } else if (current.starts_with('-')) {
      OfferOptions(*app);
    } else if (!Children(*app).empty()) {
      if (!arguments_.empty() && arguments_ != std::vector<std::string>{"help"}) return {};  // Of a command that there is not.
      for (const CLI::App* child : Children(*app)) Add(child->get_name(), child->get_description());
    } else {
      OfferPositional(*app, arguments_.size());
    }
    std::erase_if(lines_, [&current](const std::string& line) {
      return !line.starts_with(current) && line != ":files";
    });
    return std::move(lines_);
  }

 private:
  static const CLI::Option* FindOption(const CLI::App& app, const std::string& word) {
    for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
      if (const CLI::Option* option = at->get_option_no_throw(word); option != nullptr) return option;
    }
    return nullptr;
  }
  static std::vector<const CLI::App*> Children(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App* child) { return !child->get_group().empty(); });
  }
  static const CLI::App* Child(const CLI::App& app, const std::string& word) {
    for (const CLI::App* child : Children(app)) {
      if (child->get_name() == word) return child;
    }
    return nullptr;
  }

  void Add(std::string_view word, std::string_view description = {}) {
    lines_.push_back(description.empty() ? std::string(word) : fmt::format("{}\t{}", word, description));
  }

  void OfferOptions(const CLI::App& app) {
    for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
      for (const CLI::Option* option : at->get_options()) {
        for (const std::string& name : option->get_lnames()) {
          if (name == "version" && at != &app) continue;
          if (name == "help" && at != &app) continue;
          Add("--" + name, option->get_description());
        }
      }
    }
  }

  void OfferPositional(const CLI::App& app, size_t index) {
    for (const CLI::Option* option : app.get_options()) {
      if (!option->get_positional()) continue;
      // What may be named several times is offered for each of them.
      if (option->get_expected_max() > 1 || index-- == 0) return Offer(option->get_name(/*positional=*/true));
    }
  }

  void OfferValues(const CLI::App& app, const CLI::Option& option, const std::string& current) {
    if (option.check_lname("only")) return OfferOnly(app, current);
    if (option.check_lname("between")) return OfferBetween(app, current);
    if (option.check_lname("best-of")) {
      // The best of what jobs have is chosen, where rows and columns may be of their values too: lengths and slices.
      OfferAll({kPairAxes.begin(), kPairAxes.end()});
      OfferAll(SettingPaths());
    } else if (option.check_lname("output")) {
      OfferFormats(app);
    } else {
      Offer(option.get_type_name());
    }
    const size_t comma = current.rfind(',');
    if (comma != std::string::npos && IsList(option.get_type_name())) OfferBehind(current.substr(0, comma));
  }

  // "STATE[,STATE...]"; behind a ':' stands what is checked of it.
  static bool IsList(const std::string& type) { return type.substr(0, type.find(':')).find(',') != std::string::npos; }

  // What was written of a list, with a ',' and each of the words behind it that it does not have yet. Of PATH=VALUE,... the values of that path.
  void OfferBehind(const std::string& written) {
    const size_t equals = written.find('=');
    const std::string path = equals == std::string::npos ? "" : written.substr(0, equals + 1);
    const std::vector<std::string> named = Split(std::string_view(written).substr(path.size()), ',');
    std::vector<std::string> lines;
    for (const std::string& line : lines_) {
      const std::string rest = line.starts_with(path) ? line.substr(path.size()) : "";
      const std::string word = rest.substr(0, rest.find('\t'));
      const bool is_value = !word.empty() && !word.ends_with('=') && word != ":files";
      if (is_value && std::ranges::find(named, word) == named.end()) lines.push_back(fmt::format("{},{}", written, rest));
    }
    lines_ = std::move(lines);
  }

  // "--only=task=": an option and its value in one word.
  void OfferValuesInWord(const CLI::App& app, const std::string& name, const std::string& current) {
    const CLI::Option* option = FindOption(app, name);
    if (option == nullptr || option->get_items_expected_max() == 0) return;
    OfferValues(app, *option, current);
    for (std::string& line : lines_) {
      if (line != ":files") line.insert(0, name + "=");
    }
  }

  void OfferOnly(const CLI::App& app, const std::string& current) {
    std::vector<std::string> others = AxesOfValues(app.get_name());
    const std::vector<ValuesOfAxis> known = KnownOfSweeps(SweepsOf(app));
    if (known.empty()) {
      others.insert(others.begin(), kPairAxes.begin(), kPairAxes.end());
      const std::vector<std::string> paths = SettingPaths();
      others.insert(others.end(), paths.begin(), paths.end());
    }
    OfferAll(OnlyWords(current, known, others));
  }

  void OfferBetween(const CLI::App& app, const std::string& current) {
    std::vector<std::string> sweeps = SweepsOf(app);
    if (sweeps.size() > 1) sweeps.resize(1);
    const std::vector<ValuesOfAxis> known = KnownOfSweeps(sweeps);
    if (!known.empty()) return OfferAll(BetweenWords(current, known));
    if (current.find('=') != std::string::npos) return;
    Add(Between::kRandomized);
    for (const std::string_view axis : kPairAxes) Add(fmt::format("{}=", axis));
  }

  // What --only of a command takes beside what jobs have.
  static std::vector<std::string> AxesOfValues(const std::string& command) {
    if (command == "compare" || command == "reach") return {"length"};
    if (command != "results" && command != "plot" && command != "tensorboard") return {};
    std::vector<std::string> axes = catalog::TableAxes();
    std::erase_if(axes, [](const std::string& axis) { return IsPairAxis(axis); });
    return axes;
  }

  // Those that stand on the line; where none does, and none must, the last.
  std::vector<std::string> SweepsOf(const CLI::App& app) const {
    std::vector<std::string> sweeps;
    size_t at = 0;
    for (const CLI::Option* option : app.get_options()) {
      if (!option->get_positional()) continue;
      const std::string name = option->get_name(/*positional=*/true);
      if (IsOfSweep(name)) {
        if (at < arguments_.size()) sweeps.push_back(arguments_[at]);
        else if (name == "SWEEP" && !option->get_required()) sweeps.emplace_back("last");
      }
      ++at;
    }
    return sweeps;
  }

  // As far as they say it themselves: what their jobs have by default is asked for in questions that take long where there are many.
  std::vector<ValuesOfAxis> KnownOfSweeps(const std::vector<std::string>& sweeps) {
    std::vector<ValuesOfAxis> known;
    Connection* const connection = sweeps.empty() ? nullptr : Reach();
    if (connection == nullptr) return known;
    for (const std::string& sweep : sweeps) {
      v1::GetSweepRequest request;
      request.set_sweep(sweep);
      const auto found = connection->Call(&Connection::Stub::GetSweep, request, std::chrono::seconds(1));
      if (found.ok()) AddKnownValues(KnownValues(SystemSettings(found->spec())), known);
    }
    return known;
  }

  static bool IsOfSweep(std::string_view name) { return name == "SWEEP" || name == "FIRST" || name == "SECOND"; }

  // By what the argument is called in the help.
  void Offer(const std::string& type) {
    const std::string what = type.substr(0, type.find(':'));  // Behind it stands what is checked of it.
    if (what == "SPEC") OfferSpecs();
    if (IsOfSweep(what)) OfferSweeps();
    if (what == "WORKER") OfferWorkers();
    if (what == "JOB") OfferJobs();
    if (what == "ATTEMPT") OfferAttempts();
    if (what == "GROUP") {
      for (const FieldNote& note : FieldNotes()) Add(note.path, note.type);
    }
    if (what == "FILE" || what == "PATH" || what == "OTHER" || what == "ADDR" || what == "DIR") lines_.emplace_back(":files");
    if (what == "CONTEXT") OfferContexts();
    if (what == "WHEN") OfferAll({"auto", "always", "never"});
    if (what == "AXIS" || what == "AXIS[,AXIS...]") {
      OfferAll(catalog::TableAxes());
      OfferAll(SettingPaths());
    }
    if (what == "AXIS,...") OfferAll({kPairAxes.begin(), kPairAxes.end()});
    if (what == "HOW") OfferAll(catalog::Aggregates());
    if (what == "DEVICE") OfferAll({"cpu", "cuda"});
    if (what.starts_with("STATE")) OfferAll(ShownFilterWords());
    if (what == "METRIC") {
      for (const catalog::Metric& metric : catalog::Metrics()) Add(metric.name, metric.label);
    }
    if (what.starts_with("PATH=VALUE")) OfferOverrides();
  }

  void OfferAll(const std::vector<std::string>& words) {
    for (const std::string& word : words) Add(word);
  }

  // Those of the command, if one stands on the line; another one would be refused.
  void OfferFormats(const CLI::App& app) {
    const CLI::App* command = &app;
    while (command != &root_ && command->get_parent() != &root_) command = command->get_parent();
    const std::span<const CommandEntry> all = Commands();
    const auto entry = std::ranges::find(all, command->get_name(), &CommandEntry::name);
    OfferAll({"table", "json"});
    for (const Format format : entry == all.end() ? kAllFormats : entry->make()->Info().more_formats) Add(FormatName(format));
  }

  // With the place that each names.
  void OfferContexts() {
    for (const auto& [name, settings] : session_.settings().config_file.contexts) {
      const auto scheduler = settings.find("scheduler");
      const auto store = settings.find("store");
      Add(name, scheduler != settings.end() ? Printable(scheduler->second.text) : store != settings.end() ? Printable(store->second.text) : "");
    }
  }

  void OfferSpecs() {
    for (const catalog::File& preset : catalog::Presets()) {
      const absl::StatusOr<SweepFile> file = ReadSweepFile(preset.text, std::string(preset.name));
      Add(preset.name, file.ok() ? file->summary : "");
    }
    lines_.emplace_back(":files");
  }

  void OfferOverrides() {
    for (const std::string& path : SettablePaths(*v1::SweepSpec::descriptor())) Add(path + "=");
    for (const catalog::Task& task : catalog::Tasks()) Add(fmt::format("task={}", task.name), task.label);
    for (const catalog::DataTask& task : catalog::DataTasks()) Add(fmt::format("task={}", task.name), task.label);
    for (const catalog::Encoding& one : catalog::Encodings()) {
      Add(fmt::format("encoding={}", one.name), one.label);
      if ((one.positions & catalog::kRandomized) != 0) {
        Add(fmt::format("encoding={}", catalog::ToText({.name = std::string(one.name), .randomized = true})), one.label);
      }
    }
  }

  // A scheduler that runs, or a copy of the store that is named: a key that is pressed changes no store, and keeps none from others.
  Connection* Reach() {
    if (const std::string& store = session_.settings().store; !store.empty()) {
      if (!IsQuicklyCopied(store)) return nullptr;
      const absl::StatusOr<Connection*> connection = session_.Connect(StoreUse::kCopy);
      return connection.ok() ? *connection : nullptr;
    }
    absl::StatusOr<std::unique_ptr<Connection>> opened = Connection::Open(session_.settings().scheduler, session_.settings().credentials, kPatienceOfShell);
    if (!opened.ok()) return nullptr;
    connection_ = *std::move(opened);
    return connection_.get();
  }

  // By its name, where that is a word of the shell and no other one's here; else by its id.
  template <typename Named>
  void AddNamed(const std::vector<Named>& all, const Named& one, const std::string& description) {
    if (IsOfNameCharacters(one.name()) && std::ranges::count(all, one.name(), [](const Named& other) { return other.name(); }) == 1) {
      return Add(one.name(), description);
    }
    Add(ShortId(one.id()), fmt::format("{}, {}", Printable(one.name()), description));
  }

  void OfferSweeps() {
    Add("last", "The newest sweep");
    Connection* const connection = Reach();
    if (connection == nullptr) return;
    const auto response =
        connection->Call(&Connection::Stub::ListSweeps, v1::ListSweepsRequest(), std::chrono::seconds(1));
    if (!response.ok()) return;
    const std::vector<v1::Sweep> sweeps(response->sweeps().begin(), response->sweeps().end());
    for (const v1::Sweep& sweep : sweeps) AddNamed(sweeps, sweep, fmt::format("{}, {} jobs", sweep.state(), sweep.jobs()));
  }

  // Those that are there: nothing can be told to others.
  void OfferWorkers() {
    Connection* const connection = Reach();
    if (connection == nullptr) return;
    const auto response =
        connection->Call(&Connection::Stub::ListWorkers, v1::ListWorkersRequest(), std::chrono::seconds(1));
    if (!response.ok()) return;
    std::vector<v1::WorkerInfo> workers(response->workers().begin(), response->workers().end());
    std::erase_if(workers, [](const v1::WorkerInfo& worker) { return worker.state() == Word(WorkerState::kGone); });
    for (const v1::WorkerInfo& worker : workers) AddNamed(workers, worker, worker.state());
  }

  // The first of the last sweep: of ten thousand none is found in a list.
  void OfferJobs() {
    Connection* const connection = Reach();
    if (connection == nullptr) return;
    v1::ListJobsRequest request;
    request.set_sweep("last");
    request.set_limit(kMostJobsOffered);
    const auto response = connection->Call(&Connection::Stub::ListJobs, request, std::chrono::seconds(1));
    if (!response.ok()) return;
    for (const v1::Job& job : response->jobs()) {
      Add(std::string_view(job.id()).substr(0, kJobDigits), fmt::format("{} {}, learning rate {}, seed {}, {}", Printable(job.task()), Printable(job.encoding()),
                                                                         ShortestNumber(job.learning_rate()), job.seed(), ShownState(job.state())));
    }
  }

  // Of the job that stands on the line.
  void OfferAttempts() {
    Connection* const connection = arguments_.empty() ? nullptr : Reach();
    if (connection == nullptr) return;
    v1::GetJobRequest request;
    request.set_job(arguments_.front());
    const auto response = connection->Call(&Connection::Stub::GetJob, request, std::chrono::seconds(1));
    if (!response.ok()) return;
    for (const v1::AttemptInfo& one : response->attempts()) {
      Add(std::to_string(one.attempt()), fmt::format("{}, on {}, began {}", one.outcome().empty() ? "running" : one.outcome(), Printable(one.worker_name()), HumanTime(one.started_at())));
    }
  }

  const CLI::App& root_;
  Session& session_;
  std::vector<std::string> arguments_;  // Words of the line that are no options and no commands.
  std::unique_ptr<Connection> connection_;
  std::vector<std::string> lines_;
};

class Complete final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupMaintain,
            .summary = "Words that may come next, for the shell scripts of 'longreach completion'",
            .details = "",
            .examples = "longreach __complete -- results la",
            .hidden = true};
  }
  void AddOptions(CLI::App& app) override {
    app.add_option("WORDS", words_, "The words so far; the last is the one to complete");
  }

  absl::StatusOr<int> Run(Session& session) override {
    const std::unique_ptr<AppTree> tree = BuildApp();
    std::optional<Session> of_words;
    if (const std::optional<GlobalFlags> flags = PlaceTyped(words_, session.environment().variable("HOME"))) {
      absl::StatusOr<Settings> settings = ResolveSettings(*flags, session.environment());
      if (!settings.ok()) return kDone;  // The command that is being typed would be refused.
      of_words.emplace(session.environment(), *std::move(settings));
    }
    for (const std::string& line : Completer(tree->root, of_words ? *of_words : session).Complete(words_)) {
      session.out() << line << "\n";
    }
    return kDone;
  }

 private:
  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Command> Make_complete() { return std::make_unique<Complete>(); }

}  // namespace longreach::client
