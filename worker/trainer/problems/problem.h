// Where batches come from: what a pack is trained and tested on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/trainer/engine/engine.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

// What the outputs of a test length were, of one member.
struct Tested {
  double accuracy = 0;     // Share of hits.
  double loss = 0;         // Mean cross-entropy of an output, in nats.
  double exact_match = 0;  // Share of sequences whose outputs are all hits. Only where the problem scores it.
};

// One number of a test length.
struct Score {
  std::string metric;
  double value = 0;
};

// Pure: a batch depends on the settings, the data and its arguments alone.
class Problem {
 public:
  virtual ~Problem() = default;

  // Of update `step` (0 is the first): draws its length, sequences and positions.
  virtual Batch TrainingBatch(PositionUse use, uint64_t step) const = 0;
  // The same, with its sequences yet to be drawn where the problem leaves that to engines.
  virtual Batch UnsampledTrainingBatch(PositionUse use, uint64_t step) const { return TrainingBatch(use, step); }
  // As `engine` wants it.
  Batch TrainingBatchFor(const StepEngine& engine, uint64_t step) const {
    const PositionUse use = engine.model().encoding().Use();
    return engine.SamplesSequences() ? UnsampledTrainingBatch(use, step) : TrainingBatch(use, step);
  }

  // Test sequences of one length, the same for all jobs, come in parts, so that memory does not grow with their number; each
  // part has positions of its own.
  virtual int TestParts(int length) const = 0;
  virtual Batch TestBatch(PositionUse use, int length, int part) const = 0;
  // What the scores of a length rest on, a line for the log. Empty: on what the settings say.
  virtual std::string BasisOf(int /*length*/) const { return ""; }

  // Whether Tested::exact_match is kept and scored.
  virtual bool ScoresExactMatch() const { return false; }
  virtual std::vector<Score> Scores(int length, const Tested& tested) const = 0;
};

// The settings have been validated. INVALID_ARGUMENT: the data set is not what they ask of it. NOT_FOUND, FAILED_PRECONDITION, DATA_LOSS: it cannot be used.
absl::StatusOr<std::unique_ptr<Problem>> MakeProblem(const PackSettings& settings, const DataSource& data);
// With random bytes in place of a data set: for measuring speed.
std::unique_ptr<Problem> MakeStandIn(const PackSettings& settings);

}  // namespace longreach::trainer
