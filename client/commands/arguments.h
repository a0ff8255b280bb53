// Arguments that several commands take, and what is checked of them.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "proto/base/status.h"

namespace longreach::client {

// Of words that go to the scheduler, whose texts are UTF-8: why this is none; empty when it is one. For Option::check().
std::string WhyNoText(const std::string& word);

// Of a whole number from 0 on, as WhyNoText().
std::string CheckCount(const std::string& word);

struct SweepArgument {
  bool required = true;
  bool parts = false;  // A preset or a file of parts may stand for its sweeps.
  std::string name = "SWEEP";
  std::string description = "The sweep";
};
CLI::Option* AddSweepArgument(CLI::App& app, std::string& sweep, const SweepArgument& how = {});
// Several sweeps, or none, which stands for the last.
CLI::Option* AddSweepsArgument(CLI::App& app, std::vector<std::string>& sweeps);
CLI::Option* AddJobArgument(CLI::App& app, std::string& job);

// DIR, for which no folder may be there yet.
void AddNewFolderArgument(CLI::App& app, std::string& folder);
// --data-folder of commands that look at this machine's data sets; empty: as LONGREACH_DATA says.
void AddDataFolderOption(CLI::App& app, std::string& folder);

// That an option's value is one of those; an empty one was not given. INVALID_ARGUMENT: which there are, and the nearest, or, where it is
// known, the one that is `meant`.
absl::Status CheckChoice(std::string_view option, const std::string& value, const std::vector<std::string>& known, std::string_view meant = {});
// The same of an axis of a table, which may be the path of a setting as well.
absl::Status CheckAxis(std::string_view option, const std::string& axis, const std::vector<std::string>& known);
// The same of several with ',' between them. INVALID_ARGUMENT: one is there twice.
absl::Status CheckAxes(std::string_view option, const std::string& axes, const std::vector<std::string>& known);
// --by AXIS,... of commands whose rows are values of kPairAxes. `without`: what the rows are where it is not given.
void AddByOption(CLI::App& app, std::vector<std::string>& by, std::string_view without);
// INVALID_ARGUMENT: one is none of these axes, or is there twice.
absl::Status CheckBy(const std::vector<std::string>& by);
// --metric and --aggregate of commands that show a table's values.
absl::Status CheckMeasure(const std::string& metric, const std::string& aggregate);

// As the file to make: standard output.
inline constexpr std::string_view kStdout = "-";

// --only AXIS=VALUE[,VALUE...], as TableSpec::only; values of numbers may be ranges: 41..60.
void AddOnlyOption(CLI::App& app, std::vector<std::string>& only);
// INVALID_ARGUMENT: it names an axis of slices, of which a command has no use; `why` says so ("a pair is of one value of each job").
absl::Status CheckNoSlices(const std::vector<std::string>& only, std::string_view why);
// Of commands that take jobs whole, and refuse what tells a job's values apart.
void AddOnlyJobsOption(CLI::App& app, std::vector<std::string>& only);

// As proto/base/duration.h has it, with the error of an option.
absl::StatusOr<double> ParseDuration(std::string_view text, std::string_view option);

}  // namespace longreach::client
