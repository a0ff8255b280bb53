#include "worker/command_line.h"

#include <cstdio>
#include <string>
#include <utility>

#include "proto/base/build_info.h"
#include "proto/base/parse_errors.h"
#include "proto/manual/help_text.h"
#include "proto/manual/man_page.h"

namespace longreach {
namespace {

constexpr int kUsage = 2;

}  // namespace

CommandLine::CommandLine(DataChecks checks)
    : app_("Trains the jobs that a Longreach scheduler leases to it."), run(app_), bench(app_), data(app_, std::move(checks)), devices(app_), exporting(app_) {
  app_.name("longreach-worker");
  app_.set_version_flag("--version", BuildDescription());
  AddManFlag(app_, {"longreach", "longreach-scheduler"});
  app_.require_subcommand(1);
}

std::optional<int> CommandLine::Parse(int argc, char** argv) {
  try {
    app_.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return ExitWithHelp(app_, error);
    const CLI::App* command = &app_;
    std::string path = app_.get_name();
    while (!command->get_subcommands().empty()) {
      command = command->get_subcommands().front();
      path += " " + command->get_name();
    }
    std::fprintf(stderr, "error: %s\n  '%s --help' shows how it is used\n", WordsOfParser(error.what()).c_str(), path.c_str());
    return kUsage;
  }
  return std::nullopt;
}

int AfterAnswer(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fputs("error: cannot write all of the answer to standard output\n  is the disk full?\n", stderr);
  return code == 0 ? 1 : code;
}

}  // namespace longreach
