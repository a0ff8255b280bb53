#include "worker/trainer/llama/key_value_cache.h"

#include <algorithm>

namespace longreach::trainer {

namespace {

// Tokens that are made room for beyond those that there are.
constexpr int64_t kRoom = 128;

// [N, V, room, K] that begins with these, [N, V, tokens, K].
Tensor WithRoom(const Tensor& known, int64_t room) {
  std::vector<int64_t> shape = known.sizes().vec();
  shape[2] = room;
  const Tensor wider = at::empty(shape, known.options());
  wider.narrow(2, 0, known.size(2)).copy_(known);
  return wider;
}

}  // namespace

KeyValueCache::Read KeyValueCache::Append(size_t layer, const Tensor& keys, const Tensor& values) {
  if (layer >= layers_.size()) layers_.resize(layer + 1);
  Layer& own = layers_[layer];
  const int64_t length = own.length + keys.size(2);
  const auto add = [&](Tensor& all, const Tensor& next) {
    if (!all.defined() || all.size(2) < length) all = WithRoom((all.defined() ? all : next).narrow(2, 0, own.length), length + kRoom);
    all.narrow(2, own.length, next.size(2)).copy_(next);
    return all.narrow(2, 0, length);
  };
  const Read read{.keys = add(own.keys, keys), .values = add(own.values, values)};
  own.length = length;
  return read;
}

void KeyValueCache::Reorder(std::span<const int64_t> parents) {
  if (layers_.empty()) return;
  const int64_t before = layers_[0].keys.size(0), after = static_cast<int64_t>(parents.size());
  bool unchanged = after == before;
  for (size_t i = 0; i < parents.size(); ++i) unchanged = unchanged && parents[i] == static_cast<int64_t>(i);
  if (unchanged) return;
  const Tensor index = at::tensor(at::ArrayRef<int64_t>(parents.data(), parents.size()), at::kLong).to(layers_[0].keys.device());
  for (Layer& layer : layers_) {
    for (Tensor* all : {&layer.keys, &layer.values}) {
      if (after > before) {
        *all = WithRoom(all->narrow(2, 0, layer.length).index_select(0, index), all->size(2));
        continue;
      }
      const Tensor own = all->narrow(2, common_, layer.length - common_).index_select(0, index);
      if (after < before) *all = all->narrow(0, 0, after);
      all->narrow(2, common_, layer.length - common_).copy_(own);
    }
  }
  if (std::ranges::adjacent_find(parents, std::ranges::not_equal_to()) == parents.end()) common_ = length();
}

}  // namespace longreach::trainer
