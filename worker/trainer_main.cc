// longreach-trainer: what of longreach-worker needs LibTorch, with the same command line. The worker starts it. This file only wires the commands.
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "worker/agent/child.h"
#include "worker/command_line.h"
#include "worker/data/bus_error.h"
#include "worker/data_fit.h"
#include "worker/trainer/train.h"

namespace {

namespace agent = longreach::agent;
namespace trainer = longreach::trainer;

// What `run --check` looks at.
absl::StatusOr<std::string> OpenGpu(const agent::AgentOptions& options) {
  absl::StatusOr<trainer::Capabilities> machine =
      agent::OpenDevice({.cuda = options.cuda, .cuda_plugin = options.cuda_plugin, .trainers = options.one_process ? options.packs : 1});
  if (!machine.ok()) return machine.status();
  return std::move(machine->device);
}

int Main(int argc, char** argv) {
  longreach::CommandLine line({.model = trainer::CheckModelFolder, .fit = longreach::SayWhichFit});
  std::string plugin;
  CLI::App* child = line.app().add_subcommand(agent::kChildCommand, "");
  child->group("");  // Hidden: only the worker starts it.
  child->add_option("--cuda-plugin", plugin);
  agent::ChildOptions options;
  child->add_option("--build", options.build);
  child->add_option("--trainers", options.trainers);
  child->add_option("--hang-after-s", options.hang_floor_s);

  if (const std::optional<int> ended = line.Parse(argc, argv); ended.has_value()) return *ended;
  longreach::data::TellBusErrors();
  if (*child) {
    options.cuda = !plugin.empty();
    options.cuda_plugin = plugin;
    return agent::RunTrainerChild(options);
  }
  if (line.data.chosen()) return longreach::AfterAnswer(line.data.Run());
  if (line.devices.chosen()) return longreach::AfterAnswer(line.devices.Run());
  if (line.exporting.chosen()) return longreach::AfterAnswer(line.exporting.Run());
  if (line.bench.chosen()) return longreach::AfterAnswer(line.bench.Run());
  if (line.run.asks_trainer()) return line.run.Run(OpenGpu);
  std::fputs("error: longreach-trainer is no worker by itself\n  'longreach-worker run' starts it to train\n", stderr);
  return 2;
}

// What Main() had is gone. LibTorch takes a seventh of a second of a processor to take down what it has registered, and the system no time at all.
[[noreturn]] void End(int code) {
  std::fflush(nullptr);
  _exit(code);
}

}  // namespace

int main(int argc, char** argv) {
  int code = 1;
  try {
    code = Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
  }
  End(code);
}
