// The command line of longreach-worker, which both of its programs read: the worker's own, and the trainer's (agent/trainer_program.h).
#pragma once

#include <CLI/CLI.hpp>

#include <optional>

#include "worker/bench_command.h"
#include "worker/data_command.h"
#include "worker/devices_command.h"
#include "worker/export_command.h"
#include "worker/run_command.h"

namespace longreach {

class CommandLine {
 public:
  explicit CommandLine(DataChecks checks = {});

  // Nothing where a command was asked for. Else the process's exit code: what was asked for has been printed, or why there is no such command.
  std::optional<int> Parse(int argc, char** argv);

  // What was asked for is to be answered in JSON, and refused in it.
  bool json() const { return bench.json() || data.json() || devices.json() || exporting.json(); }

  CLI::App& app() { return app_; }

 private:
  CLI::App app_;

 public:
  const RunCommand run;
  const BenchCommand bench;
  const DataCommand data;
  const DevicesCommand devices;
  const ExportCommand exporting;
};

// The exit code of a command that has answered: an answer that did not all reach its file is no success.
int AfterAnswer(int code);

}  // namespace longreach
