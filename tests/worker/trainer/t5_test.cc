// T5's biases: which distances share a bucket, as _relative_position_bucket() of T5's code says in float32, and what the buckets' gradients are.
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "worker/trainer/encodings/encoding.h"

namespace longreach::trainer {

namespace {

constexpr int kHeads = 3;

struct T5sEncoding {
  std::unique_ptr<Encoding> encoding;
  ParameterLayout layout;
};

T5sEncoding MakeT5(int buckets, int max_distance, bool causal) {
  T5sEncoding made{.encoding = MakeEncoding("t5", {.layers = 2, .embedding_dim = 48, .num_heads = kHeads, .t5_buckets = buckets,
                                                   .t5_max_distance = max_distance, .causal = causal}),
                   .layout = {}};
  made.encoding->Declare(made.layout);
  return made;
}

std::vector<int64_t> OneByOne(int64_t tape) {
  std::vector<int64_t> distances(static_cast<size_t>(tape));
  std::iota(distances.begin(), distances.end(), 0);
  return distances;
}

// The bucket of each distance: a table whose entries are their own numbers, of the second head, says it.
std::vector<int> BucketsOf(const T5sEncoding& t5, const Distances& distances) {
  const int64_t buckets = t5.layout.parameters()[0].shape[1];
  Tensor numbers = at::zeros({kHeads, buckets});
  numbers[1] = at::arange(buckets).to(at::kFloat);
  const Tensor bias_R = t5.encoding->BiasTable(distances, {numbers}, 0)[1];
  std::vector<int> result;
  for (int64_t r = 0; r < bias_R.numel(); ++r) result.push_back(static_cast<int>(bias_R[r].item<float>()));
  return result;
}

// At each of `starts` a bucket begins, up to a distance of 4096; of two sides the one of keys after the query comes second.
void ExpectBuckets(int buckets, int max_distance, bool causal, const std::vector<int>& starts) {
  constexpr int kFarthest = 4096;
  const T5sEncoding t5 = MakeT5(buckets, max_distance, causal);
  const std::vector<int> found = BucketsOf(t5, Distances::ByOffset(OneByOne(kFarthest + 1), causal));
  ASSERT_EQ(found.size(), static_cast<size_t>(causal ? kFarthest + 1 : 2 * kFarthest + 1));
  std::vector<int> expected(found.size());
  int bucket = 0;
  for (int distance = 0; distance <= kFarthest; ++distance) {
    if (bucket + 1 < static_cast<int>(starts.size()) && distance == starts[static_cast<size_t>(bucket) + 1]) ++bucket;
    expected[static_cast<size_t>(kFarthest - distance)] = bucket;
    if (!causal && distance > 0) expected[static_cast<size_t>(kFarthest + distance)] = buckets / 2 + bucket;
  }
  for (size_t r = 0; r < found.size(); ++r) {
    ASSERT_EQ(found[r], expected[r]) << "of the distance " << static_cast<int>(r) - kFarthest << ", " << buckets << " buckets";
  }
}

// What the reference makes of all distances up to 4200, by PyTorch in float32: 8 2^(k/2) and 16 8^(k/16), rounded up.
TEST(T5Test, DistancesFallIntoTheBucketsOfTheReference) {
  ExpectBuckets(32, 128, false, {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91});
  ExpectBuckets(32, 128, true, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113});
}

// By hand. 4 32^(k/5) is whole each time, where a quotient of logarithms in float64 comes out below k.
TEST(T5Test, OtherNumbersOfBucketsAndOtherDistancesAreTheirs) {
  ExpectBuckets(4, 3, false, {0, 1});
  ExpectBuckets(8, 16, false, {0, 1, 2, 6});             // 2 8^(1/2) = 5.66.
  ExpectBuckets(8, 16, true, {0, 1, 2, 3, 4, 6, 8, 12});  // 4 4^(k/4): 5.66, 8, 11.31.
  ExpectBuckets(18, 128, false, {0, 1, 2, 3, 4, 8, 16, 32, 64});
}

TEST(T5Test, WhereBucketsOutnumberDistancesSomeStayEmpty) {
  const T5sEncoding t5 = MakeT5(64, 40, true);  // 32 1.25^(k/32) is 32 up to 33 for five of them.
  const std::vector<int> found = BucketsOf(t5, Distances::ByOffset(OneByOne(42), true));
  const auto bucket_at = [&](size_t distance) { return found[41 - distance]; };
  EXPECT_EQ(bucket_at(31), 31);
  EXPECT_EQ(bucket_at(32), 32);
  EXPECT_EQ(bucket_at(33), 36);
  EXPECT_EQ(bucket_at(39), 60);
  EXPECT_EQ(bucket_at(40), 63);
  EXPECT_EQ(bucket_at(41), 63);
}

TEST(T5Test, OfRandomizedPositionsTheDistanceThatWasDrawnHasTheBucket) {
  const T5sEncoding t5 = MakeT5(32, 128, false);

  const Distances by_distance = Distances::ByOffset(std::vector<int64_t>{0, 9, 70}), by_position = Distances::OfPositions(std::vector<int64_t>{3, 12, 73});

  const std::vector<int> first = BucketsOf(t5, by_distance), second = BucketsOf(t5, by_position);
  const auto bucket = [](const std::vector<int>& buckets, const Distances& distances, int64_t query, int64_t key) {
    return buckets[static_cast<size_t>(distances.Entry(query, key))];
  };
  EXPECT_EQ(bucket(first, by_distance, 0, 2), 16 + 14);
  EXPECT_EQ(bucket(first, by_distance, 2, 1), 8);
  EXPECT_EQ(bucket(first, by_distance, 1, 1), 0);
  EXPECT_EQ(bucket(second, by_position, 0, 2), 16 + 14);
  EXPECT_EQ(bucket(second, by_position, 2, 1), 13);  // 61 apart.
  EXPECT_EQ(bucket(second, by_position, 1, 0), 8);
}

TEST(T5Test, AllLayersShareOneTableThatIsDrawnAsInT5) {
  const T5sEncoding t5 = MakeT5(32, 128, false);

  ASSERT_EQ(t5.layout.parameters().size(), 1u);
  const Parameter& table = t5.layout.parameters()[0];
  EXPECT_EQ(table.shape, (std::vector<int64_t>{kHeads, 32}));
  EXPECT_EQ(table.initial.kind, Initial::Kind::kNormal);
  EXPECT_DOUBLE_EQ(table.initial.scale, std::pow(48, -0.5));
  const Tensor values = at::arange(kHeads * 32).to(at::kFloat).view({kHeads, 32});
  const Distances distances = Distances::ByOffset(OneByOne(20));
  EXPECT_TRUE(t5.encoding->BiasTable(distances, {values}, 0).equal(t5.encoding->BiasTable(distances, {values}, 1)));
}

TEST(T5Test, MembersOfAPackHaveTheirOwnTables) {
  const T5sEncoding t5 = MakeT5(8, 16, false);
  const Tensor values = at::arange(2 * kHeads * 8).to(at::kFloat).view({2, kHeads, 8});
  const Distances distances = Distances::ByOffset(OneByOne(7));

  const Tensor bias = t5.encoding->BiasTable(distances, {values}, 0);

  ASSERT_EQ(bias.sizes(), at::IntArrayRef({2, kHeads, 13}));
  for (int64_t member = 0; member < 2; ++member) EXPECT_TRUE(bias[member].equal(t5.encoding->BiasTable(distances, {values[member]}, 0)));
}

TEST(T5Test, GradientsOfABucketsDistancesAreAdded) {
  const T5sEncoding t5 = MakeT5(4, 3, false);  // Of each side 0 and all else.
  const Distances distances = Distances::ByOffset(OneByOne(4));
  const Tensor of_table = at::tensor({1, 2, 4, 8, 16, 32, 64, /**/ 0, 0, 0, 1, 0, 0, 0, /**/ 1, 0, 0, 0, 0, 0, -1}, at::kFloat).view({kHeads, 7});
  Tensor gradient = at::full({kHeads, 4}, 0.5f);

  t5.encoding->AddBiasGradient(distances, {at::zeros({kHeads, 4})}, 1, of_table, {gradient});

  const Tensor expected = at::tensor({8, 7, 0, 112, /**/ 1, 0, 0, 0, /**/ 0, 1, 0, -1}, at::kFloat).view({kHeads, 4}) + 0.5;
  EXPECT_TRUE(gradient.equal(expected)) << gradient;
}

}  // namespace

}  // namespace longreach::trainer
