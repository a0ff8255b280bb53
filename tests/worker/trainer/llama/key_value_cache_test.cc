// What a cache of keys and values holds, whatever sequences go on from whichever.
#include <gtest/gtest.h>

#include <random>

#include "proto/base/text.h"
#include "worker/trainer/llama/key_value_cache.h"

namespace longreach::trainer {

namespace {

constexpr int64_t kHeads = 2, kFeatures = 3;
constexpr size_t kLayers = 2;

// A draw of new tokens' keys or values.
Tensor Some(std::mt19937& generator, int64_t sequences, int64_t tokens) {
  return at::rand({sequences, kHeads, tokens, kFeatures}, at::detail::createCPUGenerator(generator()));
}

TEST(KeyValueCacheTest, EachSequenceHasWhatItsParentsHad) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 generator(seed);
    const auto below = [&](int64_t count) { return static_cast<int64_t>(generator() % static_cast<uint64_t>(count)); };
    KeyValueCache cache;
    std::vector<Tensor> keys(kLayers), values(kLayers);
    int64_t sequences = 1 + below(2);
    for (int step = 0; step < 40; ++step) {
      SCOPED_TRACE(Text("seed ", seed, ", step ", step));
      // Now and then so many tokens that there is no room.
      const int64_t tokens = below(8) == 0 ? 150 : 1 + below(3);
      for (size_t layer = 0; layer < kLayers; ++layer) {
        ASSERT_EQ(cache.LengthOf(layer), keys[layer].defined() ? keys[layer].size(2) : 0);
        const Tensor next_keys = Some(generator, sequences, tokens), next_values = Some(generator, sequences, tokens);
        const auto extended = [](const Tensor& all, const Tensor& next) { return all.defined() ? at::cat({all, next}, 2) : next; };
        keys[layer] = extended(keys[layer], next_keys);
        values[layer] = extended(values[layer], next_values);
        const KeyValueCache::Read read = cache.Append(layer, next_keys, next_values);
        ASSERT_TRUE(read.keys.equal(keys[layer]));
        ASSERT_TRUE(read.values.equal(values[layer]));
      }
      ASSERT_EQ(cache.length(), keys[0].size(2));
      // More, fewer or as many, sometimes all from one.
      std::vector<int64_t> parents(static_cast<size_t>(1 + below(4)));
      const bool from_one = below(4) == 0;
      const int64_t one = below(sequences);
      for (int64_t& parent : parents) parent = from_one ? one : below(sequences);
      cache.Reorder(parents);
      const Tensor index = at::tensor(parents);
      for (std::vector<Tensor>* const all : {&keys, &values}) {
        for (Tensor& of_layer : *all) of_layer = of_layer.index_select(0, index);
      }
      sequences = static_cast<int64_t>(parents.size());
    }
  }
}

TEST(KeyValueCacheTest, TokensAreAddedInPlaceWhereThereIsRoom) {
  std::mt19937 generator(1);
  KeyValueCache cache;
  const Tensor first = cache.Append(0, Some(generator, 1, 5), Some(generator, 1, 5)).keys;
  const Tensor second = cache.Append(0, Some(generator, 1, 1), Some(generator, 1, 1)).keys;
  EXPECT_EQ(first.data_ptr(), second.data_ptr());
}

}  // namespace

}  // namespace longreach::trainer
