// A batch as all engines read it: tokens, targets and positions, the same for all members of a pack; and the batches of the
// algorithmic tasks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "worker/trainer/model/model.h"
#include "worker/trainer/random/drop_factors.h"
#include "worker/trainer/random/sampling.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

struct Batch {
  int64_t size = 0;
  int64_t tape = 0;
  int64_t outputs = 0;
  int64_t window = 0;             // What dynamic NTK takes for the current length where that is more than the tape; 0: it is not.
  std::vector<uint16_t> tokens;   // [size, tape]; empty output positions, the begin of a text and that of a decoder's outputs hold the id V_in.
  std::vector<uint16_t> targets;  // [size, outputs].
  std::vector<int32_t> valid;     // [size]: leading outputs that count for accuracy.
  PassPositions positions;
  PassSource source;             // For dropout.
  // Of a batch whose sequences are yet to be drawn: `tokens`, `targets` and `valid` are empty.
  std::optional<RandomStream> unsampled;
};

// The length of the batch of update `step`, drawn from those that are trained on.
int TrainingLength(const PackSettings::Training& training, uint64_t step);
// What a part of the test at a length draws its positions and dropout from.
PassSource TestSource(const PackSettings& settings, int length, int part);

// Puts inputs [size, input_length] on a tape with `empty` at output positions.
Batch OnTape(int64_t size, const std::vector<uint8_t>& inputs, const std::vector<uint8_t>& targets,
             std::vector<int32_t> valid, int empty);

// Teacher forcing: a decoder reads the true outputs but the last, behind the begin token, which is the first of those that OnTape() leaves there. Output y is
// the token `first_token` + y.
void PutTrueOutputs(int first_token, Batch& batch);

// The batch of update `step` (0 is the first): draws its length, sequences and positions.
Batch TrainingBatch(const PackSettings& settings, PositionUse use, uint64_t step);
// The same with its sequences yet to be drawn: for engines that do it where they compute.
Batch UnsampledTrainingBatch(const PackSettings& settings, PositionUse use, uint64_t step);
// The test batch of one length, the same for all jobs.
Batch TestBatch(const PackSettings& settings, PositionUse use, int requested_length);

// What dropout at a place of the model keeps. Element (sequence, position, feature) has the number
// (sequence * T + position) * D + feature, with D rounded up to a multiple of 8.
KeepMask DropoutMask(const PackSettings& settings, const Batch& batch, int place);

// A device that draws dropout's factors by itself: `fill` writes into its memory what the arguments ask for.
struct DrawingDevice {
  at::Device device;
  std::function<void(const DropFactors&)> fill;
};

// Dropout factors of `count` sequences from `first`, by place of the model: 0 or 1/(1-p), [count rows, D]. An
// element's fate depends on place, sequence, position and feature. Empty when p is 0. With a device they are drawn and lie there, else on
// the host; their bits are the same.
std::vector<Tensor> DropoutFactors(const PackSettings& settings, const Model& model, const Batch& batch,
                                   int64_t first, int64_t count, const std::optional<DrawingDevice>& device = std::nullopt);

}  // namespace longreach::trainer
