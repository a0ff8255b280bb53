#include "worker/trainer/resident/pass_inputs.h"

#include "worker/trainer/encodings/kerple.h"
#include "worker/trainer/tasks/registry.h"

namespace longreach::trainer {

namespace {

using resident::BiasKind;
using resident::kDim;
using resident::kHeads;
using resident::kSpan;
using resident::kTable;

constexpr float kLog2e = 1.44269504088896f;

// A row of values by offset, at its place in a table of the kernels.
void PutRow(const float* values, const Distances& distances, float factor, float* table) {
  const int64_t tape = distances.tape();
  for (int64_t offset = -(tape - 1); offset < tape; ++offset) table[kSpan + offset] = values[offset + distances.center()] * factor;
}

}  // namespace

resident::BiasKind BiasKindOf(const PackSettings& settings, const Encoding& encoding) {
  if (encoding.Use() != PositionUse::kDistances) return BiasKind::kNone;
  if (!encoding.Trained()) return BiasKind::kFixed;
  return settings.encoding == "log_kerple" ? BiasKind::kLogKerple : BiasKind::kPowerKerple;
}

PassInputs::PassInputs(const PackSettings& settings, const Encoder& encoder, const Batch& batch, bool dropout)
    : tokens_(batch.size * batch.tape) {
  shape_.batch = static_cast<int>(batch.size);
  shape_.tape = static_cast<int>(batch.tape);
  shape_.outputs = static_cast<int>(batch.outputs);
  shape_.bias = BiasKindOf(settings, encoder.encoding());
  shape_.keep_embedding = encoder.DropsOut(0);
  shape_.keep_scale = 1;
  if (dropout && settings.model.dropout > 0) {
    const KeepMask mask = DropoutMask(settings, batch, 0);
    keep_places_ = encoder.DropoutPlaces();
    keep_stream_ = mask.stream();
    keep_threshold_ = mask.threshold();
    shape_.keep_scale = mask.Scale();
  }
  AddPositions(settings, encoder, batch);
  if (!batch.unsampled) {
    tokens_at_ = AddTokens(batch.tokens);
    targets_at_ = AddTokens(batch.targets);
    return;
  }
  sample_ = {.task = static_cast<int>(tasks::FindTask(settings.task) - tasks::Tasks().data()),
             .stream = *batch.unsampled,
             .batch = shape_.batch,
             .tape = shape_.tape,
             .outputs = shape_.outputs,
             .empty = static_cast<uint8_t>(encoder.input_vocabulary()),
             .tokens = nullptr,
             .targets = nullptr};
  tokens_at_ = Place(static_cast<size_t>(tokens_));
  targets_at_ = Place(static_cast<size_t>(batch.size * batch.outputs));
}

// Their ids are below 256: WhyNotResident() has seen to it.
size_t PassInputs::AddTokens(const std::vector<uint16_t>& tokens) {
  return Add<uint8_t>(std::vector<uint8_t>(tokens.begin(), tokens.end()));
}

std::optional<resident::SampleArguments> PassInputs::Sample(char* base) const {
  std::optional<resident::SampleArguments> sample = sample_;
  if (sample) {
    sample->tokens = reinterpret_cast<uint8_t*>(base + tokens_at_);
    sample->targets = reinterpret_cast<uint8_t*>(base + targets_at_);
  }
  return sample;
}

void PassInputs::AddPositions(const PackSettings& settings, const Encoder& encoder, const Batch& batch) {
  const PassTerms terms = encoder.Prepare(batch.positions);
  const size_t layers = static_cast<size_t>(settings.model.layers);
  if (terms.addition.defined()) {
    const Tensor rows = terms.addition.contiguous();
    if (rows.dim() == 3) shape_.addition_stride = static_cast<int>(batch.tape * kDim);
    addition_at_ = Add<float>({rows.data_ptr<float>(), static_cast<size_t>(rows.numel())});
  }
  if (!terms.rotation.empty()) {
    // [2, T, 4] to [T, 8].
    std::vector<float> all;
    for (const Tensor& rotation : terms.rotation) {
      const Tensor by_position = rotation.permute({1, 0, 2}).contiguous();
      all.insert(all.end(), by_position.data_ptr<float>(), by_position.data_ptr<float>() + by_position.numel());
    }
    rotation_at_ = Add<float>(all);
  }
  if (shape_.bias == BiasKind::kFixed) {
    std::vector<float> all(layers * kHeads * kTable, 0);
    for (size_t layer = 0; layer < layers; ++layer) {
      const Tensor table = terms.bias_tables[layer].contiguous();
      for (int64_t h = 0; h < kHeads; ++h) {
        PutRow(table.data_ptr<float>() + h * table.size(1), batch.positions.distances[layer], kLog2e,
               all.data() + (layer * kHeads + static_cast<size_t>(h)) * kTable);
      }
    }
    tables_at_ = Add<float>(all);
  } else if (shape_.bias != BiasKind::kNone) {
    std::vector<float> all(layers * kTable, 0);
    for (size_t layer = 0; layer < layers; ++layer) {
      const Distances& distances = batch.positions.distances[layer];
      const Tensor penalty = PenaltyDistance(distances.values(), settings.model.break_symmetry).contiguous();
      PutRow(penalty.data_ptr<float>(), distances, 1, all.data() + layer * kTable);
    }
    distances_at_ = Add<float>(all);
  }
}

void PassInputs::Describe(const char* base, const uint64_t* keep, resident::StepArguments& arguments) const {
  const auto floats = [&](size_t at) { return at == kNone ? nullptr : reinterpret_cast<const float*>(base + at); };
  arguments.batch = shape_.batch;
  arguments.tape = shape_.tape;
  arguments.outputs = shape_.outputs;
  arguments.tokens = reinterpret_cast<const uint8_t*>(base + tokens_at_);
  arguments.targets = reinterpret_cast<const uint8_t*>(base + targets_at_);
  arguments.keep = keep_places_ == 0 ? nullptr : keep;
  arguments.keep_stride = static_cast<int>(tokens_);
  arguments.loss_rows = shape_.batch * shape_.outputs;
  arguments.keep_embedding = shape_.keep_embedding;
  arguments.keep_scale = shape_.keep_scale;
  arguments.addition = floats(addition_at_);
  arguments.addition_stride = shape_.addition_stride;
  arguments.rotation = floats(rotation_at_);
  arguments.bias = shape_.bias;
  arguments.tables = floats(tables_at_);
  arguments.distances = floats(distances_at_);
}

resident::KeepArguments PassInputs::Keep(uint64_t* keep) const {
  return {.stream = keep_stream_,
          .threshold = keep_threshold_,
          .places = static_cast<int>(keep_places_),
          .tokens = static_cast<int>(tokens_),
          .keep = keep};
}

}  // namespace longreach::trainer
