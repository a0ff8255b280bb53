// SPEC and --set: what `run`, `plan` and `submit` take.
#pragma once

#include <CLI/CLI.hpp>

#include <string_view>
#include <vector>

#include "client/spec/spec_reader.h"

namespace longreach::client {

// SPEC and --set: what `run`, `plan` and `submit` take.
struct SpecArguments : SweepSource {
  void AddTo(CLI::App& app);
  // One sweep, or the parts of one.
  absl::StatusOr<std::vector<LoadedSweep>> Load() const;
};

inline constexpr std::string_view kSpecDetails =
    "SPEC is a preset ('longreach list presets') or a YAML file whose fields are those of a SweepSpec\n"
    "(docs/reference/sweep-files.md). A file's name has a '/' or ends in .yaml; a bare word is a preset.\n"
    "--set replaces an axis (task, encoding, learning_rate, seed) or a field (training.steps); lists have ','\n"
    "between their values, ranges are a..b of whole numbers and a..b:STEP (0.1..0.5:0.1). A list for a field of one value\n"
    "(model.layers=2,4) makes a grid: one system for each value, or for each combination where several fields have lists.";

}  // namespace longreach::client
