#include "client/app.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "client/errors.h"
#include "client/given_options.h"
#include "client/meant_command.h"
#include "client/output/text.h"
#include "client/spec/meant_field.h"
#include "client/store_file.h"
#include "longreach/v1/spec.pb.h"
#include "proto/base/build_info.h"
#include "proto/base/parse_errors.h"
#include "proto/base/shell_word.h"
#include "proto/base/text.h"
#include "proto/manual/help_text.h"

namespace longreach::client {
namespace {

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
    for (const CLI::Option* option : at->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

const CLI::Option* FindOption(const CLI::App& app, const std::string& name) {
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
    if (const CLI::Option* option = at->get_option_no_throw(name); option != nullptr) return option;
  }
  return nullptr;
}

// Those that the overview shows.
std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!one->get_group().empty()) names.push_back(one->get_name());
  }
  return names;
}

std::string PathOf(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : PathOf(*app.get_parent()) + " " + app.get_name();
}

// A store's file in the place of a sweep or a job, of a command to which no store is named: what names it. Empty: there is none.
std::string StoreMeant(const CLI::App& command) {
  constexpr std::string_view kOfFiles[] = {"DIR", "FILE", "OTHER", "PATH"};
  if (FindOption(command, "--store")->count() > 0) return "";
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional() || std::ranges::find(kOfFiles, option->get_name()) != std::end(kOfFiles)) continue;
    const std::vector<std::string>& words = option->results();
    if (const auto file = std::ranges::find_if(words, IsStoreFile); file != words.end()) return fmt::format("'--store {}' names a store;", ShellWord(*file));
  }
  return "";
}

// Hydra's way to override a field, a field and its value in two words, and a store that is named by its file alone: here these are options.
// And two sweeps where there is place for one.
std::string OptionHint(const CLI::App& app, const CLI::ParseError& error, const std::string& message) {
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError)) return StoreMeant(app);
  const std::string_view words = std::string_view(message).substr(std::min(message.find(": "), message.size() - 2) + 2);
  const std::string_view first = words.substr(0, words.find(' '));
  if (first.ends_with(".db") || IsStoreFile(std::string(first))) {
    if (FindOption(app, "--store")->count() == 0) return fmt::format("'--store {}' names a store;", first);
    return app.get_name() == "merge" ? "stores are merged one after the other;" : "";
  }
  // A second sweep, for one table or figure of both.
  const std::string& name = app.get_name();
  if (!first.starts_with('-') && first.find('=') == first.npos && (name == "results" || name == "plot")) return "'longreach spec FIRST SECOND' writes one sweep of several, whose jobs are not trained again;";
  const CLI::Option* const set = app.get_option_no_throw("--set");
  if (set == nullptr) return "";
  if (first.find('=') != std::string_view::npos) return fmt::format("'--set {}' replaces a field;", first);
  // "--set training.steps 5".
  const std::vector<std::string>& fields = set->results();
  const auto bare = std::ranges::find_if(fields, [](const std::string& field) { return field.find('=') == field.npos; });
  return bare == fields.end() ? "" : fmt::format("'--set {}={}' replaces a field;", Printable(*bare), first);
}

std::string HelpHint(const CLI::App& app) {
  return fmt::format("'{} --help' shows how it is used", PathOf(app));
}

// What to write in place of the option `word`, which there is not: "-set" for --set, or a field of the sweep as an option of its own, which
// other programs have ("--steps 5"). `next`: the argument behind it.
std::string OptionMeant(const CLI::App& app, std::string_view word, std::string_view next) {
  const size_t equals = word.find('=');
  std::string name(word.substr(0, equals));
  if (!name.starts_with("--")) return FindOption(app, "-" + name) == nullptr ? "" : fmt::format("did you mean '-{}'?", name);
  // Other programs have the format so.
  if (name == "--format") return "did you mean '--output'?";
  for (const Format format : {Format::kCsv, Format::kJson, Format::kLatex, Format::kMarkdown}) {
    if (name == fmt::format("--{}", FormatName(format))) return fmt::format("did you mean '-o {}'?", FormatName(format));
  }
  constexpr std::string_view kAtATime[] = {"--jobs", "--num-workers", "--parallel", "--workers"};
  if (app.get_option_no_throw("--packs") != nullptr && std::ranges::find(kAtATime, name) != std::end(kAtATime)) {
    return "'--packs N' trains N packs at a time, '--device cuda:0..3' has a worker for each of these GPUs;";
  }
  if (app.get_option_no_throw("--set") == nullptr) return "";
  name.erase(0, 2);
  std::ranges::replace(name, '-', '_');
  std::string field = FieldCalled(name, *v1::SweepSpec::descriptor());
  if (field.empty()) return "";
  if (constexpr std::string_view kAxes = "axes."; field.starts_with(kAxes)) field.erase(0, kAxes.size());
  const std::string_view value = equals != word.npos ? word.substr(equals + 1) : next.starts_with('-') ? std::string_view() : next;
  return fmt::format("'--set {}={}' sets that field;", field, value.empty() ? "VALUE" : value);
}

// The flag that was given a value ("--published=table_b1"), which CLI11 calls none that it can convert. Empty: it refuses something else.
std::string FlagWithValue(const CLI::App& app, const CLI::ParseError& error, std::string_view message) {
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ConversionError)) return "";
  for (const std::string& name : OptionNames(app)) {
    if (message.find(fmt::format(": {} = ", name)) != message.npos && !TakesValue(*FindOption(app, name))) return name;
  }
  return "";
}

// Which commands have a long option that the one given has not: who writes it means one of them, or looks for what they do. Empty: none, or many.
std::string CommandsWithOption(const CLI::App& root, const std::string& name) {
  constexpr size_t kFew = 3;
  if (!name.starts_with("--")) return "";
  std::vector<std::string> commands;
  for (const CLI::App* one : root.get_subcommands([](const CLI::App*) { return true; })) {
    const bool is_hidden = one->get_group().empty();
    if (!is_hidden && one->get_option_no_throw(name) != nullptr) commands.push_back(fmt::format("'{}'", PathOf(*one)));
  }
  if (commands.empty() || commands.size() > kFew) return "";
  return fmt::format("{} {} it;", Join(commands, ", "), commands.size() == 1 ? "takes" : "take");
}

// CLI11 reports words that it does not know late and without a suggestion; this finds the first of them.
absl::Status FindUnknownWord(const CLI::App& root, const std::vector<std::string>& arguments) {
  const CLI::App* app = &root;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--" || app->get_prefix_command()) return absl::OkStatus();
    if (word.size() > 1 && word[0] == '-' && !(word[1] >= '0' && word[1] <= '9') && word[1] != '.') {
      const size_t equals = word.find('=');
      const bool is_long = word.starts_with("--");
      const std::string name = is_long ? word.substr(0, equals) : word.substr(0, 2);
      const CLI::Option* option = FindOption(*app, name);
      if (option == nullptr) {
        std::string meant = OptionMeant(*app, word, i + 1 < arguments.size() ? arguments[i + 1] : "");
        if (meant.empty()) meant = CommandsWithOption(root, name);
        return UsageError(fmt::format("unknown option '{}'", Printable(name)),
                          JoinHints(meant.empty() ? DidYouMean(name, OptionNames(*app)) : meant, HelpHint(*app)));
      }
      const bool has_value = is_long ? equals != std::string::npos : word.size() > 2;
      if (TakesValue(*option) && !has_value) ++i;
      continue;
    }
    const std::vector<const CLI::App*> children = app->get_subcommands([](const CLI::App*) { return true; });
    if (children.empty()) continue;
    const auto child = std::find_if(children.begin(), children.end(),
                                    [&word](const CLI::App* one) { return one->get_name() == word; });
    if (child == children.end()) {
      std::string meant = app == &root ? CommandMeant(root, word) : "";
      if (meant.empty()) meant = DidYouMean(word, CommandNames(*app));
      if (meant.empty() && app != &root) meant = CommandAbove(root, word);
      return UsageError(fmt::format("unknown command '{} {}'", PathOf(*app), Printable(word)), JoinHints(meant, fmt::format("'{} --help' shows all of them", PathOf(*app))));
    }
    app = *child;
  }
  return absl::OkStatus();
}

// The innermost command that was given.
const CLI::App& CommandGiven(const CLI::App& root) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

// Long names of the options that the command was given, and a value with them: no flag is a field's value ('--published' shows what the
// table's 'published' names).
std::vector<std::string> GivenOptions(const CLI::App& root) {
  std::vector<std::string> names;
  for (const CLI::Option* option : CommandGiven(root).get_options()) {
    if (option->count() > 0 && option->get_expected_max() > 0) names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  }
  return names;
}

// An empty value is a variable of a script that was never set, as a rule: what the command does without the option, as to wait for ever, is
// not what was meant. The options for all commands have refusals of their own.
absl::Status CheckValuesGiven(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional() || std::ranges::find(option->results(), "") == option->results().end()) continue;
    return UsageError(fmt::format("{}: is empty", option->get_name()), "give it a value, or leave it out");
  }
  return absl::OkStatus();
}

// Errors of the command line itself come before the settings are known, but a script wants them as JSON too.
bool WantsJson(const std::vector<std::string>& arguments, const Environment& environment) {
  bool json = environment.variable("LONGREACH_OUTPUT") == "json";
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if ((word == "-o" || word == "--output") && i + 1 < arguments.size()) json = arguments[i + 1] == "json";
    if (word.starts_with("--output=")) json = word == "--output=json";
    if (word.starts_with("-o") && word.size() > 2) json = word == "-ojson" || word == "-o=json";
  }
  return json;
}

int Report(const absl::Status& status, bool json, const Environment& environment) {
  *environment.err << (json ? FormatErrorAsJson(status) : FormatError(status)) << std::flush;
  return ExitCodeOf(status);
}

// The error of a command that asked a scheduler nobody named, or had not all that it takes, where it was given a store's file instead.
absl::Status NameStoreMeant(const absl::Status& error, const CLI::App& command) {
  const bool asked_nobody = absl::IsUnavailable(error) && FindOption(command, "--scheduler")->count() == 0;
  if (!asked_nobody && !absl::IsInvalidArgument(error)) return error;
  const std::string meant = StoreMeant(command);
  if (meant.empty()) return error;
  const ErrorText text = SplitError(error);
  return Error(error.code(), text.message, JoinHints(meant, asked_nobody ? "with it 'longreach sweeps' lists the sweeps of that store" : text.hint));
}

// `code`, if all of the answer has been written.
int Written(int code, bool json, const Environment& environment) {
  environment.out->flush();
  if (*environment.out) return code;
  struct stat out;
  const bool readers_choice = fstat(STDOUT_FILENO, &out) == 0 && (S_ISFIFO(out.st_mode) || S_ISSOCK(out.st_mode));
  if (readers_choice) return kReaderGone;
  return Report(Error(absl::StatusCode::kFailedPrecondition, "cannot write all of the answer to standard output", "is the disk full?"), json, environment);
}

std::string Footer(const CommandInfo& info) {
  std::string footer;
  if (!info.details.empty()) footer += std::string(info.details) + "\n";
  if (!info.examples.empty()) {
    footer += footer.empty() ? "Examples:\n" : "\nExamples:\n";
    for (const std::string& line : Split(Trim(info.examples), '\n')) {
      footer += fmt::format("  {}\n", Trim(line));
    }
  }
  std::string formats = "table, json";
  for (const Format format : info.more_formats) formats += fmt::format(", {}", FormatName(format));
  footer += fmt::format("\nOutput formats (-o): {}. Options for all commands: 'longreach --help'.", formats);
  return footer;
}

// Where it is for people; the reference is made of it as it is.
int HelpWidthOf(const Environment& environment) {
  if (!environment.out_is_terminal) return 0;
  const int width = environment.out_width();
  return width > 0 ? width : kUsualHelpWidth;
}

// A format from the environment or the config file is a wish; one on the command line is an order.
absl::Status CheckFormat(const CommandInfo& info, const CLI::App& app, Settings& settings) {
  const bool admitted = settings.format == Format::kTable || settings.format == Format::kJson ||
                        std::find(info.more_formats.begin(), info.more_formats.end(), settings.format) !=
                            info.more_formats.end();
  if (admitted) return absl::OkStatus();
  if (settings.format_by_flag) {
    return UsageError(fmt::format("'{}' has no output as {}", PathOf(app), FormatName(settings.format)),
                      HelpHint(app));
  }
  settings.format = Format::kTable;
  return absl::OkStatus();
}

// `json` becomes whether the answer is JSON, once that is known.
absl::StatusOr<int> RunCommand(AppTree& tree, const Environment& environment, bool& json) {
  for (AppTree::Entry& entry : tree.commands) {
    if (!entry.app->parsed()) continue;
    ASSIGN_OR_RETURN(Settings settings, ResolveSettings(tree.flags, environment));
    RETURN_IF_ERROR(CheckFormat(entry.command->Info(), *entry.app, settings));
    Session session(environment, settings);
    json = session.json();
    return entry.command->Run(session);
  }
  *environment.err << HelpText(tree.root, environment.err_is_terminal ? environment.width() : 0);
  return kUsage;
}

void AddOptionsForAll(CLI::App& root, GlobalFlags& flags) {
  root.option_defaults()->group("Options for all commands");
  root.add_option_function<std::string>(
          "--context", [&flags](const std::string& value) { flags.context = value; },
          "Take the settings that the config file has under this name below 'contexts:'")
      ->type_name("CONTEXT");
  root.add_option_function<std::string>(
          "--scheduler", [&flags](const std::string& value) { flags.scheduler = value; },
          fmt::format("Address of the scheduler, HOST:PORT or unix:PATH [{}]", kDefaultScheduler))
      ->type_name("ADDR");
  root.add_option_function<std::string>(
          "--store", [&flags](const std::string& value) { flags.store = value; },
          "Open this file with a scheduler of its own for this one command")
      ->type_name("FILE");
  root.add_option_function<std::string>(
          "-o,--output", [&flags](const std::string& value) { flags.output = value; },
          "table, json, csv, markdown or latex")
      ->type_name("FORMAT");
  root.add_option_function<std::string>(
          "--color", [&flags](const std::string& value) { flags.color = value; }, "auto, always or never")
      ->type_name("WHEN");
  const auto add_file = [&root](const char* name, std::optional<std::string>& value, const char* help) {
    root.add_option_function<std::string>(name, [&value](const std::string& text) { value = text; }, help)->type_name("FILE");
  };
  add_file("--ca", flags.ca, "Speak TLS with a scheduler whose certificate is of this authority");
  add_file("--certificate", flags.certificate, "Your certificate, if you call with one");
  add_file("--key", flags.key, "Its key");
  add_file("--token-file", flags.token_file, "A bearer token, if you call with one [or LONGREACH_TOKEN itself]");
  root.add_flag("-q,--quiet", flags.quiet, "Only data on stdout (of ids, the bare id); no talk on stderr");
  root.option_defaults()->group("Options");
}

// The overview shows groups in the order in which their first command comes.
std::vector<CommandEntry> CommandsByGroup() {
  std::vector<CommandEntry> entries(Commands().begin(), Commands().end());
  constexpr std::string_view kGroups[] = {kGroupRun, kGroupLook, kGroupSteer, kGroupMaintain};
  std::stable_sort(entries.begin(), entries.end(), [&kGroups](const CommandEntry& a, const CommandEntry& b) {
    const auto rank = [&kGroups](const CommandEntry& one) {
      return std::ranges::find(kGroups, one.make()->Info().group) - std::begin(kGroups);
    };
    return rank(a) < rank(b);
  });
  return entries;
}

}  // namespace

std::unique_ptr<AppTree> BuildApp() {
  auto tree = std::make_unique<AppTree>();
  CLI::App& root = tree->root;
  root.set_help_flag("-h,--help", "Print this help and exit");
  root.set_version_flag("--version", BuildDescription(), "Print the version and exit");
  root.get_formatter()->column_width(38);
  AddOptionsForAll(root, tree->flags);
  root.fallthrough();  // Options for all commands may come behind the command.
  root.require_subcommand(0, 1);  // What comes behind a command may have a command's name.
  root.footer(
      "Each of --scheduler, --store, --output, --color, --ca, --certificate, --key and --token-file may also be set as\n"
      "LONGREACH_SCHEDULER, ..., LONGREACH_TOKEN_FILE or (scheduler, ..., token_file) in\n"
      "~/.config/longreach/config.yaml; a flag wins over the environment, and that over the file.\n"
      "A name below 'contexts:' in that file stands for several of them: --context NAME, LONGREACH_CONTEXT or 'context: NAME'\n"
      "there. A single flag wins over that, and that over the rest of the file; over the environment only with --context.\n"
      "'longreach config show' says which value each has, and who says so.\n"
      "Exit codes: 0 done, 1 some job failed or refused, 2 usage, 3 scheduler not reachable, 4 not found, 5 not allowed,\n"
      "6 wait timed out, 130 interrupted (143 by SIGTERM, 129 by SIGHUP), 141 nobody reads the answer on.\n\n"
      "Examples:\n"
      "  longreach run quickstart\n"
      "  longreach plan table-b1 --set training.steps=1000\n"
      "  longreach results last --published --store longreach.db");
  for (const CommandEntry& entry : CommandsByGroup()) {
    AppTree::Entry made{.app = nullptr, .command = entry.make()};
    const CommandInfo info = made.command->Info();
    made.app = root.add_subcommand(std::string(entry.name == "complete" ? "__complete" : entry.name),
                                   std::string(info.summary));
    made.app->group(info.hidden ? "" : std::string(info.group));
    made.app->footer(Footer(info));
    made.command->AddOptions(*made.app);
    tree->commands.push_back(std::move(made));
  }
  return tree;
}

int RunClient(std::vector<std::string> arguments, const Environment& environment) {
  const std::unique_ptr<AppTree> tree = BuildApp();
  // `longreach help run` is what people try first.
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  bool json = WantsJson(arguments, environment);
  if (const absl::Status unknown = FindUnknownWord(tree->root, arguments); !unknown.ok()) {
    return Report(unknown, json, environment);
  }
  try {
    std::vector<std::string> reversed(arguments.rbegin(),
                                      arguments.rend());  // CLI11 takes words from the back.
    tree->root.parse(std::move(reversed));
  } catch (const CLI::CallForHelp& e) {
    *environment.out << HelpText(tree->root, HelpWidthOf(environment));
    return Written(e.get_exit_code(), json, environment);
  } catch (const CLI::CallForVersion& e) {
    return Written(tree->root.exit(e, *environment.out, *environment.err), json, environment);
  } catch (const CLI::ParseError& e) {
    const CLI::App& command = CommandGiven(tree->root);
    std::string message = e.what();
    if (message == "A subcommand is required") {
      message = fmt::format("'{}' needs one of: {}", PathOf(command), Join(CommandNames(command), ", "));
    }
    if (const std::string flag = FlagWithValue(command, e, message); !flag.empty()) {
      return Report(UsageError(fmt::format("{}: takes no value", flag), HelpHint(command)), json, environment);
    }
    return Report(UsageError(WordsOfParser(message), JoinHints(OptionHint(command, e, message), HelpHint(command))), json, environment);
  }
  if (const absl::Status empty = CheckValuesGiven(CommandGiven(tree->root)); !empty.ok()) return Report(empty, json, environment);
  const absl::StatusOr<int> code = RunCommand(*tree, environment, json);
  environment.out->flush();
  if (!code.ok()) return Report(NameStoreMeant(NameGivenOptions(code.status(), GivenOptions(tree->root)), CommandGiven(tree->root)), json, environment);
  return Written(*code, json, environment);
}

}  // namespace longreach::client
