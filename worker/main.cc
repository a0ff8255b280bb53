// longreach-worker: trains what a scheduler leases to it. This file only wires the commands.
#include <cstdio>
#include <exception>
#include <optional>

#include "worker/agent/trainer_program.h"
#include "worker/command_line.h"
#include "worker/data/bus_error.h"
#include "worker/refused.h"

namespace {

int Main(int argc, char** argv) {
  longreach::CommandLine line;
  if (const std::optional<int> ended = line.Parse(argc, argv); ended.has_value()) return *ended;
  const bool needs_libtorch = line.bench.chosen() || line.devices.chosen() || line.exporting.chosen() || line.data.asks_trainer() || line.run.asks_trainer();
  if (needs_libtorch) return longreach::Refused(longreach::agent::BecomeTrainerProgram(argv), line.json());
  longreach::data::TellBusErrors();
  if (line.data.chosen()) return longreach::AfterAnswer(line.data.Run());
  return line.run.Run();  // What it does is its answer: nobody need read its one line.
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
