#include "scheduler/experiments/data_kind.h"

#include <algorithm>

#include <fmt/format.h>

#include "proto/base/names.h"
#include "proto/base/text.h"
#include "proto/catalog/usual_positions.h"
#include "scheduler/experiments/position_layers.h"
#include "scheduler/experiments/rope_scaling.h"

namespace longreach::experiments {

v1::JobSpec DataDefaults() {
  v1::JobSpec job = TransformerDefaults(catalog::kUsualPositions);
  v1::Model& model = *job.mutable_model();
  model.set_layers(8);
  model.set_embedding_dim(256);
  model.set_mlp_dim(1024);
  model.set_fire_threshold(64);  // A quarter of what a text is trained at, as in FIRE's paper.
  job.mutable_training()->set_steps(1'000'000);
  job.mutable_evaluation()->set_examples(0);
  return job;
}

void CheckDataName(std::string_view field, const std::string& name, Checks& checks) {
  if (name.size() > kMaxNameBytes) checks.Refuse(fmt::format("{}: a name of {} characters; at most {}", field, name.size(), kMaxNameBytes));
  if (!IsOfNameCharacters(name) || name.front() == '.') {
    checks.Refuse(fmt::format("{}: '{}' cannot be a data set's name\n  'longreach list data' shows those that workers have", field, name));
  }
}

double BlockFlops(const v1::Model& model, double layers, double tape, double pairs) {
  const double d = model.embedding_dim();
  return layers * (tape * (8 * d * d + 4 * d * model.mlp_dim()) + 4 * d * pairs);
}

const catalog::DataTask* DataKind::FindTask(std::string_view name) const {
  const catalog::DataTask* task = catalog::FindDataTask(name);
  return task != nullptr && task->experiment == Name() ? task : nullptr;
}

template <typename Spec>
Settings DataKind::Whole(const Spec& spec) const {
  Settings whole = WholeSettings(spec, Defaults());
  int64_t longest = 0;
  for (const int length : LengthsOf(whole)) longest = std::max(longest, TapeOf(whole.model, length));
  const int usual = catalog::PositionsFor(longest);
  if (!spec.positions().has_max_position()) whole.positions.set_max_position(usual);
  if (!spec.model().has_learned_rows()) whole.model.set_learned_rows(usual);
  return whole;
}

absl::Status DataKind::Validate(const v1::SweepSpec& sweep, std::string_view prefix) const {
  std::vector<std::string> known;
  for (const catalog::DataTask& task : catalog::DataTasks()) {
    if (task.experiment == Name()) known.emplace_back(task.name);
  }
  for (const std::string& task : sweep.axes().task()) {
    if (FindTask(task) == nullptr) {
      return UnknownTask(fmt::format("{}axes.task", prefix), Name(), task, known,
                         fmt::format("known: {}\n  data of your own goes by --set data=NAME", Join(known, ", ")));
    }
  }
  RETURN_IF_ERROR(CheckEncodings(sweep.axes(), prefix));
  Checks checks(prefix);
  const Settings settings = Whole(sweep);
  CheckSettings(settings, checks);
  checks.Range("evaluation.examples", settings.evaluation.examples(), 0, kMaxSize);
  if (!sweep.data().empty()) CheckDataName("data", sweep.data(), checks);
  CheckOwnKind(settings, Name(), checks);
  CheckOwn(settings, checks);
  RETURN_IF_ERROR(checks.status());
  std::vector<Tape> tapes;
  for (const std::string& task : sweep.axes().task()) {
    for (const int length : LengthsOf(settings)) tapes.push_back({task, length, TapeOf(settings.model, length)});
  }
  for (const std::string& encoding : sweep.axes().encoding()) CheckEncodingFits(*ParseEncodingName(encoding), settings, tapes, checks);
  CheckRopeScalingOf(sweep, checks);
  CheckPositionLayers(sweep.axes(), settings, checks);
  CheckAttentionFits(settings, tapes, checks);
  if (settings.positions.relative_as_released()) {
    checks.Refuse("positions.relative_as_released: true: that table was released with the kind 'algorithmic' alone\n  leave it out");
  }
  CheckSomethingToDo(sweep, settings, checks);
  return checks.status();
}

void DataKind::Complete(v1::JobSpec& job) const {
  if (job.data().empty()) job.set_data(job.task());
  CompleteSettings(job, Whole(job));
}

absl::Status DataKind::ValidateInput(const v1::Input& input, const v1::JobSpec& maker, const v1::JobSpec& job,
                                     std::string_view prefix) const {
  return CheckWeightsInput(input, maker, job, prefix);
}

Cost DataKind::CostOf(const v1::JobSpec& job, const MakerStoresWeights&) const {
  Cost cost;
  const v1::Model& model = job.model();
  double mean = 0;
  for (const int length : job.training().lengths()) mean += ForwardFlops(model, length) / job.training().lengths_size();
  // Backward costs twice forward.
  cost.flops += 3.0 * job.training().batch_size() * job.training().steps() * mean;
  const auto test_flops = [&](int length) {
    const double wanted = job.evaluation().examples(), all = TestExamples(length);
    const double tests = wanted == 0 ? all : HasAnyNumberOfTests(job) ? wanted : std::min(wanted, all);
    return tests * ForwardFlops(model, length);
  };
  for (const int length : job.evaluation().lengths()) cost.flops += test_flops(length);
  cost.flops += CurveFlops(job, test_flops);
  int64_t tape = 0;
  for (const int length : job.training().lengths()) tape = std::max(tape, TapeOf(model, length));
  SetSizes(job, Parameters(model), tape, cost);
  return cost;
}

}  // namespace longreach::experiments
