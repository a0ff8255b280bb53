#include "scheduler/experiments/sequence_model.h"

#include <string>

#include <fmt/format.h>

#include "scheduler/experiments/length_scaling.h"
#include "scheduler/experiments/rate_schedule.h"

namespace longreach::experiments {
namespace {

// Blocks have as many norms either way; with "pre" there is one more behind the last.
double FinalNormParameters(const v1::Model& model) { return model.norm() == "pre" ? 2.0 * model.embedding_dim() : 0; }

}  // namespace

v1::JobSpec SequenceModelDefaults() {
  v1::JobSpec job = TransformerDefaults(2048);
  v1::Model& model = *job.mutable_model();
  model.set_layers(5);
  model.set_embedding_dim(64);
  model.set_mlp_dim(256);
  model.set_causal(false);
  model.set_norm("post");
  SetNoLengthScaling(model);
  v1::Training& training = *job.mutable_training();
  training.set_steps(2'000'000);
  training.set_batch_size(128);
  training.set_warmup_steps(0);
  training.set_final_rate(0.1);
  training.set_schedule("constant");
  return job;
}

void CheckSequenceModel(const v1::SweepSpec& sweep, const Settings& settings, Checks& checks) {
  CheckRateSchedule(sweep.training(), settings.training, checks);
  CheckLengthScaling(sweep.axes(), settings, checks);
  const std::string& norm = settings.model.norm();
  if (norm != "post" && norm != "pre") checks.Refuse(fmt::format("model.norm: '{}' is neither 'post' nor 'pre'", norm));
}

void CompleteSequenceModel(v1::JobSpec& job) {
  CompleteRateSchedule(*job.mutable_training());
  CompleteLengthScaling(*job.mutable_model());
}

void CheckSides(const Settings& settings, Checks& checks) {
  if (!settings.model.causal() || (!settings.positions.relative_as_released() && !settings.model.break_symmetry())) return;
  checks.Refuse(fmt::format("{}: true: with model.causal the model looks back only, there is nothing to tell apart\n  leave it out",
                            settings.model.break_symmetry() ? "model.break_symmetry" : "positions.relative_as_released"));
}

void CheckSameMake(const v1::Input& input, const v1::JobSpec& maker, const v1::JobSpec& job, std::string_view prefix, Checks& checks) {
  if (maker.model().causal() != job.model().causal()) {
    checks.Refuse(fmt::format("{}inputs.{}.from: model.causal is {} there and {} here, so its parameters do not fit", prefix, input.name(),
                              maker.model().causal(), job.model().causal()));
  }
  if (maker.model().norm() != job.model().norm()) {
    checks.Refuse(fmt::format("{}inputs.{}.from: model.norm is '{}' there and '{}' here, so its parameters do not fit", prefix, input.name(),
                              maker.model().norm(), job.model().norm()));
  }
}

double SequenceForwardFlops(const v1::Model& model, const SymbolCounts& symbols, double tape) {
  const double d = model.embedding_dim();
  const double per_token = 2 * d * symbols.read + model.layers() * (8 * d * d + 4 * d * model.mlp_dim()) + 2 * d * symbols.given;
  const double pairs = model.causal() ? tape * tape / 2 : tape * tape;
  return tape * per_token + 4.0 * model.layers() * d * pairs;
}

double SequenceParameters(const v1::Model& model, const SymbolCounts& symbols) {
  const double d = model.embedding_dim();
  return BlockParameters(model) + d * symbols.read + FinalNormParameters(model) + (d + 1) * symbols.given;
}

void SetSequenceSizes(const v1::JobSpec& job, const SymbolCounts& symbols, const LongestTapes& longest, Cost& cost) {
  const double given_positions = static_cast<double>(job.positions().data_rows()) * job.model().embedding_dim();
  SetSizes(job, SequenceParameters(job.model(), symbols) + given_positions, longest.trained, cost);
  if (job.encoding() != "fire") return;
  cost.pair_tables = {.tables = static_cast<double>(job.model().layers()) * job.model().heads(),
                      .trained = longest.trained,
                      .tested = longest.tested,
                      .batch_size = job.training().batch_size()};
}

}  // namespace longreach::experiments
