// The experiment kind "language": a decoder that predicts each byte of a text from those before it, the first from a begin
// token. Table 1 and, with the input "weights", Table 2. docs/models.md says what the paper leaves open.
#include <cmath>

#include "scheduler/experiments/data_kind.h"
#include "scheduler/experiments/length_scaling.h"

namespace longreach::experiments {

const Kind& Language();

namespace {

v1::JobSpec LanguageDefaults() {
  v1::JobSpec job = DataDefaults();
  SetNoLengthScaling(*job.mutable_model());
  v1::Training& training = *job.mutable_training();
  training.set_batch_size(64);
  training.add_lengths(256);
  v1::Evaluation& evaluation = *job.mutable_evaluation();
  evaluation.add_lengths(256);
  evaluation.add_lengths(1024);
  return job;
}

class LanguageKind final : public DataKind {
 public:
  std::string_view Name() const override { return "language"; }
  const v1::JobSpec& Defaults() const override {
    static const v1::JobSpec defaults = LanguageDefaults();
    return defaults;
  }

  absl::Status Validate(const v1::SweepSpec& sweep, std::string_view prefix) const override {
    RETURN_IF_ERROR(DataKind::Validate(sweep, prefix));
    Checks checks(prefix);
    CheckLengthScaling(sweep.axes(), WholeSettings(sweep, Defaults()), checks);
    return checks.status();
  }

  void Complete(v1::JobSpec& job) const override {
    DataKind::Complete(job);
    CompleteLengthScaling(*job.mutable_model());
  }

 protected:
  void CheckOwn(const Settings& settings, Checks& checks) const override {
    if (settings.model.break_symmetry()) {
      checks.Refuse("model.break_symmetry: true: this model looks back only, there is nothing to tell apart\n  leave it out");
    }
  }
  int64_t TapeOf(const v1::Model&, int length) const override { return length; }
  double ForwardFlops(const v1::Model& model, int length) const override {
    const double tape = length;
    return BlockFlops(model, model.layers(), tape, tape * tape / 2) + tape * 2 * model.embedding_dim() * (2 * kBytes + 1);
  }
  double Parameters(const v1::Model& model) const override {
    return BlockParameters(model) + model.embedding_dim() * (2 * kBytes + 1) + kBytes;
  }
  double TestExamples(int length) const override { return std::floor(kEnwik8TestBytes / length); }
};

}  // namespace

const Kind& Language() {
  static const LanguageKind kind;
  return kind;
}

}  // namespace longreach::experiments
