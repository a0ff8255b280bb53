// longreach-worker: trains what a scheduler leases to it. This file only wires the commands.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "proto/base/build_info.h"
#include "proto/base/parse_errors.h"
#include "proto/manual/help_text.h"
#include "proto/manual/man_page.h"
#include "worker/agent/child.h"
#include "worker/bench_command.h"
#include "worker/data/bus_error.h"
#include "worker/data_command.h"
#include "worker/devices_command.h"
#include "worker/export_command.h"
#include "worker/run_command.h"

namespace {

constexpr int kUsage = 2;

// The exit code of a command that has answered: an answer that did not all reach its file is no success.
int AfterAnswer(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fputs("error: cannot write all of the answer to standard output\n  is the disk full?\n", stderr);
  return code == 0 ? 1 : code;
}

int Main(int argc, char** argv) {
  CLI::App app("Trains the jobs that a Longreach scheduler leases to it.");
  app.name("longreach-worker");
  app.set_version_flag("--version", longreach::BuildDescription());
  longreach::AddManFlag(app, {"longreach", "longreach-scheduler"});
  app.require_subcommand(1);
  const longreach::RunCommand run(app);
  const longreach::BenchCommand bench(app);
  const longreach::DataCommand data(app);
  const longreach::DevicesCommand devices(app);
  const longreach::ExportCommand exporting(app);

  std::string child_plugin;
  CLI::App* child = app.add_subcommand(longreach::agent::kChildCommand, "");
  child->group("");  // Hidden: only the worker itself starts it.
  child->add_option("--cuda-plugin", child_plugin);
  int child_trainers = 1;
  child->add_option("--trainers", child_trainers);
  double child_hang_floor_s = 60;
  child->add_option("--hang-after-s", child_hang_floor_s);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return longreach::ExitWithHelp(app, error);
    const CLI::App* command = &app;
    std::string path = app.get_name();
    while (!command->get_subcommands().empty()) {
      command = command->get_subcommands().front();
      path += " " + command->get_name();
    }
    std::fprintf(stderr, "error: %s\n  '%s --help' shows how it is used\n", longreach::WordsOfParser(error.what()).c_str(), path.c_str());
    return kUsage;
  }
  longreach::data::TellBusErrors();
  if (*child) return longreach::agent::RunTrainerChild(
      {.cuda = !child_plugin.empty(), .cuda_plugin = child_plugin, .trainers = child_trainers, .hang_floor_s = child_hang_floor_s});
  if (data.chosen()) return AfterAnswer(data.Run());
  if (devices.chosen()) return AfterAnswer(devices.Run());
  if (exporting.chosen()) return AfterAnswer(exporting.Run());
  if (bench.chosen()) return AfterAnswer(bench.Run());
  return run.Run();  // What it does is its answer: nobody need read its one line.
}

}  // namespace

int main(int argc, char** argv) {
  int code = 1;
  try {
    code = Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
  }
#ifdef __SANITIZE_ADDRESS__
  return code;  // It looks for leaks at the end of main().
#else
  // LibTorch would clear its tables of operators, which takes a third of what starting and ending take together; with the process they are gone at once.
  std::fflush(nullptr);
  std::_Exit(code);
#endif
}
