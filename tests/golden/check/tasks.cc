#include "tests/golden/check/tasks.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "worker/trainer/tasks/registry.h"
#include "worker/trainer/tasks/support/task.h"

namespace longreach::golden {

namespace {

using Json = nlohmann::json;
using Rows = std::vector<std::vector<int>>;
namespace tasks = trainer::tasks;

// Calls `check` with the parsed file; what the parser or an access throws becomes the file's failure.
template <typename Check>
void WithJson(const std::filesystem::path& path, FileCheck& file, const Check& check) {
  std::ifstream stream(path);
  file.Require(stream.good(), "cannot be read");
  if (!stream.good()) return;
  try {
    check(Json::parse(stream));
  } catch (const Json::exception& error) {
    file.Require(false, Text("not as the layout says: ", error.what()));
  }
}

void CheckLengths(const tasks::Task& task, const catalog::Task& known, const Json& golden, FileCheck& file) {
  for (const auto& [requested_text, input_length] : golden.at("input_length_for").items()) {
    const int requested = static_cast<int>(ParseInteger(requested_text).value_or(0));
    const int ours = requested > 0 ? task.InputLength(requested) : 0;
    file.Require(ours == input_length.get<int>() && ours == known.InputTokens(requested),
                 Text("input length for ", requested_text, ": ours is ", ours, ", stored ", input_length.get<int>()));
  }
  for (const auto& [requested_text, output_length] : golden.at("output_length_for").items()) {
    const int requested = static_cast<int>(ParseInteger(requested_text).value_or(0));
    const int ours = requested > 0 ? task.OutputLength(task.InputLength(requested)) : 0;
    file.Require(ours == output_length.get<int>() && ours == known.OutputTokens(known.InputTokens(requested)),
                 Text("output length for ", requested_text, ": ours is ", ours, ", stored ", output_length.get<int>()));
  }
}

bool AllBelow(const std::vector<int>& tokens, int vocabulary) {
  return std::ranges::all_of(tokens, [&](int token) { return token >= 0 && token < vocabulary; });
}

// One stored batch of a length: every input is solved anew.
void CheckCase(const tasks::Task& task, const catalog::Task& known, const Json& golden, FileCheck& file) {
  const int requested = golden.at("length").get<int>();
  const Rows inputs = golden.at("inputs").get<Rows>();
  const Rows targets = golden.at("targets").get<Rows>();
  const std::vector<int> valid = golden.at("valid").get<std::vector<int>>();
  const bool fits = requested >= 1 && requested <= tasks::kMaxInputLength && inputs.size() == targets.size() &&
                    inputs.size() == valid.size() && !inputs.empty();
  file.Require(fits, Text("length ", requested, ": counts do not fit"));
  if (!fits) return;
  const size_t input_length = static_cast<size_t>(task.InputLength(requested));
  const size_t output_length = static_cast<size_t>(task.OutputLength(static_cast<int>(input_length)));
  file.Require(golden.at("input_length").get<size_t>() == input_length, Text("length ", requested, ": input_length"));
  file.Require(golden.at("output_length").get<size_t>() == output_length, Text("length ", requested, ": output_length"));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string where = Text("length ", requested, ", sample ", i);
    const bool in_vocabulary = inputs[i].size() == input_length && AllBelow(inputs[i], known.input_vocabulary) &&
                               AllBelow(targets[i], known.output_vocabulary);
    file.Require(in_vocabulary, where + ": tokens out of vocabulary or of another number");
    if (!in_vocabulary) continue;
    const std::vector<uint8_t> input(inputs[i].begin(), inputs[i].end());
    std::vector<uint8_t> target(output_length, 0xFF);
    const int our_valid = task.Solve(input, target);
    file.Require(std::ranges::equal(target, targets[i]), where + ": another target");
    file.Require(our_valid == valid[i], Text(where, ": ", our_valid, " valid positions, stored ", valid[i]));
  }
}

void CheckTask(const tasks::Task& task, const catalog::Task& known, const Json& golden, FileCheck& file) {
  file.Require(golden.at("task") == std::string(task.name), "the task has another name");
  file.Require(golden.at("input_vocab") == known.input_vocabulary, "input_vocab");
  file.Require(golden.at("output_vocab") == known.output_vocabulary, "output_vocab");
  const bool single = known.output_length == catalog::OutputLength::kSingle;
  file.Require(golden.at("single_output") == single, "single_output");
  static const std::map<std::string, catalog::Level> kLevels = {{"regular", catalog::Level::kRegular},
                                                                {"dcf", catalog::Level::kDeterministicContextFree},
                                                                {"cs", catalog::Level::kContextSensitive}};
  const auto level = kLevels.find(golden.at("level").get<std::string>());
  file.Require(level != kLevels.end() && level->second == known.level, "level");
  CheckLengths(task, known, golden, file);
  file.Require(!golden.at("cases").empty(), "no cases");
  for (const Json& one : golden.at("cases")) CheckCase(task, known, one, file);
}

// How often each event was seen among `samples`.
struct Frequencies {
  double samples = 0;
  std::vector<std::vector<double>> input;   // [position][token]
  std::vector<std::vector<double>> target;
  std::vector<double> valid;                // [number of valid positions]
  double valid_mean = 0;
  double valid_variance = 0;
};

Frequencies SampleFrequencies(const tasks::Task& task, const catalog::Task& known, int requested) {
  constexpr uint32_t kSamples = 20'000;
  const size_t input_length = static_cast<size_t>(task.InputLength(requested));
  const size_t output_length = static_cast<size_t>(task.OutputLength(static_cast<int>(input_length)));
  std::vector<uint8_t> inputs(kSamples * input_length);
  std::vector<uint8_t> targets(kSamples * output_length);
  std::vector<int32_t> valid(kSamples);
  Frequencies seen;
  const trainer::RandomStream stream = tasks::TrainingBatchStream(0, static_cast<uint64_t>(requested));
  if (!tasks::FillBatch(task, requested, stream, 0, inputs, targets, valid).ok()) return seen;
  const double one = 1.0 / kSamples;
  // A token outside the vocabulary would be a class of its own, which the stored frequencies do not have.
  seen.samples = kSamples;
  seen.input.assign(input_length, std::vector<double>(256));
  seen.target.assign(output_length, std::vector<double>(256));
  seen.valid.assign(output_length + 1, 0);
  for (size_t i = 0; i < inputs.size(); ++i) seen.input[i % input_length][inputs[i]] += one;
  for (size_t i = 0; i < targets.size(); ++i) seen.target[i % output_length][targets[i]] += one;
  for (auto& row : seen.input) {
    while (row.size() > static_cast<size_t>(known.input_vocabulary) && row.back() == 0) row.pop_back();
  }
  for (auto& row : seen.target) {
    while (row.size() > static_cast<size_t>(known.output_vocabulary) && row.back() == 0) row.pop_back();
  }
  double squares = 0;
  for (const int32_t count : valid) {
    seen.valid[static_cast<size_t>(count)] += one;
    seen.valid_mean += one * count;
    squares += one * count * count;
  }
  seen.valid_variance = std::max(0.0, squares - seen.valid_mean * seen.valid_mean);
  return seen;
}

// The golden README: sigma = sqrt(p (1 - p) (1 / stored samples + 1 / ours)), and 5 of it; p from both together.
void CompareFrequencies(const std::string& what, const std::vector<double>& ours, double our_samples,
                        const std::vector<double>& stored, double stored_samples, FileCheck& file) {
  file.Require(ours.size() == stored.size(), what + ": another number of classes");
  if (ours.size() != stored.size()) return;
  for (size_t i = 0; i < ours.size(); ++i) {
    const double p = (ours[i] * our_samples + stored[i] * stored_samples) / (our_samples + stored_samples);
    const double sigma = std::sqrt(std::max(0.0, p * (1 - p)) * (1 / our_samples + 1 / stored_samples));
    // Stored values are rounded in their last decimals.
    file.Compare(Text(what, " of ", i), ours[i] - stored[i], 5 * sigma + 1e-6);
  }
}

void CheckStatistics(const Json& golden, FileCheck& file) {
  for (const auto& [name, lengths] : golden.items()) {
    const tasks::Task* task = tasks::FindTask(name);
    const catalog::Task* known = catalog::FindTask(name);
    file.Require(task != nullptr && known != nullptr, "no task is called " + name);
    if (task == nullptr || known == nullptr) continue;
    for (const auto& [length_text, stored] : lengths.items()) {
      const std::string where = name + " " + length_text;
      const int requested = static_cast<int>(ParseInteger(length_text).value_or(0));
      const bool possible = requested >= 1 && requested <= tasks::kMaxInputLength;
      file.Require(possible, where + ": not a length");
      if (!possible) continue;
      const Frequencies seen = SampleFrequencies(*task, *known, requested);
      const double samples = stored.at("samples").get<double>();
      const auto inputs = stored.at("input_token_freq_per_position").get<std::vector<std::vector<double>>>();
      const auto targets = stored.at("target_token_freq_per_position").get<std::vector<std::vector<double>>>();
      const bool fits = inputs.size() == seen.input.size() && targets.size() == seen.target.size() && samples > 0;
      file.Require(fits, where + ": another number of positions");
      if (!fits) continue;
      for (size_t i = 0; i < inputs.size(); ++i) {
        CompareFrequencies(Text(where, " input ", i), seen.input[i], seen.samples, inputs[i], samples, file);
      }
      for (size_t i = 0; i < targets.size(); ++i) {
        CompareFrequencies(Text(where, " target ", i), seen.target[i], seen.samples, targets[i], samples, file);
      }
      std::vector<double> valid = stored.at("valid_hist").get<std::vector<double>>();
      for (double& count : valid) count /= samples;
      valid.resize(std::max(valid.size(), seen.valid.size()));
      CompareFrequencies(where + " valid", seen.valid, seen.samples, valid, samples, file);
      file.Compare(where + " valid_mean", seen.valid_mean - stored.at("valid_mean").get<double>(),
                   5 * std::sqrt(seen.valid_variance * (1 / seen.samples + 1 / samples)) + 1e-6);
    }
  }
}

}  // namespace

void CheckTasks(const std::filesystem::path& folder, Report& report) {
  std::set<std::string> names;
  for (const catalog::Task* task : catalog::TasksOfTableB1()) names.insert(std::string(task->name));
  std::error_code no_folder;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "tasks", no_folder)) {
    if (entry.path().extension() == ".json") names.insert(entry.path().stem().string());
  }
  for (const std::string& name : names) {
    const std::string label = "tasks/" + name + ".json";
    const std::filesystem::path path = folder / "tasks" / (name + ".json");
    if (!std::filesystem::exists(path)) {
      report.Absent(label);
      continue;
    }
    FileCheck file(label);
    const tasks::Task* task = tasks::FindTask(name);
    const catalog::Task* known = catalog::FindTask(name);
    file.Require(task != nullptr && known != nullptr, "no task is called " + name);
    if (task != nullptr && known != nullptr) {
      WithJson(path, file, [&](const Json& golden) { CheckTask(*task, *known, golden, file); });
    }
    report.Add(file);
  }
  const std::filesystem::path statistics = folder / "task_stats.json";
  if (!std::filesystem::exists(statistics)) {
    report.Absent("task_stats.json");
    return;
  }
  FileCheck file("task_stats.json");
  WithJson(statistics, file, [&](const Json& golden) { CheckStatistics(golden, file); });
  report.Add(file);
}

}  // namespace longreach::golden
