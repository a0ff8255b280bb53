// Our own loops against LibTorch's operations: values and gradients; and blocks of queries against all at
// once.
#include <gtest/gtest.h>

#include "worker/trainer/model/attention.h"

namespace longreach::trainer {

namespace {

struct Sizes {
  int64_t batch, tape, heads, head_dim, queries;
  bool causal = false;
};

enum class With { kNothing, kRotation, kBias, kBiasByPosition, kContent, kContentByPosition, kPairs };

std::vector<int64_t> Ascending(int64_t count) {
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < count; ++i) positions.push_back(3 * i + i % 3);
  return positions;
}

class AttentionTest : public ::testing::TestWithParam<std::tuple<Sizes, With>> {
 protected:
  void SetUp() override {
    at::manual_seed(1);
    const auto [sizes, with] = GetParam();
    shape_ = {.batch = sizes.batch,
              .tape = sizes.tape,
              .heads = sizes.heads,
              .head_dim = sizes.head_dim,
              .queries = sizes.queries,
              .causal = sizes.causal};
    const int64_t width = sizes.heads * sizes.head_dim;
    const bool apart = sizes.queries < sizes.tape;
    if (apart) q_ = at::randn({sizes.batch * sizes.queries, width}) * 2;
    kv_ = at::randn({sizes.batch * sizes.tape, (apart ? 2 : 3) * width}) * 2;
    if (with == With::kRotation) {
      const Tensor angle = at::rand({sizes.tape, sizes.head_dim / 2}) * 6;
      terms_.rotation = at::stack({angle.cos(), angle.sin()}).contiguous();
    }
    const std::vector<int64_t> positions = Ascending(sizes.tape);
    const bool by_position = with == With::kBiasByPosition || with == With::kContentByPosition;
    distances_ = by_position ? Distances::OfPositions(positions, sizes.causal)
                             : Distances::ByOffset(positions, sizes.causal);
    terms_.distances = &distances_;
    const int64_t entries = distances_.values().size(0);
    if (with == With::kBias || with == With::kBiasByPosition) table_ = at::randn({sizes.heads, entries}) * 3;
    if (with == With::kPairs) table_ = at::randn({sizes.heads, sizes.tape, sizes.tape}) * 3;
    if (with == With::kContent || with == With::kContentByPosition) {
      u_ = at::randn({sizes.heads, sizes.head_dim});
      v_ = at::randn({sizes.heads, sizes.head_dim});
      r_ = at::randn({entries, width});
    }
    weight_ = at::randn({sizes.batch * sizes.queries, width});
  }

  static bool HasPairs() { return std::get<1>(GetParam()) == With::kPairs; }

  // A table over distances, or what it has of each pair.
  static void PutBias(const Tensor& table, LayerTerms& terms) {
    if (!HasPairs()) {
      terms.bias_table = table;
      return;
    }
    terms.pair_bias = [table](int64_t first_query, int64_t queries, int64_t keys) {
      return table.narrow(-2, first_query, queries).narrow(-1, 0, keys);
    };
  }

  struct Outcome {
    Tensor value, q, kv, table, u, v, r;
  };

  // `pack_axis`: the general path, in that type; else the one of a member alone.
  Outcome Run(bool pack_axis, at::ScalarType type) {
    const auto leaf = [&](const Tensor& tensor) {
      return tensor.defined() ? tensor.to(type).clone().requires_grad_(true) : Tensor();
    };
    const Tensor q = leaf(q_), kv = leaf(kv_), table = leaf(table_), u = leaf(u_), v = leaf(v_), r = leaf(r_);
    LayerTerms terms = terms_;
    if (terms.rotation.defined()) terms.rotation = terms.rotation.to(type);
    const auto with_axis = [&](const Tensor& tensor) {
      return tensor.defined() && pack_axis ? tensor.unsqueeze(0) : tensor;
    };
    PutBias(with_axis(table), terms);
    terms.content = {.content_bias = with_axis(u), .relative_bias = with_axis(v), .keys = with_axis(r)};
    const Tensor value = Attention(shape_, with_axis(q), with_axis(kv), terms).view({-1, weight_.size(1)});
    (value * weight_.to(type)).sum().backward();
    const auto gradient = [](const Tensor& tensor) {
      return tensor.defined() ? tensor.grad() : at::zeros({1});
    };
    return {value.detach(), gradient(q), gradient(kv), gradient(table),
            gradient(u),    gradient(v), gradient(r)};
  }

  AttentionShape shape_;
  Tensor q_, kv_, table_, u_, v_, r_, weight_;
  LayerTerms terms_;
  Distances distances_;
};

TEST_P(AttentionTest, OwnLoopsAgreeWithFloat64) {
  const Outcome exact = Run(true, at::kDouble);
  const Outcome ours = Run(false, at::kFloat);

  const auto error = [](const Tensor& a, const Tensor& b) {
    return ((a.to(at::kDouble) - b.to(at::kDouble)).norm() / b.to(at::kDouble).norm().clamp_min(1e-30))
        .item<double>();
  };
  EXPECT_LT(error(ours.value, exact.value), 2e-6);
  EXPECT_LT(error(ours.q, exact.q), 1e-5);
  EXPECT_LT(error(ours.kv, exact.kv), 1e-5);
  EXPECT_LT(error(ours.table, exact.table), 1e-5);
  EXPECT_LT(error(ours.u, exact.u), 1e-5);
  EXPECT_LT(error(ours.v, exact.v), 1e-5);
  EXPECT_LT(error(ours.r, exact.r), 1e-5);
}

TEST_P(AttentionTest, NoGradientGivesTheSameValue) {
  const Outcome ours = Run(false, at::kFloat);

  const torch::NoGradGuard no_grad;
  LayerTerms terms = terms_;
  PutBias(table_, terms);
  terms.content = {.content_bias = u_, .relative_bias = v_, .keys = r_};
  const Tensor value = Attention(shape_, q_, kv_, terms);
  if (HasPairs()) {
    // By LibTorch's operations, some queries at a time.
    EXPECT_LT((value - ours.value).norm().item<double>(), 4e-6 * ours.value.norm().item<double>());
  } else {
    EXPECT_TRUE(value.equal(ours.value));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AttentionTest,
    ::testing::Combine(::testing::Values(Sizes{2, 2, 8, 8, 2}, Sizes{1, 16, 2, 8, 16}, Sizes{3, 17, 2, 8, 17},
                                     Sizes{2, 41, 8, 8, 1}, Sizes{2, 33, 4, 8, 7}, Sizes{2, 13, 3, 6, 13},
                                     Sizes{2, 19, 2, 16, 5}, Sizes{1, 100, 1, 2, 100}, Sizes{2, 37, 2, 32, 37},
                                     Sizes{2, 16, 2, 8, 16, true}, Sizes{2, 45, 2, 8, 45, true},
                                     Sizes{2, 21, 2, 6, 21, true}, Sizes{2, 64, 2, 32, 64, true},
                                     Sizes{1, 75, 3, 32, 75, true}, Sizes{2, 30, 2, 32, 11, true},
                                     Sizes{2, 1, 2, 32, 1, true}),
                     ::testing::Values(With::kNothing, With::kRotation, With::kBias, With::kBiasByPosition,
                                     With::kContent, With::kContentByPosition, With::kPairs)));

TEST(LongAttentionTest, BlocksOfQueriesGiveWhatAllAtOnceGives) {
  // Long enough for several blocks in the general path, with Transformer-XL's term.
  at::manual_seed(1);
  const int64_t heads = 4, head_dim = 8;
  for (const auto& [tape, by_position, causal] :
       {std::tuple<int64_t, bool, bool>{700, false, false}, {300, true, false}, {700, false, true}, {300, true, true}}) {
    const AttentionShape shape{
        .batch = 4, .tape = tape, .heads = heads, .head_dim = head_dim, .queries = tape, .causal = causal};
    const Tensor kv = at::randn({1, 4 * tape, 3 * heads * head_dim});
    const Distances distances =
        by_position ? Distances::OfPositions(Ascending(tape), causal) : Distances::ByOffset(Ascending(tape), causal);
    LayerTerms terms;
    terms.distances = &distances;
    terms.content = {.content_bias = at::randn({heads, head_dim}),
                     .relative_bias = at::randn({heads, head_dim}),
                     .keys = at::randn({distances.values().size(0), heads * head_dim})};

    const Tensor at_once = Attention(shape, {}, kv, terms);
    const torch::NoGradGuard no_grad;
    const Tensor in_blocks = Attention(shape, {}, kv, terms);

    EXPECT_LT((in_blocks - at_once).abs().max().item<double>(), 1e-5) << tape;
  }
}

TEST(LongAttentionTest, BlocksOfQueriesHaveTheBiasesOfTheirPairs) {
  // Of as many numbers of a pair that a block is a few queries.
  at::manual_seed(1);
  const int64_t heads = 2, head_dim = 8, tape = 90;
  for (const bool causal : {false, true}) {
    const AttentionShape shape{.batch = 3, .tape = tape, .heads = heads, .head_dim = head_dim, .queries = 70, .causal = causal};
    const Tensor q = at::randn({3 * 70, heads * head_dim}), kv = at::randn({3 * tape, 2 * heads * head_dim});
    const Tensor pairs = at::randn({heads, tape, tape});
    LayerTerms terms;
    int64_t asked = 0;
    terms.pair_bias = [&](int64_t first_query, int64_t queries, int64_t keys) {
      ++asked;
      return pairs.narrow(-2, first_query, queries).narrow(-1, 0, keys);
    };
    terms.numbers_of_pair = 1000;

    const Tensor at_once = Attention(shape, q, kv, terms);
    EXPECT_EQ(asked, 1);
    const torch::NoGradGuard no_grad;
    const Tensor in_blocks = Attention(shape, q, kv, terms);

    EXPECT_EQ(asked, 1 + 7) << "2^20 / (1000 * 90) are 11 queries";
    EXPECT_LT((in_blocks - at_once).abs().max().item<double>(), 1e-5);
  }
}

}  // namespace

}  // namespace longreach::trainer
