// FIRE's biases: its formula pair by pair, where queries are said to be, and its gradients.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "worker/trainer/encodings/encoding.h"

namespace longreach::trainer {

namespace {

class FireTest : public ::testing::Test {
 protected:
  static constexpr int kHeads = 2, kWidth = 3, kThreshold = 4;

  explicit FireTest(bool shared = false)
      : encoding_(MakeEncoding("fire", {.layers = 2, .embedding_dim = 16, .num_heads = kHeads, .fire_width = kWidth,
                                        .fire_threshold = kThreshold, .fire_shared = shared})) {
    encoding_->Declare(layout_);
  }

  // A member's, with a network of its own in the second layer.
  ParameterSet Numbers(at::ScalarType type = at::kFloat) const {
    const auto row = [&](std::initializer_list<double> numbers) { return at::tensor(numbers, at::kDouble).to(type); };
    return {row({0.1}), row({1}), row({0, 0, 0}), row({0, 0, 0}), row({0, 0, 0, 0, 0, 0}).view({kWidth, kHeads}),
            row({0.5}), row({1.125}), row({1, -0.75, 0.5}), row({-0.25, 0.625, 0.125}), row({1, -2, 0.5, 3, -1, 0.25}).view({kWidth, kHeads})};
  }
  static constexpr int kLayer = 1;
  static constexpr double kLimit = 1.125 * kThreshold;  // 4.5.

  // By the formula, of the second layer's numbers.
  static double Expected(double distance, double place, int head) {
    const double share = std::log(0.5 * distance + 1) / (std::log(0.5 * std::max(place, kLimit) + 1) + 1e-6);
    const double first = std::max(0.0, share - 0.25), second = std::max(0.0, 0.625 - 0.75 * share), third = std::max(0.0, 0.5 * share + 0.125);
    return head == 0 ? first + 0.5 * second - third : -2 * first + 3 * second + 0.25 * third;
  }

  static std::vector<int64_t> Drawn() { return {0, 2, 3, 7, 8, 29}; }

  Tensor AllPairs(const Distances& distances, const ParameterSet& parameters, int layer = kLayer) const {
    return encoding_->PairBias(distances, parameters, layer, 0, distances.tape(), distances.tape());
  }

  // d(sum of bias * weight) by what each number of a parameter is changed by, in float64.
  Tensor Differences(const Distances& distances, const Tensor& weight, size_t parameter) const {
    constexpr double kStep = 1e-6;
    Tensor result = at::zeros_like(Numbers(at::kDouble)[parameter]);
    for (int64_t i = 0; i < result.numel(); ++i) {
      double values[2];
      for (const int side : {0, 1}) {
        ParameterSet moved = Numbers(at::kDouble);
        moved[parameter].view({-1})[i] += side == 0 ? -kStep : kStep;
        values[side] = (AllPairs(distances, moved) * weight).sum().item<double>();
      }
      result.view({-1})[i] = (values[1] - values[0]) / (2 * kStep);
    }
    return result;
  }

  std::unique_ptr<Encoding> encoding_;
  ParameterLayout layout_;
};

class SharedFireTest : public FireTest {
 protected:
  SharedFireTest() : FireTest(true) {}
};

TEST_F(FireTest, EachPairHasTheNumberOfTheFormula) {
  const Distances distances = Distances::ByOffset(std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7});

  const Tensor bias = AllPairs(distances, Numbers());

  ASSERT_EQ(bias.sizes(), at::IntArrayRef({kHeads, 8, 8}));
  for (int head = 0; head < kHeads; ++head) {
    for (int query = 0; query < 8; ++query) {
      // Keys behind the query too: |distance| is all that counts of them.
      for (int key = 0; key < 8; ++key) {
        EXPECT_NEAR(bias[head][query][key].item<double>(), Expected(std::abs(key - query), query, head), 1e-5) << query << " " << key;
      }
    }
  }
  // From 4.5 on a query's own position is what the distance is a share of: the first token's is 1.
  EXPECT_NEAR(bias[0][5][0].item<double>(), bias[0][7][0].item<double>(), 1e-5);
  EXPECT_GT(std::abs(bias[0][3][0].item<double>() - bias[0][7][0].item<double>()), 0.01);
}

TEST_F(FireTest, WhereDistancesAreDrawnAQueryIsAsFarAsTheFirstTokenIs) {
  const std::vector<int64_t> drawn = Drawn();
  for (const bool causal : {false, true}) {
    const Tensor bias = AllPairs(Distances::ByOffset(drawn, causal), Numbers());
    for (size_t query = 0; query < drawn.size(); ++query) {
      for (size_t key = 0; key < (causal ? query + 1 : drawn.size()); ++key) {
        const double distance = static_cast<double>(drawn[query > key ? query - key : key - query]);
        EXPECT_NEAR(bias[1][static_cast<int64_t>(query)][static_cast<int64_t>(key)].item<double>(),
                    Expected(distance, static_cast<double>(drawn[query]), 1), 1e-5) << query << " " << key;
      }
    }
  }
}

TEST_F(FireTest, WherePositionsAreDrawnAQueryIsAtItsOwn) {
  std::vector<int64_t> positions = Drawn();
  for (int64_t& position : positions) position += 3;  // The first is not at 0.
  for (const bool causal : {false, true}) {
    const Tensor bias = AllPairs(Distances::OfPositions(positions, causal), Numbers());
    for (size_t query = 0; query < positions.size(); ++query) {
      for (size_t key = 0; key < (causal ? query + 1 : positions.size()); ++key) {
        const double distance = std::abs(static_cast<double>(positions[key] - positions[query]));
        EXPECT_NEAR(bias[0][static_cast<int64_t>(query)][static_cast<int64_t>(key)].item<double>(),
                    Expected(distance, static_cast<double>(positions[query]), 0), 1e-5) << query << " " << key;
      }
    }
  }
}

TEST_F(FireTest, SomeQueriesAndKeysHaveTheNumbersOfAll) {
  for (const Distances& distances : {Distances::ByOffset(Drawn()), Distances::ByOffset(Drawn(), true), Distances::OfPositions(Drawn())}) {
    const Tensor some = encoding_->PairBias(distances, Numbers(), kLayer, 2, 3, 5);
    EXPECT_TRUE(at::allclose(some, AllPairs(distances, Numbers()).narrow(1, 2, 3).narrow(2, 0, 5), 0, 1e-6));
  }
}

TEST_F(FireTest, SignsOfWhatIsTrainedMeanNothing) {
  const Distances distances = Distances::ByOffset(Drawn());
  ParameterSet other = Numbers();
  other[5].neg_();
  other[6].neg_();
  EXPECT_TRUE(AllPairs(distances, other).equal(AllPairs(distances, Numbers())));
}

TEST_F(FireTest, MembersOfAPackHaveTheirOwnNumbers) {
  const Distances distances = Distances::ByOffset(Drawn());
  const Tensor flat = at::zeros({2, layout_.stride()});
  for (const int64_t member : {0, 1}) {
    const ParameterSet views = ViewParameters(layout_, flat[member]), numbers = Numbers();
    for (size_t i = 0; i < views.size(); ++i) views[i].copy_(numbers[i] * (member == 0 ? 1 : 1.5));
  }

  const Tensor bias = AllPairs(distances, ViewParameters(layout_, flat));

  ASSERT_EQ(bias.sizes(), at::IntArrayRef({2, kHeads, 6, 6}));
  for (const int64_t member : {0, 1}) {
    EXPECT_TRUE(at::allclose(bias[member], AllPairs(distances, ViewParameters(layout_, flat[member])), 0, 5e-6));
  }
  EXPECT_FALSE(at::allclose(bias[0], bias[1]));
}

TEST_F(FireTest, EachLayerHasANetworkOfItsOwnThatIsDrawnAsInPyTorch) {
  std::vector<std::string> names;
  for (const Parameter& parameter : layout_.parameters()) names.push_back(parameter.name);
  EXPECT_EQ(names, (std::vector<std::string>{"layer0.attn.fire_c", "layer0.attn.fire_m", "layer0.attn.fire_1.w", "layer0.attn.fire_1.b",
                                             "layer0.attn.fire_2.w", "layer1.attn.fire_c", "layer1.attn.fire_m", "layer1.attn.fire_1.w",
                                             "layer1.attn.fire_1.b", "layer1.attn.fire_2.w"}));
  double lowest[2] = {0, 0}, highest[2] = {0, 0};  // Of the first and the second layer's weights.
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::vector<float> member(static_cast<size_t>(layout_.stride()));
    Initialise(layout_, seed, member);
    const auto at_start = [&](const char* name) { return member.data() + layout_.Find(name)->offset; };
    EXPECT_EQ(*at_start("layer1.attn.fire_c"), 0.1f);
    EXPECT_EQ(*at_start("layer1.attn.fire_m"), 1.0f);
    for (const auto& [which, name] : {std::pair(0, "layer1.attn.fire_1.w"), std::pair(1, "layer1.attn.fire_2.w")}) {
      const auto [low, high] = std::minmax_element(at_start(name), at_start(name) + layout_.Find(name)->size);
      lowest[which] = std::min<double>(lowest[which], *low);
      highest[which] = std::max<double>(highest[which], *high);
    }
  }
  // Hundreds of draws come close to the ends, and none lies beyond.
  for (const int which : {0, 1}) {
    const double end = which == 0 ? 1 : 1 / std::sqrt(3.0);
    EXPECT_GE(lowest[which], -end);
    EXPECT_LT(lowest[which], -0.95 * end);
    EXPECT_LE(highest[which], end);
    EXPECT_GT(highest[which], 0.95 * end);
  }
}

TEST_F(SharedFireTest, AllLayersHaveOneNetwork) {
  ASSERT_EQ(layout_.parameters().size(), 5u);
  EXPECT_EQ(layout_.parameters()[0].name, "attn.fire_c");
  const ParameterSet numbers = Numbers(), of_one(numbers.begin() + 5, numbers.end());
  const Distances distances = Distances::ByOffset(Drawn());
  EXPECT_TRUE(AllPairs(distances, of_one, 0).equal(AllPairs(distances, of_one, 1)));
}

TEST_F(FireTest, GradientsAreThoseOfFiniteDifferences) {
  at::manual_seed(1);
  for (const Distances& distances : {Distances::ByOffset(Drawn()), Distances::OfPositions(Drawn())}) {
    const Tensor weight = at::randn({kHeads, 6, 6}, at::kDouble);
    ParameterSet leaves = Numbers(at::kDouble);
    for (size_t i = 5; i < leaves.size(); ++i) leaves[i].requires_grad_(true);

    (AllPairs(distances, leaves) * weight).sum().backward();

    for (size_t i = 5; i < leaves.size(); ++i) {
      const Tensor expected = Differences(distances, weight, i);
      EXPECT_GT(expected.abs().max().item<double>(), 1e-3) << layout_.parameters()[i].name;
      EXPECT_TRUE(at::allclose(leaves[i].grad(), expected, 1e-6, 1e-6)) << layout_.parameters()[i].name;
    }
  }
}

// Without autograd, of some queries at a time. The threshold is once where a query is, where each has half of the slope.
TEST_F(FireTest, GradientsWithoutAutogradAreThoseOfAutograd) {
  at::manual_seed(2);
  for (const double m : {1.125, 1.0, -30.0}) {
    for (const Distances& distances : {Distances::ByOffset(Drawn()), Distances::ByOffset(std::vector<int64_t>{0, 1, 2, 3, 4, 5}, true),
                                       Distances::OfPositions(Drawn())}) {
      const Tensor weight = at::randn({kHeads, 6, 6}).tril();  // What a query does not see has no gradient.
      ParameterSet leaves = Numbers();
      leaves[6].fill_(m);
      leaves[5].neg_();
      for (size_t i = 5; i < leaves.size(); ++i) leaves[i].requires_grad_(true);
      (AllPairs(distances, leaves) * weight).sum().backward();

      const torch::NoGradGuard no_grad;
      ParameterSet gradients;
      for (const Tensor& leaf : leaves) gradients.push_back(at::ones_like(leaf));
      for (const auto& [first, queries] : {std::pair(0, 2), std::pair(2, 1), std::pair(3, 3)}) {
        encoding_->AddPairGradient(distances, leaves, kLayer, first, weight.narrow(1, first, queries), gradients);
      }

      for (size_t i = 0; i < leaves.size(); ++i) {
        const Tensor expected = i < 5 ? at::ones_like(leaves[i]) : leaves[i].grad() + 1;
        EXPECT_TRUE(at::allclose(gradients[i], expected, 1e-5, 1e-5)) << layout_.parameters()[i].name << " with m " << m;
      }
    }
  }
}

TEST_F(SharedFireTest, AllLayersAddToOneGradient) {
  const ParameterSet numbers = Numbers(), of_one(numbers.begin() + 5, numbers.end());
  const Distances distances = Distances::ByOffset(Drawn());
  const Tensor weight = at::ones({kHeads, 6, 6}).triu();
  ParameterSet once, twice;
  for (const Tensor& number : of_one) {
    once.push_back(at::zeros_like(number));
    twice.push_back(at::zeros_like(number));
  }
  encoding_->AddPairGradient(distances, of_one, 0, 0, weight, once);
  for (const int layer : {0, 1}) encoding_->AddPairGradient(distances, of_one, layer, 0, weight, twice);
  for (size_t i = 0; i < once.size(); ++i) {
    EXPECT_GT(once[i].abs().max().item<double>(), 1e-3);
    EXPECT_TRUE(at::allclose(twice[i], 2 * once[i]));
  }
}

}  // namespace

}  // namespace longreach::trainer
