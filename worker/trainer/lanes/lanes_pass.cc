#include "worker/trainer/lanes/lanes_pass.h"

#include <algorithm>
#include <numeric>

#include "worker/trainer/random/sampling.h"

namespace longreach::trainer {

namespace {

constexpr float kLog2e = 1.44269504088896f;
constexpr int K = lanes::kHeadDim;
constexpr float kInverseRootK = 0.353553390593273762f;
// The bias of keys that a decoder's query does not see: 2^x of it is 0, and it is finite, as sums with infinities may be NaN.
constexpr float kUnseen = -1e30f;
// Numbers of pairs that an encoding has at a time while it makes biases of them.
constexpr int64_t kPairNumbersAtATime = 1 << 16;

}  // namespace

LanesPass::LanesPass(const PackSettings& settings, const Encoder& encoder, const lanes::Kernels& kernels, const Batch& batch, bool dropout)
    : settings_(settings), encoder_(encoder), kernels_(kernels), batch_(batch) {
  pass_.tape = static_cast<int>(batch.tape);
  pass_.outputs = static_cast<int>(batch.outputs);
  tiles_ = (batch.size + kernels.lanes - 1) / kernels.lanes;
  MakeTiles();
  MakePositions();
  if (dropout && settings.model.dropout > 0) MakeKeep();
}

int64_t LanesPass::LanesOf(int64_t tile) const {
  const bool half = kernels_.half != nullptr && batch_.size - tile * kernels_.lanes <= kernels_.lanes / 2;
  return half ? kernels_.lanes / 2 : kernels_.lanes;
}

void LanesPass::MakeTiles() {
  const int64_t tape = batch_.tape, outputs = batch_.outputs, in_tile = kernels_.lanes;
  tokens_.assign(static_cast<size_t>(tiles_ * tape * in_tile), 0);
  targets_.assign(static_cast<size_t>(tiles_ * outputs * in_tile), 0);
  for (int64_t b = 0; b < batch_.size; ++b) {
    const int64_t tile = b / in_tile, lane = b % in_tile, lanes = LanesOf(tile);
    int32_t* tokens = tokens_.data() + tile * tape * in_tile + lane;
    for (int64_t t = 0; t < tape; ++t) tokens[t * lanes] = batch_.tokens[static_cast<size_t>(b * tape + t)];
    int32_t* targets = targets_.data() + tile * outputs * in_tile + lane;
    for (int64_t o = 0; o < outputs; ++o) targets[o * lanes] = batch_.targets[static_cast<size_t>(b * outputs + o)];
  }
}

void LanesPass::MakePositions() {
  const int64_t tape = batch_.tape;
  const PassPositions& positions = batch_.positions;
  const PassTerms terms = encoder_.Prepare(positions);
  const bool trained = encoder_.encoding().Trained();

  rotation_.reserve(terms.rotation.size() * static_cast<size_t>(tape * K));
  for (const Tensor& rotation : terms.rotation) {
    // [2, T, 4] to [T][8].
    const float *cosines = rotation.const_data_ptr<float>(), *sines = cosines + tape * (K / 2);
    for (int64_t t = 0; t < tape; ++t) {
      for (const float* from : {cosines, sines}) rotation_.insert(rotation_.end(), from + t * (K / 2), from + (t + 1) * (K / 2));
    }
  }
  if (!rotation_.empty()) pass_.rotation = pass_.query_rotation = rotation_.data();
  ScaleQueries();

  if (positions.embedding.defined()) {
    const int64_t dim = settings_.model.embedding_dim;
    pass_.table_trained = trained;
    for (int64_t t = 0; t < tape; ++t) {
      int64_t row = t;
      if (trained) row = std::min<int64_t>(positions.embedding.data_ptr<int64_t>()[t], settings_.model.learned_rows - 1);
      addition_row_.push_back(row * dim);
    }
    pass_.addition_row = addition_row_.data();
    if (!trained) {
      addition_ = terms.addition.contiguous();
      if (addition_.dim() == 3) pass_.addition_by_sequence = tape * dim;
    }
  }

  if (positions.given.defined()) {
    const int64_t table = encoder_.layout().Find(std::string(kGivenTable))->offset, dim = settings_.model.embedding_dim;
    const int64_t* const given = positions.given.const_data_ptr<int64_t>();
    for (int64_t i = 0; i < positions.given.numel(); ++i) given_row_.push_back(table + given[i] * dim);
    pass_.given_row = given_row_.data();
  }

  if (positions.distances.empty()) {
    if (settings_.model.causal) HideLaterKeys();
    return;
  }
  if (encoder_.encoding().NumbersOfPair() > 0) {
    pass_.bias = lanes::Bias::kByPair;
    pass_.bias_trained = true;
    pass_.bias_stride = tape * tape;
    RoundUpBiasStride();
    return;
  }
  pass_.bias = lanes::Bias::kByOffset;
  pass_.bias_trained = trained;
  pass_.distance_keys = encoder_.encoding().AddsContent();
  for (const Distances& distances : positions.distances) {
    const int64_t center = distances.Entry(0, 0);
    centers_.push_back(static_cast<int32_t>(center));
    // A decoder's distances end at 0; its table has places for those of keys behind the query all the same.
    pass_.bias_stride = std::max(pass_.bias_stride, 2 * center + 1);
    if (distances.toeplitz()) continue;
    pass_.bias = lanes::Bias::kByPosition;
    for (int64_t t = 0; t < tape; ++t) positions_.push_back(static_cast<int32_t>(distances.Entry(0, t) - center));
  }
  RoundUpBiasStride();
  pass_.centers = centers_.data();
  if (!positions_.empty()) pass_.positions = positions_.data();
  if (trained) return;
  bias_.assign(static_cast<size_t>(TablesSize()), 0);
  for (size_t layer = 0; layer < terms.bias_tables.size(); ++layer) PutBias(terms.bias_tables[layer], static_cast<int>(layer), bias_.data());
}

// A factor is a part of a rotation, be it one by nothing: kernels know of rotations alone.
void LanesPass::ScaleQueries() {
  const LengthScaling& scaling = encoder_.length_scaling();
  if (scaling.IsNone()) return;
  const int64_t tape = batch_.tape, layers = settings_.model.layers;
  if (rotation_.empty()) {
    for (int64_t i = 0; i < layers * tape * K; ++i) rotation_.push_back(i % K < K / 2 ? 1.0f : 0.0f);
  }
  const Tensor keys = settings_.model.causal ? at::arange(1, tape + 1, at::kDouble) : at::full({tape}, static_cast<double>(tape), at::kDouble);
  const Tensor factors = scaling.Of(keys).to(at::kFloat);
  query_rotation_ = rotation_;
  for (size_t i = 0; i < query_rotation_.size(); ++i) query_rotation_[i] *= factors.const_data_ptr<float>()[static_cast<int64_t>(i) / K % tape];
  pass_.rotation = rotation_.data();
  pass_.query_rotation = query_rotation_.data();
}

// Of an encoding without biases: one table for all layers would do, but kernels read each layer's own.
void LanesPass::HideLaterKeys() {
  const int64_t layers = settings_.model.layers;
  pass_.bias = lanes::Bias::kByOffset;
  pass_.bias_stride = 2 * batch_.tape - 1;
  RoundUpBiasStride();
  centers_.assign(static_cast<size_t>(layers), static_cast<int32_t>(batch_.tape - 1));
  pass_.centers = centers_.data();
  bias_.assign(static_cast<size_t>(TablesSize()), 0);
  const Tensor none = at::zeros({settings_.model.heads, batch_.tape});
  for (int layer = 0; layer < layers; ++layer) PutBias(none, layer, bias_.data());
}

// What a layer has of tables is to begin and end at multiples of kRegister.
void LanesPass::RoundUpBiasStride() {
  const int64_t step = kRegister / std::gcd(kRegister, int64_t{settings_.model.heads});
  pass_.bias_stride = (pass_.bias_stride + step - 1) / step * step;
}

void LanesPass::MakeKeep() {
  for (int place = 0; place < encoder_.DropoutPlaces(); ++place) {
    keep_offset_.push_back(encoder_.DropsOut(place) ? keep_size_ : -1);
    if (encoder_.DropsOut(place)) keep_size_ += encoder_.RowsAt(place, batch_.tape, batch_.outputs) * encoder_.embedding_dim();
  }
  pass_.keep_offset = keep_offset_.data();
  pass_.keep_scale = DropoutMask(settings_, batch_, 0).Scale();
}

lanes::Tile LanesPass::Tile(int64_t tile) const {
  const int64_t lanes = kernels_.lanes;
  return {.tokens = tokens_.data() + tile * batch_.tape * lanes,
          .targets = targets_.data() + tile * batch_.outputs * lanes,
          .first = tile * lanes,
          .lanes = static_cast<int>(LanesOf(tile)),
          .live = static_cast<int>(std::min(lanes, batch_.size - tile * lanes)),
          .keep = nullptr};
}

void LanesPass::FillKeep(int64_t tile, int place, uint16_t* keep) const {
  if (!encoder_.DropsOut(place)) return;
  constexpr int64_t kWords = 4096;
  alignas(64) uint32_t words[kWords];
  const lanes::Tile here = Tile(tile);
  const KeepMask mask = DropoutMask(settings_, batch_, place);
  const int64_t dim = encoder_.embedding_dim(), rows = encoder_.RowsAt(place, batch_.tape, batch_.outputs);
  uint16_t* const bits = keep + keep_offset_[static_cast<size_t>(place)];
  std::fill_n(bits, rows * dim, uint16_t{0});
  for (int lane = 0; lane < here.live; ++lane) {
    // Two draws from a word, the low half first. Rows are multiples of 16 draws.
    const int64_t first = ((here.first + lane) * batch_.tape + batch_.tape - rows) * dim / 2, all = rows * dim / 2;
    for (int64_t done = 0; done < all; done += kWords) {
      const int64_t count = std::min(kWords, all - done);
      FillWords(mask.stream(), static_cast<uint64_t>(first + done), {words, static_cast<size_t>(count)});
      kernels_.keep_bits(reinterpret_cast<const uint16_t*>(words), 2 * count, mask.threshold(), lane, bits + 2 * done);
    }
  }
}

void LanesPass::FillKeep(int64_t tile, uint16_t* keep) const {
  for (int place = 0; place < encoder_.DropoutPlaces(); ++place) FillKeep(tile, place, keep);
}

lanes::TableGradients LanesPass::Tables(float* tables) const {
  float* const keys = tables + BiasSize();
  return {.bias = tables, .distance_keys = pass_.distance_keys ? keys : nullptr, .content_bias = pass_.distance_keys ? keys + KeysSize() : nullptr};
}

std::vector<LanesPass::Part> LanesPass::LayerTables(int layer) const {
  const int64_t layers = settings_.model.layers, bias = BiasSize() / layers, keys = KeysSize() / layers, dim = settings_.model.embedding_dim;
  std::vector<Part> parts = {{.first = layer * bias, .size = bias}};
  if (pass_.distance_keys) {
    parts.push_back({.first = BiasSize() + layer * keys, .size = keys});
    parts.push_back({.first = BiasSize() + KeysSize() + layer * dim, .size = dim});
  }
  return parts;
}

void LanesPass::PutBias(const Tensor& table, int layer, float* tables) const {
  const int64_t heads = settings_.model.heads;
  const Tensor values_HR = table.contiguous();
  const float* from = values_HR.data_ptr<float>();
  const int64_t entries = values_HR.size(1);
  for (int64_t h = 0; h < heads; ++h) {
    float* to = Tables(tables).bias + (layer * heads + h) * pass_.bias_stride;
    for (int64_t r = 0; r < entries; ++r) to[r] = *from++ * kLog2e;
    if (settings_.model.causal) std::fill(to + entries, to + pass_.bias_stride, kUnseen);
  }
}

Tensor LanesPass::BiasGradient(float* gradients, int layer) const {
  const int64_t heads = settings_.model.heads;
  const int64_t entries = batch_.positions.distances[static_cast<size_t>(layer)].values().numel();
  return at::from_blob(Tables(gradients).bias + layer * heads * pass_.bias_stride, {heads, entries}, {pass_.bias_stride, 1}, at::kFloat);
}

void LanesPass::PutPairBias(const Tensor& bias, int layer, int64_t first_query, float* tables) const {
  const int64_t heads = settings_.model.heads, tape = batch_.tape, queries = bias.size(1);
  const Tensor values_HQT = bias.contiguous();
  const float* from = values_HQT.data_ptr<float>();
  for (int64_t h = 0; h < heads; ++h) {
    float* to = Tables(tables).bias + (layer * heads + h) * pass_.bias_stride + first_query * tape;
    for (int64_t q = 0; q < queries; ++q, from += tape, to += tape) {
      for (int64_t s = 0; s < tape; ++s) to[s] = from[s] * kLog2e;
      if (settings_.model.causal) std::fill(to + first_query + q + 1, to + tape, kUnseen);
    }
  }
}

Tensor LanesPass::PairBiasGradient(float* gradients, int layer, int64_t first_query, int64_t queries) const {
  const int64_t heads = settings_.model.heads, tape = batch_.tape;
  float* const from = Tables(gradients).bias + layer * heads * pass_.bias_stride + first_query * tape;
  return at::from_blob(from, {heads, queries, tape}, {pass_.bias_stride, tape, 1}, at::kFloat);
}

void LanesPass::ForQueries(int layer, const std::function<void(int64_t, int64_t)>& use) const {
  const int64_t tape = batch_.tape, numbers = tape * encoder_.encoding().NumbersOfPair();
  const int64_t at_a_time = std::clamp<int64_t>(kPairNumbersAtATime / numbers, 1, tape);
  const int64_t asks = layer + 1 == settings_.model.layers ? batch_.outputs : tape;  // Behind the last layer only the outputs are read.
  for (int64_t first = tape - asks; first < tape; first += at_a_time) use(first, std::min(at_a_time, tape - first));
}

void LanesPass::PutContent(const ContentTerm& content, int layer, float* tables) const {
  const int64_t heads = settings_.model.heads, dim = heads * K, entries = content.keys.size(0);
  const lanes::TableGradients to = Tables(tables);
  const float *u = content.content_bias.data_ptr<float>(), *v = content.relative_bias.data_ptr<float>();
  std::copy_n(u, dim, to.content_bias + layer * dim);
  Tensor bias_HR = at::empty({heads, entries}, at::kFloat);
  float* bias = bias_HR.data_ptr<float>();
  for (int64_t h = 0; h < heads; ++h) {
    const float* from = content.keys.data_ptr<float>() + h * K;
    float* keys = to.distance_keys + (layer * heads + h) * pass_.bias_stride * K;
    for (int64_t r = 0; r < entries; ++r, from += dim, keys += K) {
      float sum = 0;
      for (int64_t j = 0; j < K; ++j) {
        keys[j] = from[j];
        sum += (v[h * K + j] - u[h * K + j]) * from[j];
      }
      *bias++ = sum * kInverseRootK;
    }
    // Of distances that a decoder has none of: nothing comes of them, as long as they are numbers.
    if (settings_.model.causal) std::fill_n(keys, (pass_.bias_stride - entries) * K, 0.0f);
  }
  PutBias(bias_HR, layer, tables);
}

ContentTerm LanesPass::ContentGradient(const ContentTerm& content, int layer, float* gradients) const {
  const int64_t heads = settings_.model.heads, dim = heads * K, entries = content.keys.size(0);
  const lanes::TableGradients sums = Tables(gradients);
  const float *u = content.content_bias.data_ptr<float>(), *v = content.relative_bias.data_ptr<float>();
  ContentTerm gradient = {.content_bias = at::empty({heads, K}, at::kFloat),
                          .relative_bias = at::empty({heads, K}, at::kFloat),
                          .keys = at::empty({entries, dim}, at::kFloat)};
  for (int64_t h = 0; h < heads; ++h) {
    const int64_t row = (layer * heads + h) * pass_.bias_stride;
    double of_bias[K] = {};
    for (int64_t r = 0; r < entries; ++r) {
      const float* key = content.keys.data_ptr<float>() + r * dim + h * K;
      float* to = gradient.keys.data_ptr<float>() + r * dim + h * K;
      const float g = sums.bias[row + r] * kInverseRootK;
      for (int64_t j = 0; j < K; ++j) {
        to[j] = sums.distance_keys[(row + r) * K + j] + g * (v[h * K + j] - u[h * K + j]);
        of_bias[j] += static_cast<double>(g) * static_cast<double>(key[j]);
      }
    }
    for (int64_t j = 0; j < K; ++j) {
      const int64_t at = h * K + j;
      gradient.relative_bias.data_ptr<float>()[at] = static_cast<float>(of_bias[j]);
      gradient.content_bias.data_ptr<float>()[at] = static_cast<float>(static_cast<double>(sums.content_bias[layer * dim + at]) - of_bias[j]);
    }
  }
  return gradient;
}

}  // namespace longreach::trainer
