#include "worker/trainer/engine/batch.h"

#include <algorithm>

#include "proto/catalog/catalog.h"
#include "worker/trainer/tasks/registry.h"

namespace longreach::trainer {

namespace {

Batch MakeBatch(const PackSettings& settings, PositionUse use, int requested_length, int64_t size,
                const RandomStream& stream, const PassSource& source) {
  const catalog::Task& entry = *catalog::FindTask(settings.task);
  const tasks::Task& task = *tasks::FindTask(settings.task);
  const int64_t input_length = task.InputLength(requested_length);
  const int64_t outputs = task.OutputLength(static_cast<int>(input_length));
  std::vector<uint8_t> inputs(static_cast<size_t>(size * input_length));
  std::vector<uint8_t> targets(static_cast<size_t>(size * outputs));
  std::vector<int32_t> valid(static_cast<size_t>(size));
  const absl::Status filled = tasks::FillBatch(task, requested_length, stream, 0, inputs, targets, valid);
  TORCH_CHECK(filled.ok(), std::string(filled.message()));  // Validate() has refused such lengths.
  Batch batch = OnTape(size, inputs, targets, std::move(valid), entry.input_vocabulary);
  batch.positions = DrawPositions(settings, use, batch.tape, size, source);
  batch.source = source;
  return batch;
}

}  // namespace

Batch OnTape(int64_t size, const std::vector<uint8_t>& inputs, const std::vector<uint8_t>& targets,
             std::vector<int32_t> valid, int input_vocabulary) {
  Batch batch;
  batch.size = size;
  const int64_t input_length = static_cast<int64_t>(inputs.size()) / size;
  batch.outputs = static_cast<int64_t>(targets.size()) / size;
  batch.tape = input_length + batch.outputs;
  batch.tokens.assign(static_cast<size_t>(size * batch.tape), static_cast<uint16_t>(input_vocabulary));
  for (int64_t b = 0; b < size; ++b) {
    std::copy_n(inputs.begin() + b * input_length, input_length, batch.tokens.begin() + b * batch.tape);
  }
  batch.targets.assign(targets.begin(), targets.end());
  batch.valid = std::move(valid);
  return batch;
}

Batch TrainingBatch(const PackSettings& settings, PositionUse use, uint64_t step) {
  const PackSettings::Training& training = settings.training;
  const RandomStream lengths{
      .key = training.data_seed, .purpose = Purpose::kTrainingLength, .layer = 0, .step = step};
  const int length = training.lengths[lengths.Below(0, static_cast<uint32_t>(training.lengths.size()))];
  return MakeBatch(settings, use, length, training.batch_size,
                   tasks::TrainingBatchStream(training.data_seed, step),
                   {.key = training.data_seed, .step = step, .test = false});
}

Batch TestBatch(const PackSettings& settings, PositionUse use, int requested_length) {
  return MakeBatch(settings, use, requested_length, settings.evaluation.examples,
                   tasks::TestBatchStream(requested_length, settings.evaluation.seed),
                   {.key = EvaluationKey(settings.evaluation.seed),
                    .step = static_cast<uint64_t>(requested_length),
                    .test = true});
}

KeepMask DropoutMask(const PackSettings& settings, const Batch& batch, int place) {
  return KeepMask({.key = batch.source.key,
                   .purpose = batch.source.test ? Purpose::kTestDropout : Purpose::kTrainingDropout,
                   .layer = static_cast<uint16_t>(place),
                   .step = batch.source.step},
                  settings.model.dropout);
}

std::vector<Tensor> DropoutFactors(const PackSettings& settings, const Model& model, const Batch& batch,
                                   int64_t first, int64_t count) {
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
    Tensor factor = at::empty({count * rows, dim}, at::kFloat);
    float* out = factor.data_ptr<float>();
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
