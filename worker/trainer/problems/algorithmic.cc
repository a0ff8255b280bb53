// The tasks of the Chomsky hierarchy, which make their own data (worker/trainer/tasks).
#include "worker/trainer/problems/kinds.h"
#include "worker/trainer/problems/problem.h"

namespace longreach::trainer {

namespace {

class Algorithmic final : public Problem {
 public:
  explicit Algorithmic(const PackSettings& settings) : settings_(settings) {}

  Batch TrainingBatch(PositionUse use, uint64_t step) const override {
    return trainer::TrainingBatch(settings_, use, step);
  }
  Batch UnsampledTrainingBatch(PositionUse use, uint64_t step) const override {
    return trainer::UnsampledTrainingBatch(settings_, use, step);
  }
  // One batch, as the reference: one draw of positions serves a whole length.
  int TestParts(int) const override { return 1; }
  Batch TestBatch(PositionUse use, int length, int) const override { return trainer::TestBatch(settings_, use, length); }

  // Of a decoder: each output is predicted from the true ones before it, so the sequences that are right from end to end are those that it would
  // write by itself, greedily.
  bool ScoresExactMatch() const override { return settings_.model.causal; }
  std::vector<Score> Scores(int, const Tested& tested) const override {
    std::vector<Score> scores = {{"accuracy", tested.accuracy}, {"loss", tested.loss}};
    if (ScoresExactMatch()) scores.insert(scores.begin() + 1, {"exact_match", tested.exact_match});
    return scores;
  }

 private:
  PackSettings settings_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Problem>> MakeAlgorithmic(const PackSettings& settings, const DataSource* /*data*/) { return std::make_unique<Algorithmic>(settings); }

}  // namespace longreach::trainer
