#include "worker/trainer/engine/batch.h"

#include <algorithm>

#include "proto/catalog/catalog.h"
#include "worker/trainer/tasks/registry.h"

namespace longreach::trainer {

namespace {

// All but its sequences.
Batch Unsampled(const PackSettings& settings, PositionUse use, int requested_length, int64_t size, const RandomStream& stream,
                const PassSource& source) {
  const tasks::Task& task = *tasks::FindTask(settings.task);
  const int input_length = task.InputLength(requested_length);
  Batch batch;
  batch.size = size;
  batch.outputs = task.OutputLength(input_length);
  batch.tape = input_length + batch.outputs;
  batch.positions = DrawPositions(settings, use, batch.tape, size, source);
  batch.source = source;
  batch.unsampled = stream;
  return batch;
}

Batch Sampled(const PackSettings& settings, int requested_length, Batch batch) {
  const catalog::Task& entry = *catalog::FindTask(settings.task);
  const tasks::Task& task = *tasks::FindTask(settings.task);
  std::vector<uint8_t> inputs(static_cast<size_t>(batch.size * (batch.tape - batch.outputs)));
  std::vector<uint8_t> targets(static_cast<size_t>(batch.size * batch.outputs));
  std::vector<int32_t> valid(static_cast<size_t>(batch.size));
  const absl::Status filled = tasks::FillBatch(task, requested_length, *batch.unsampled, 0, inputs, targets, valid);
  TORCH_CHECK(filled.ok(), std::string(filled.message()));  // Validate() has refused such lengths.
  Batch sampled = OnTape(batch.size, inputs, targets, std::move(valid), entry.TokensRead(settings.model.causal));
  if (settings.model.causal) PutTrueOutputs(entry.input_vocabulary, sampled);
  sampled.positions = std::move(batch.positions);
  sampled.source = batch.source;
  return sampled;
}

Batch UnsampledOfLength(const PackSettings& settings, PositionUse use, uint64_t step, int length) {
  const uint64_t seed = settings.training.data_seed;
  return Unsampled(settings, use, length, settings.training.batch_size, tasks::TrainingBatchStream(seed, step),
                   {.key = seed, .step = step, .test = false});
}

}  // namespace

int TrainingLength(const PackSettings::Training& training, uint64_t step) {
  const RandomStream lengths{
      .key = training.data_seed, .purpose = Purpose::kTrainingLength, .layer = 0, .step = step};
  return training.lengths[lengths.Below(0, static_cast<uint32_t>(training.lengths.size()))];
}

PassSource TestSource(const PackSettings& settings, int length, int part) {
  return {.key = EvaluationKey(settings.evaluation.seed),
          .step = static_cast<uint64_t>(part) << 32 | static_cast<uint64_t>(length),
          .test = true};
}

Batch OnTape(int64_t size, const std::vector<uint8_t>& inputs, const std::vector<uint8_t>& targets,
             std::vector<int32_t> valid, int empty) {
  Batch batch;
  batch.size = size;
  const int64_t input_length = static_cast<int64_t>(inputs.size()) / size;
  batch.outputs = static_cast<int64_t>(targets.size()) / size;
  batch.tape = input_length + batch.outputs;
  batch.tokens.assign(static_cast<size_t>(size * batch.tape), static_cast<uint16_t>(empty));
  for (int64_t b = 0; b < size; ++b) {
    std::copy_n(inputs.begin() + b * input_length, input_length, batch.tokens.begin() + b * batch.tape);
  }
  batch.targets.assign(targets.begin(), targets.end());
  batch.valid = std::move(valid);
  return batch;
}

void PutTrueOutputs(int first_token, Batch& batch) {
  for (int64_t b = 0; b < batch.size; ++b) {
    uint16_t* const begin = &batch.tokens[static_cast<size_t>((b + 1) * batch.tape - batch.outputs)];
    const uint16_t* const target = &batch.targets[static_cast<size_t>(b * batch.outputs)];
    for (int64_t o = 1; o < batch.outputs; ++o) begin[o] = static_cast<uint16_t>(first_token + target[o - 1]);
  }
}

Batch UnsampledTrainingBatch(const PackSettings& settings, PositionUse use, uint64_t step) {
  return UnsampledOfLength(settings, use, step, TrainingLength(settings.training, step));
}

Batch TrainingBatch(const PackSettings& settings, PositionUse use, uint64_t step) {
  const int length = TrainingLength(settings.training, step);
  return Sampled(settings, length, UnsampledOfLength(settings, use, step, length));
}

Batch TestBatch(const PackSettings& settings, PositionUse use, int requested_length) {
  const PackSettings::Evaluation& tests = settings.evaluation;
  const PassSource source = TestSource(settings, requested_length, /*part=*/0);
  return Sampled(settings, requested_length,
                 Unsampled(settings, use, requested_length, tests.examples, tasks::TestBatchStream(requested_length, tests.seed), source));
}

KeepMask DropoutMask(const PackSettings& settings, const Batch& batch, int place) {
  return KeepMask({.key = batch.source.key,
                   .purpose = batch.source.test ? Purpose::kTestDropout : Purpose::kTrainingDropout,
                   .layer = static_cast<uint16_t>(place),
                   .step = batch.source.step},
                  settings.model.dropout);
}

std::vector<Tensor> DropoutFactors(const PackSettings& settings, const Model& model, const Batch& batch,
                                   int64_t first, int64_t count, const std::optional<DrawingDevice>& device) {
  std::vector<Tensor> factors;
  if (settings.model.dropout == 0) return factors;
  const int64_t dim = model.embedding_dim();
  const int64_t padded = (dim + 7) / 8 * 8;  // Draws are made in runs that begin at multiples of 8.
  std::vector<float> row(static_cast<size_t>(padded));
  for (int place = 0; place < model.DropoutPlaces(); ++place) {
    if (!model.DropsOut(place)) {
      factors.emplace_back();
      continue;
    }
    const KeepMask mask = DropoutMask(settings, batch, place);
    const int64_t rows = model.RowsAt(place, batch.tape, batch.outputs);
    Tensor factor = at::empty({count * rows, dim}, at::TensorOptions(at::kFloat).device(device ? device->device : at::Device(at::kCPU)));
    float* out = factor.data_ptr<float>();
    if (device) {
      device->fill({.stream = mask.stream(),
                    .threshold = mask.threshold(),
                    .scale = mask.Scale(),
                    .first = first,
                    .count = count,
                    .tape = batch.tape,
                    .rows = rows,
                    .features = dim,
                    .factors = out});
      factors.push_back(std::move(factor));
      continue;
    }
    if (padded == dim && rows == batch.tape) {
      mask.Fill(static_cast<uint64_t>(first * rows * dim), {out, static_cast<size_t>(count * rows * dim)});
      factors.push_back(std::move(factor));
      continue;
    }
    for (int64_t b = 0; b < count; ++b) {
      const uint64_t from = static_cast<uint64_t>(((first + b) * batch.tape + batch.tape - rows) * padded);
      if (padded == dim) {
        mask.Fill(from, {out, static_cast<size_t>(rows * dim)});
        out += rows * dim;
        continue;
      }
      for (int64_t t = 0; t < rows; ++t, out += dim) {
        mask.Fill(from + static_cast<uint64_t>(t * padded), row);
        std::copy_n(row.begin(), dim, out);
      }
    }
    factors.push_back(std::move(factor));
  }
  return factors;
}

}  // namespace longreach::trainer
