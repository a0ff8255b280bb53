#include "worker/trainer/positions.h"

#include <algorithm>
#include <numeric>

#include "proto/catalog/catalog.h"
#include "worker/trainer/problems/kinds.h"
#include "worker/trainer/random/sampling.h"

namespace longreach::trainer {

namespace {

Tensor ToTensor(std::span<const int64_t> values) {
  Tensor tensor = at::empty({static_cast<int64_t>(values.size())}, at::kLong);
  std::ranges::copy(values, tensor.data_ptr<int64_t>());
  return tensor;
}

std::vector<int64_t> Consecutive(int64_t tape) {
  std::vector<int64_t> positions(static_cast<size_t>(tape));
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

RandomStream Stream(const PassSource& source, Purpose training, Purpose test, int layer) {
  return {.key = source.key,
          .purpose = source.test ? test : training,
          .layer = static_cast<uint16_t>(layer),
          .step = source.step};
}

// Distinct integers of [0, max_position), ascending.
std::vector<int64_t> OrderedPositions(const PackSettings& settings, int64_t tape, const PassSource& source,
                                      int layer) {
  std::vector<int64_t> positions(static_cast<size_t>(tape));
  SampleSorted(Stream(source, Purpose::kTrainingPositions, Purpose::kTestPositions, layer), 0,
               static_cast<uint32_t>(settings.positions.max_position), positions);
  return positions;
}

// 0, then distinct integers of [1, max_position), ascending.
std::vector<int64_t> OrderedDistances(const PackSettings& settings, int64_t tape, const PassSource& source,
                                      int layer) {
  std::vector<int64_t> distances(static_cast<size_t>(tape), 0);
  SampleSorted(Stream(source, Purpose::kTrainingPositions, Purpose::kTestPositions, layer), 1,
               static_cast<uint32_t>(settings.positions.max_position - 1), std::span(distances).subspan(1));
  return distances;
}

// SHAPE: every sequence starts at a place of its own.
Tensor ShiftedPositions(const PackSettings& settings, int64_t tape, int64_t batch, const PassSource& source) {
  using ShiftAtTest = PackSettings::Positions::ShiftAtTest;
  const PackSettings::Positions& positions = settings.positions;
  // {0..L-T}, or {0..min(K, L-T)-1} when K is given, as in SHAPE's own code; of a tape as long as L that leaves 0.
  const int64_t room = positions.max_position - tape;
  const int64_t shifts = positions.shift_max > 0 ? std::max<int64_t>(std::min<int64_t>(positions.shift_max, room), 1) : room + 1;
  const RandomStream stream = Stream(source, Purpose::kTrainingShift, Purpose::kTestShift, 0);
  Tensor result_BT = at::empty({batch, tape}, at::kLong);
  int64_t* out = result_BT.data_ptr<int64_t>();
  for (int64_t b = 0; b < batch; ++b) {
    int64_t shift = stream.Below(static_cast<uint64_t>(b), static_cast<uint32_t>(shifts));
    if (source.test && positions.shift_at_test == ShiftAtTest::kFixed) shift = positions.shift_max;
    if (source.test && positions.shift_at_test == ShiftAtTest::kZero) shift = 0;
    for (int64_t t = 0; t < tape; ++t) *out++ = t + shift;
  }
  return result_BT;
}

}  // namespace

Distances Distances::ByOffset(std::span<const int64_t> by_offset, bool causal) {
  Distances distances;
  const int64_t tape = static_cast<int64_t>(by_offset.size());
  distances.tape_ = tape;
  distances.center_ = tape - 1;
  distances.values_R_ = at::empty({2 * tape - 1}, at::kFloat);
  float* values = distances.values_R_.data_ptr<float>();
  for (int64_t k = 0; k < tape; ++k) {
    const float distance = static_cast<float>(by_offset[static_cast<size_t>(k)]);
    values[tape - 1 - k] = -distance;
    values[tape - 1 + k] = distance;
  }
  if (causal) distances.values_R_ = distances.values_R_.narrow(0, 0, tape).clone();
  return distances;
}

Distances Distances::OfPositions(std::span<const int64_t> positions, bool causal) {
  Distances distances;
  distances.tape_ = static_cast<int64_t>(positions.size());
  distances.positions_.assign(positions.begin(), positions.end());
  const auto [lowest, highest] = std::ranges::minmax_element(positions);
  distances.center_ = *highest - *lowest;
  distances.values_R_ = at::arange(-distances.center_, causal ? 1 : distances.center_ + 1, at::kLong).to(at::kFloat);
  return distances;
}

Tensor Distances::Entries(int64_t first_query, int64_t queries) const {
  Tensor entries = at::empty({queries, tape_}, at::kLong);
  int64_t* out = entries.data_ptr<int64_t>();
  const int64_t last = values_R_.size(0) - 1;
  for (int64_t t = first_query; t < first_query + queries; ++t) {
    for (int64_t s = 0; s < tape_; ++s) *out++ = std::min(Entry(t, s), last);
  }
  return entries;
}

PassPositions DrawPositions(const PackSettings& settings, PositionUse use, int64_t tape, int64_t batch,
                            const PassSource& source) {
  using RandomizedBy = PackSettings::Positions::RandomizedBy;
  PassPositions pass;
  pass.test = source.test;
  const int layers = settings.model.layers;
  const bool causal = IsCausal(settings);
  switch (use) {
    case PositionUse::kNothing: break;
    case PositionUse::kEmbedding: {
      const catalog::Encoding* encoding = catalog::FindEncoding(settings.encoding);
      if (encoding != nullptr && (encoding->positions & catalog::kShifted) != 0) {
        pass.embedding = ShiftedPositions(settings, tape, batch, source);
      } else {
        pass.embedding =
            ToTensor(settings.randomized ? OrderedPositions(settings, tape, source, 0) : Consecutive(tape));
      }
      break;
    }
    case PositionUse::kRotation:
      if (!settings.randomized) {
        pass.rotation.assign(static_cast<size_t>(layers), ToTensor(Consecutive(tape)));  // One tensor for all.
        break;
      }
      for (int layer = 0; layer < layers; ++layer) {
        pass.rotation.push_back(ToTensor(OrderedPositions(settings, tape, source, layer)));
      }
      break;
    case PositionUse::kDistances:
      if (!settings.randomized) {
        pass.distances.assign(static_cast<size_t>(layers), Distances::ByOffset(Consecutive(tape), causal));
        break;
      }
      for (int layer = 0; layer < layers; ++layer) {
        if (settings.positions.randomized_by == RandomizedBy::kDistance) {
          pass.distances.push_back(Distances::ByOffset(OrderedDistances(settings, tape, source, layer), causal));
        } else {
          pass.distances.push_back(Distances::OfPositions(OrderedPositions(settings, tape, source, layer), causal));
        }
      }
      break;
  }
  return pass;
}

}  // namespace longreach::trainer
