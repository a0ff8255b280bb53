#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "client/app.h"
#include "client/commands/command.h"
#include "client/errors.h"
#include "client/new_file.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/manual/man_page.h"

namespace longreach::client {
namespace {

std::string CodeBlock(const std::string& text) {
  std::string out = "```\n";
  for (const std::string& line : Split(Trim(text), '\n')) {
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out + "```\n";
}

// The program's name in a help text: what its parents are called goes in front.
std::string HelpOf(const CLI::App& app) {
  std::string path;
  for (const CLI::App* at = app.get_parent(); at != nullptr; at = at->get_parent()) {
    path = path.empty() ? at->get_name() : at->get_name() + " " + path;
  }
  return app.help(path);
}

// `path` is what the command is called with its parents; its subcommands follow, a heading deeper.
std::string Section(const CLI::App& app, const std::string& path, const std::string& heading) {
  const std::string called = path + " " + app.get_name();
  std::string out = fmt::format("\n{} {}\n\n{}", heading, called, CodeBlock(HelpOf(app)));
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; })) out += Section(*child, called, heading + "#");
  return out;
}

std::string Reference(const CLI::App& root) {
  std::string out =
      "# Command line of `longreach`\n\n"
      "Made from the program itself: `longreach reference > docs/reference/cli.md`. A test fails when the two differ.\n\n" +
      CodeBlock(HelpOf(root));
  for (const CLI::App* app :
       root.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); })) {
    out += Section(*app, "longreach", "##");
  }
  return out;
}

// Into `folder`, a file for each page, in place of those that are there.
absl::Status WriteManPages(const std::filesystem::path& folder, const CLI::App& root) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return Error(absl::StatusCode::kFailedPrecondition, fmt::format("cannot make the folder {}: {}", Printable(folder.string()), error.message()),
                 "name another with --man");
  }
  for (const ManPage& page : ManPagesOf(root, {"longreach-scheduler", "longreach-worker"})) {
    const std::filesystem::path file = folder / (page.name + ".1");
    std::filesystem::remove(file, error);  // Where that fails, the next line says so.
    RETURN_IF_ERROR(WriteNewFileForAll(file, page.text));
  }
  return absl::OkStatus();
}

class ReferenceCommand final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupMaintain,
            .summary = "Print the reference of all commands as Markdown",
            .details = "",
            .examples = "longreach reference > docs/reference/cli.md\n"
                        "longreach reference --man /usr/local/share/man/man1",
            .hidden = true};
  }
  void AddOptions(CLI::App& app) override {
    app.add_option("--man", man_folder_, "Write the manual pages into this folder instead: one of the program, and one of each command")->type_name("DIR");
  }
  absl::StatusOr<int> Run(Session& session) override {
    const std::unique_ptr<AppTree> tree = BuildApp();
    if (!man_folder_.empty()) {
      RETURN_IF_ERROR(WriteManPages(man_folder_, tree->root));
      if (session.json()) session.out() << JsonDocument({{"folder", JsonText(man_folder_)}});
    } else if (session.json()) {
      session.out() << JsonDocument({{"markdown", JsonText(Reference(tree->root))}});
    } else {
      session.out() << Reference(tree->root);
    }
    return kDone;
  }

 private:
  std::string man_folder_;
};

}  // namespace

std::unique_ptr<Command> Make_reference() { return std::make_unique<ReferenceCommand>(); }

}  // namespace longreach::client
