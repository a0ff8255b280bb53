#include "client/data_fit.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "client/errors.h"
#include "client/output/text.h"
#include "client/spec/own_list.h"
#include "proto/catalog/encoding_name.h"

namespace longreach::client {
namespace {

// An argument of a command line each. What is beyond is told by the job itself.
constexpr size_t kMostNeeds = 200;
constexpr std::chrono::milliseconds kBetweenSignals{100};

v1::JobSpec NeedOf(const v1::SweepSpec& sweep, const v1::SweepSpec& own) {
  v1::JobSpec job;
  job.set_experiment(sweep.experiment());
  job.set_data(own.data().empty() ? sweep.data() : own.data());
  v1::Model model = sweep.model();
  model.MergeFrom(own.model());
  v1::Model& asked = *job.mutable_model();
  asked.set_folder(model.folder());
  if (model.has_layers()) asked.set_layers(model.layers());
  if (model.has_embedding_dim()) asked.set_embedding_dim(model.embedding_dim());
  if (model.has_heads()) asked.set_heads(model.heads());
  if (model.has_kv_heads()) asked.set_kv_heads(model.kv_heads());
  if (model.has_mlp_dim()) asked.set_mlp_dim(model.mlp_dim());
  const v1::Positions& positions = own.positions().has_rope_scaling() ? own.positions() : sweep.positions();
  if (positions.has_rope_scaling()) job.mutable_positions()->set_rope_scaling(positions.rope_scaling());
  const v1::Evaluation& tests = sweep.evaluation();
  const v1::Evaluation& own_tests = own.evaluation();
  const std::string& longbench = own_tests.has_longbench() ? own_tests.longbench() : tests.longbench();
  if (!longbench.empty()) {
    job.mutable_evaluation()->set_longbench(longbench);
    *job.mutable_evaluation()->mutable_longbench_tasks() = OwnListOr(own_tests.longbench_tasks(), tests.longbench_tasks());
  }
  if (const auto& lengths = OwnListOr(own_tests.passkey_lengths(), tests.passkey_lengths()); !lengths.empty()) {
    job.mutable_evaluation()->add_passkey_lengths(lengths[0]);  // Any of them needs the tokenizer.
  }
  return job;
}

std::string JsonOfNeed(const v1::JobSpec& job) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  (void)google::protobuf::util::MessageToJsonString(job, &text, options);  // Only bytes that are no UTF-8 fail, which no sweep has.
  return text;
}

// As the scheduler says whose field it is.
std::string WithOwner(const DataNeed& need, const std::string& words) {
  constexpr std::string_view kEncoding = "encoding: ";
  const std::string said = words.starts_with(kEncoding) ? "axes." + words : words;
  return need.system.empty() ? said : fmt::format("systems.{}: {}", need.system, said);
}

absl::StatusCode CodeOf(int exit_code) {
  if (exit_code == kUsage) return absl::StatusCode::kInvalidArgument;
  return exit_code == kNotFound ? absl::StatusCode::kNotFound : absl::StatusCode::kFailedPrecondition;
}

}  // namespace

std::vector<DataNeed> DataNeedsOf(const v1::SweepSpec& sweep, const v1::Plan& plan) {
  const std::set<std::string> read(plan.data_sets().begin(), plan.data_sets().end());
  std::vector<DataNeed> needs;
  std::set<std::string> known;
  const auto add = [&](const std::string& system, const v1::SweepSpec& own) {
    v1::JobSpec job = NeedOf(sweep, own);
    const auto is_read = [&read](const std::string& name) { return name.empty() || read.contains(name); };
    if (job.model().folder().empty() || !is_read(job.model().folder()) || !is_read(job.data()) || !is_read(job.evaluation().longbench())) return;
    for (const std::string& task : OwnListOr(own.axes().task(), sweep.axes().task())) {
      job.set_task(task);
      for (const std::string& encoding : OwnListOr(own.axes().encoding(), sweep.axes().encoding())) {
        job.set_encoding(catalog::ParseEncodingName(encoding).value_or(catalog::EncodingName{.name = encoding}).name);
        if (needs.size() < kMostNeeds && known.insert(job.SerializeAsString()).second) needs.push_back({.system = system, .job = job});
      }
    }
  };
  if (sweep.systems().empty()) add("", v1::SweepSpec());
  for (const v1::System& system : sweep.systems()) add(system.name(), system.with());
  return needs;
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
  return Error(CodeOf(process.exit_code()), Printable(WithOwner(needs[std::min(fitting, needs.size() - 1)], words)), "nothing was submitted");
}

}  // namespace longreach::client
