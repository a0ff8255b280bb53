#include "client/data_fit.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "client/errors.h"
#include "client/output/text.h"
#include "proto/catalog/encoding_name.h"
#include "proto/types/sweep_parts.h"

namespace longreach::client {
namespace {

// An argument of a command line each. What is beyond is told by the job itself.
constexpr size_t kMostNeeds = 200;
constexpr std::chrono::milliseconds kBetweenSignals{100};

// The longest says it for all: what is read is too short for it, or for none.
template <typename Lengths>
void AddLongest(const Lengths& from, google::protobuf::RepeatedField<int32_t>& to) {
  if (!from.empty()) to.Add(*std::ranges::max_element(from));
}

// `sweep` is without systems. What it leaves out is left out: the job itself looks at what is usual.
v1::JobSpec NeedOf(const v1::SweepSpec& sweep, const std::string& task, const std::string& encoding) {
  v1::JobSpec job;
  job.set_experiment(sweep.experiment());
  job.set_data(sweep.data());
  job.set_task(task);
  job.set_encoding(catalog::ParseEncodingName(encoding).value_or(catalog::EncodingName{.name = encoding}).name);
  const v1::Model& model = sweep.model();
  v1::Model& asked = *job.mutable_model();
  asked.set_folder(model.folder());
  if (model.has_layers()) asked.set_layers(model.layers());
  if (model.has_embedding_dim()) asked.set_embedding_dim(model.embedding_dim());
  if (model.has_heads()) asked.set_heads(model.heads());
  if (model.has_kv_heads()) asked.set_kv_heads(model.kv_heads());
  if (model.has_mlp_dim()) asked.set_mlp_dim(model.mlp_dim());
  if (sweep.positions().has_rope_scaling()) job.mutable_positions()->set_rope_scaling(sweep.positions().rope_scaling());
  const v1::Training& training = sweep.training();
  if (training.has_steps()) job.mutable_training()->set_steps(training.steps());
  if (!training.has_steps() || training.steps() > 0) {
    AddLongest(training.lengths(), *job.mutable_training()->mutable_lengths());
    *job.mutable_training()->mutable_mixture() = training.mixture();
  }
  const v1::Evaluation& tests = sweep.evaluation();
  v1::Evaluation& asked_tests = *job.mutable_evaluation();
  AddLongest(tests.lengths(), *asked_tests.mutable_lengths());
  if (tests.has_perplexity_protocol()) {  // What short documents are to it depends on these.
    asked_tests.set_perplexity_protocol(tests.perplexity_protocol());
    asked_tests.set_stride(tests.stride());
    asked_tests.set_position_bins(tests.position_bins());
  }
  if (!tests.longbench().empty()) {
    asked_tests.set_longbench(tests.longbench());
    *asked_tests.mutable_longbench_tasks() = tests.longbench_tasks();
  }
  if (!tests.passkey_lengths().empty()) asked_tests.add_passkey_lengths(tests.passkey_lengths(0));  // Any of them needs the tokenizer.
  return job;
}

std::vector<std::string> DataSetsOfNeed(const v1::JobSpec& job) {
  std::vector<std::string> names = {job.model().folder(), job.data(), job.evaluation().longbench()};
  names.insert(names.end(), job.training().mixture().begin(), job.training().mixture().end());
  std::erase(names, "");
  return names;
}

std::string JsonOfNeed(const v1::JobSpec& job) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  (void)google::protobuf::util::MessageToJsonString(job, &text, options);  // Only bytes that are no UTF-8 fail, which no sweep has.
  return text;
}

// As the scheduler says whose field it is. What is no field's is of data sets.
std::string WithOwner(const DataNeed& need, const std::string& words, bool begins_with_field) {
  constexpr std::string_view kEncoding = "encoding: ";
  std::string said = words.starts_with(kEncoding) ? "axes." + words : words;
  if (!need.input.empty()) said = fmt::format("{}{}{}", need.input, begins_with_field ? "." : ": ", said);
  return need.system.empty() ? said : fmt::format("systems.{}: {}", need.system, said);
}

absl::StatusCode CodeOf(int exit_code) {
  if (exit_code == kUsage) return absl::StatusCode::kInvalidArgument;
  return exit_code == kNotFound ? absl::StatusCode::kNotFound : absl::StatusCode::kFailedPrecondition;
}

class Needs {
 public:
  explicit Needs(const v1::Plan& plan) : read_(plan.data_sets().begin(), plan.data_sets().end()) {}

  // `sweep` is without systems, `input` as in DataNeed.
  void Add(const std::string& system, const std::string& input, const v1::SweepSpec& sweep) {
    for (const std::string& task : sweep.axes().task()) {
      for (const std::string& encoding : sweep.axes().encoding()) {
        if (all_.size() >= kMostNeeds) return;
        AddOne({.system = system, .input = input, .job = NeedOf(sweep, task, encoding)});
        v1::Axes axes;
        axes.add_task(task);
        axes.add_encoding(encoding);
        for (const v1::Input& made : sweep.inputs()) {
          Add(system, fmt::format("{}{}inputs.{}.from", input, input.empty() ? "" : ".", made.name()), MakerSweep(made, axes, sweep));
        }
      }
    }
  }

  const std::vector<DataNeed>& all() const { return all_; }

 private:
  void AddOne(DataNeed need) {
    const auto is_read = [this](const std::string& name) { return read_.contains(name); };
    if (need.job.model().folder().empty() || !std::ranges::all_of(DataSetsOfNeed(need.job), is_read)) return;
    if (known_.insert(need.job.SerializeAsString()).second) all_.push_back(std::move(need));
  }

  std::set<std::string> read_;
  std::set<std::string> known_;
  std::vector<DataNeed> all_;
};

}  // namespace

std::vector<DataNeed> DataNeedsOf(const v1::SweepSpec& sweep, const v1::Plan& plan) {
  Needs needs(plan);
  v1::SweepSpec plain = sweep;
  plain.clear_systems();
  if (sweep.systems().empty()) needs.Add("", "", plain);
  for (const v1::System& system : sweep.systems()) needs.Add(system.name(), "", WithSystem(plain, system));
  return needs.all();
}

absl::StatusOr<std::optional<int>> CheckDataFits(Session& session, const v1::SweepSpec& sweep, const v1::Plan& plan, const WorkerOptions& options,
                                                 const InterruptScope& interrupt) {
  const std::vector<DataNeed> needs = DataNeedsOf(sweep, plan);
  if (needs.empty()) return std::optional<int>();
  std::vector<std::string> arguments = {"data", "fit"};
  if (!options.data_folder.empty()) arguments.insert(arguments.end(), {"--data-folder", options.data_folder});
  for (const DataNeed& need : needs) arguments.push_back(JsonOfNeed(need.job));
  ASSIGN_OR_RETURN(Process process, StartWorkerProgram(session.environment().binaries, arguments));
  process.CloseInput();
  while (!process.WaitFor(kBetweenSignals)) {
    if (interrupt.count() == 0) continue;
    process.Kill();
    return std::optional<int>(interrupt.exit_code());
  }
  if (process.exit_code() == kDone) return std::optional<int>();
  size_t fitting = 0;
  while (process.ReadLine(std::chrono::milliseconds(0)).has_value()) ++fitting;
  const std::string words = LastWords(process, "longreach-worker");
  return Error(CodeOf(process.exit_code()), Printable(WithOwner(needs[std::min(fitting, needs.size() - 1)], words, process.exit_code() == kUsage)), "nothing was submitted");
}

}  // namespace longreach::client
