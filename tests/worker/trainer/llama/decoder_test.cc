// The LLaMA decoder: streaming attention against the plain one, caches, packs, threads.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/worker/trainer/llama/tiny.h"
#include "worker/trainer/llama/attention.h"

namespace longreach::trainer {
namespace {

double Difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.sizes(), b.sizes());
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

// Numbers that look random and are the same everywhere.
Tensor Waves(std::vector<int64_t> shape, double phase) {
  int64_t count = 1;
  for (const int64_t n : shape) count *= n;
  return ((at::arange(count, at::kDouble) * 0.7391 + phase).sin() * 1.5).to(at::kFloat).view(shape);
}

// softmax(q k) with the whole matrix there.
Tensor PlainWeights(const Tensor& q, const Tensor& k) {
  const Tensor keys = k.repeat_interleave(q.size(1) / k.size(1), 1);
  const int64_t before = k.size(2) - q.size(2);
  const Tensor later = at::ones({q.size(2), k.size(2)}, at::kBool).triu(before + 1);
  return at::softmax(at::matmul(q, keys.transpose(-1, -2)).masked_fill(later, -std::numeric_limits<float>::infinity()), -1);
}
Tensor PlainAttention(const Tensor& q, const Tensor& k, const Tensor& v) {
  return at::matmul(PlainWeights(q, k), v.repeat_interleave(q.size(1) / v.size(1), 1));
}

// Long enough that the queries are cut into blocks, with keys before them.
struct LongInput {
  Tensor q = Waves({1, 4, 1200, 8}, 0), k = Waves({1, 2, 1300, 8}, 1), v = Waves({1, 2, 1300, 8}, 2);
};

TEST(GroupedAttentionTest, StreamingAgreesWithTheWholeMatrix) {
  const LongInput input;

  EXPECT_LT(Difference(GroupedAttention(input.q, input.k, input.v), PlainAttention(input.q, input.k, input.v)), 1e-5);
}

TEST(GroupedAttentionTest, EntropyIsThatOfTheWeights) {
  const LongInput input;
  AttentionTrace trace;

  GroupedAttention(input.q, input.k, input.v, nullptr, &trace);

  const Tensor p = PlainWeights(input.q, input.k).to(at::kDouble);
  EXPECT_LT(Difference(trace.entropy, -at::xlogy(p, p).sum(-1)), 1e-5);
}

TEST(GroupedAttentionTest, EntropyOfEqualAndOfHugeLogitsIsExact) {
  const Tensor v = Waves({1, 1, 64, 2}, 0);
  AttentionTrace trace;

  GroupedAttention(at::zeros({1, 1, 64, 2}), v, v, nullptr, &trace);
  EXPECT_LT(Difference(trace.entropy.flatten(), at::arange(1, 65, at::kDouble).log()), 2e-6);

  // One key of each query is 1e4 above the others.
  const Tensor k = at::zeros({1, 1, 64, 2});
  k.select(2, 0).fill_(100);
  GroupedAttention(at::full({1, 1, 64, 2}, 50.0f), k, v, nullptr, &trace);
  EXPECT_EQ(Difference(trace.entropy, at::zeros({1, 1, 64})), 0);
}

TEST(GroupedAttentionTest, GradientsAreThoseOfTheWholeMatrix) {
  const LongInput input;
  const auto gradients = [&](const auto& attention) {
    const std::vector<Tensor> leaves = {input.q.clone().requires_grad_(), input.k.clone().requires_grad_(),
        input.v.clone().requires_grad_()};
    const Tensor out = attention(leaves[0], leaves[1], leaves[2]);
    return torch::autograd::grad({(out * Waves(out.sizes().vec(), 3)).sum()}, leaves);
  };
  ThreadPool pool(2);

  const std::vector<Tensor> ours = gradients([&](const Tensor& q, const Tensor& k, const Tensor& v) {
    return GroupedAttention(q, k, v, &pool);
  });
  const std::vector<Tensor> plain = gradients(PlainAttention);

  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_LT(Difference(ours[i], plain[i]), 1e-4 * plain[i].abs().max().item<double>()) << i;
  }
}

TEST(LlamaDecoderTest, BitsDoNotDependOnTheThreads) {
  const torch::NoGradGuard no_gradient;
  const LlamaDecoder decoder(TinyConfig());
  const ParameterSet parameters = ViewParameters(decoder.layout(), DrawParameters(decoder, 1));
  LlamaFeed feed = TinyFeed(3, 300);
  PrepareThread();
  const Tensor alone = decoder.TokenLosses(parameters, feed);
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    feed.pool = &pool;
    EXPECT_TRUE(at::equal(decoder.TokenLosses(parameters, feed), alone)) << threads;
  }
}

// What is known of a token is what was read up to it.
TEST(LlamaDecoderTest, LaterTokensChangeNothing) {
  const torch::NoGradGuard no_gradient;
  const LlamaDecoder decoder(TinyConfig());
  const ParameterSet parameters = ViewParameters(decoder.layout(), DrawParameters(decoder, 1));
  LlamaFeed feed = TinyFeed(1, 20);
  const Tensor before = decoder.Hidden(parameters, feed);
  feed.tokens = feed.tokens.clone();
  feed.tokens.narrow(0, 15, 5).fill_(9);

  const Tensor after = decoder.Hidden(parameters, feed);

  EXPECT_LT(Difference(before.narrow(0, 0, 15), after.narrow(0, 0, 15)), 1e-6);
  EXPECT_GT(Difference(before.narrow(0, 15, 5), after.narrow(0, 15, 5)), 1e-3);
}

Tensor InPieces(const LlamaDecoder& decoder, const ParameterSet& parameters, const LlamaFeed& whole,
    const std::vector<int64_t>& pieces,
                KeyValueCache cache) {
  const Tensor tokens = whole.tokens.view({whole.batch, whole.length});
  std::vector<Tensor> parts;
  int64_t first = 0;
  for (const int64_t count : pieces) {
    LlamaFeed feed;
    feed.batch = whole.batch;
    feed.length = count;
    feed.tokens = tokens.narrow(1, first, count).reshape({-1});
    feed.cache = &cache;
    parts.push_back(decoder.Hidden(parameters, feed).view({whole.batch, count, -1}));
    first += count;
  }
  EXPECT_EQ(cache.length(), whole.length);
  return at::cat(parts, 1).view({whole.batch * whole.length, -1});
}

TEST(LlamaDecoderTest, LayersRotateOrDoNot) {
  const torch::NoGradGuard no_gradient;
  const auto hidden = [](bool nope, const std::vector<int64_t>& unrotated, int left_out) {
    LlamaConfig config = TinyConfig();
    config.nope = nope;
    config.unrotated = unrotated;
    const LlamaDecoder decoder(config);
    const ParameterSet parameters = ViewParameters(decoder.layout(), DrawParameters(decoder, 1) * 4);  // Large, so that a rotation shows.
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (decoder.layout().parameters()[i].name == "layer" + std::to_string(left_out) + ".attn.o.w") parameters[i].zero_();
    }
    return decoder.Hidden(parameters, TinyFeed(2, 30));
  };
  constexpr int kNone = -1;
  EXPECT_EQ(Difference(hidden(false, {1}, 0), hidden(true, {}, 0)), 0) << "the second layer alone attends, and does not rotate";
  EXPECT_EQ(Difference(hidden(false, {1}, 1), hidden(false, {}, 1)), 0) << "the first layer alone attends, and rotates";
  EXPECT_GT(Difference(hidden(false, {1}, kNone), hidden(false, {}, kNone)), 1e-2);
  EXPECT_GT(Difference(hidden(false, {1}, kNone), hidden(true, {}, kNone)), 1e-2);
}

TEST(LlamaDecoderTest, ReadingInPiecesWithACacheIsReadingAtOnce) {
  const torch::NoGradGuard no_gradient;
  for (const RopeScaling::Kind kind : {RopeScaling::Kind::kNone, RopeScaling::Kind::kYarn}) {
    for (const bool nope : {false, true}) {
      LlamaConfig config = TinyConfig();
      config.nope = nope;
      if (!nope) config.unrotated = {1};
      config.rope_scaling.kind = kind;
      config.rope_scaling.factor = kind == RopeScaling::Kind::kNone ? 1 : 2;
      const LlamaDecoder decoder(config);
      const ParameterSet parameters = ViewParameters(decoder.layout(), DrawParameters(decoder, 1));
      const LlamaFeed whole = TinyFeed(2, 30);
      const Tensor at_once = decoder.Hidden(parameters, whole);
      for (const auto rotation : {KeyValueCache::Rotation::kFresh, KeyValueCache::Rotation::kOfTheirTime}) {
        EXPECT_LT(Difference(InPieces(decoder, parameters, whole, {11, 1, 1, 17}, KeyValueCache(rotation)), at_once), 1e-5);
      }
    }
  }
}

// Beyond the training length the base of dynamic NTK grows with every token.
TEST(LlamaDecoderTest, FreshlyRotatedKeysMakeDynamicNtkAFunctionOfTheTokensAndKeptOnesDoNot) {
  const torch::NoGradGuard no_gradient;
  LlamaConfig config = TinyConfig();
  config.rope_scaling = {.kind = RopeScaling::Kind::kDynamic, .factor = 4};
  const LlamaDecoder decoder(config);
  // Large queries and keys, so that a rotation shows.
  const ParameterSet parameters = ViewParameters(decoder.layout(), DrawParameters(decoder, 1) * 4);
  const LlamaFeed whole = TinyFeed(1, 30);
  const auto last = [](const Tensor& hidden) { return hidden.narrow(0, 29, 1); };
  const Tensor at_once = last(decoder.Hidden(parameters, whole));
  const KeyValueCache kept(KeyValueCache::Rotation::kOfTheirTime);

  EXPECT_GT(Difference(last(InPieces(decoder, parameters, whole, {20, 9, 1}, kept)), at_once), 1e-3);
  // The layers below saw the earlier tokens at their own lengths: only one layer makes it exact.
  LlamaConfig shallow = config;
  shallow.layers = 1;
  const LlamaDecoder one(shallow);
  const ParameterSet its = ViewParameters(one.layout(), DrawParameters(one, 1) * 4);
  EXPECT_LT(Difference(last(InPieces(one, its, whole, {20, 9, 1}, KeyValueCache())), last(one.Hidden(its, whole))), 1e-4);
}

TEST(LlamaDecoderTest, FactorsMultiplyTheLogitsOfTheirHead) {
  const torch::NoGradGuard no_gradient;
  const LlamaDecoder decoder(TinyConfig());
  const ParameterSet parameters = ViewParameters(decoder.layout(), DrawParameters(decoder, 1));
  LlamaFeed feed = TinyFeed(2, 12);
  const Tensor plain = decoder.Hidden(parameters, feed);
  feed.head_factors = at::ones({2, 4});
  EXPECT_TRUE(at::allclose(decoder.Hidden(parameters, feed), plain, 0, 1e-6));

  std::vector<AttentionTrace> traces;
  feed.traces = &traces;
  feed.head_factors = at::ones({2, 4});
  feed.head_factors[1][2] = 0;  // All keys alike: entropy ln(i + 1).
  decoder.Hidden(parameters, feed);
  EXPECT_LT(Difference(traces[1].entropy[0][2], at::arange(1, 13, at::kDouble).log()), 2e-6);
  EXPECT_GT(Difference(traces[1].entropy[0][1], at::arange(1, 13, at::kDouble).log()), 1e-6);
}

TEST(LlamaDecoderTest, AMemberOfAPackIsWhatItIsAlone) {
  const torch::NoGradGuard no_gradient;
  for (const bool tied : {false, true}) {
    LlamaConfig config = TinyConfig();
    config.tied = tied;
    const LlamaDecoder decoder(config);
    const Tensor first = DrawParameters(decoder, 1), second = DrawParameters(decoder, 2);
    LlamaFeed feed = TinyFeed(2, 10);
    feed.head_factors = at::stack({at::full({2, 4}, 1.3), at::full({2, 4}, 0.8)}).to(at::kFloat);
    const Tensor packed = decoder.TokenLosses(ViewParameters(decoder.layout(), at::stack({first, second})), feed);

    feed.head_factors = at::full({2, 4}, 1.3f);
    EXPECT_LT(Difference(packed.narrow(0, 0, 2), decoder.TokenLosses(ViewParameters(decoder.layout(), first), feed)), 1e-5);
    feed.head_factors = at::full({2, 4}, 0.8f);
    EXPECT_LT(Difference(packed.narrow(0, 2, 2), decoder.TokenLosses(ViewParameters(decoder.layout(), second), feed)), 1e-5);
  }
}

// Beside so large a constant nothing is left of what blocks add: an embedding, divided by its root.
TEST(LlamaDecoderTest, EveryNormHasTheModelsEpsilon) {
  const torch::NoGradGuard no_gradient;
  LlamaConfig config = TinyConfig();
  config.norm_epsilon = 1e12;
  const LlamaDecoder decoder(config);
  const Tensor flat = DrawParameters(decoder, 1);
  const LlamaFeed feed = TinyFeed(2, 12);
  const Parameter& embedding = *decoder.layout().Find("embed.w");
  const Tensor expected = flat.narrow(0, embedding.offset, embedding.size).view(embedding.shape).index_select(0, feed.tokens);

  const Tensor hidden = decoder.Hidden(ViewParameters(decoder.layout(), flat), feed);

  EXPECT_LT(Difference(hidden * 1e6, expected), 1e-4);
  EXPECT_GT(expected.abs().max().item<double>(), 0.1);
}

TEST(LlamaDecoderTest, TiedLogitsAreProductsWithTheEmbedding) {
  const torch::NoGradGuard no_gradient;
  LlamaConfig config = TinyConfig();
  config.tied = true;
  const LlamaDecoder decoder(config);
  const Tensor flat = DrawParameters(decoder, 1);
  const ParameterSet parameters = ViewParameters(decoder.layout(), flat);
  const Tensor hidden = decoder.Hidden(parameters, TinyFeed(1, 7));
  const Parameter& embedding = *decoder.layout().Find("embed.w");
  const Tensor table = flat.narrow(0, embedding.offset, embedding.size).view({50, 24});

  EXPECT_EQ(decoder.layout().Find("out.w"), nullptr);
  EXPECT_LT(Difference(decoder.Logits(parameters, hidden), at::matmul(hidden, table.t())), 1e-5);
}

// As TinyLlama's program draws them: variance 2 / (5 width), and what is added to a block's input by its width and the number of blocks.
TEST(LlamaDecoderTest, PretrainingBeginsWithTinyLlamasValues) {
  const LlamaDecoder decoder(TinyConfig());
  for (const Parameter& parameter : decoder.layout().parameters()) {
    SCOPED_TRACE(parameter.name);
    const bool is_norm = parameter.name.ends_with(".scale"), is_residual = parameter.name.ends_with("attn.o.w") || parameter.name.ends_with("mlp.down.w");
    EXPECT_EQ(parameter.initial.kind, is_norm ? Initial::Kind::kOnes : Initial::Kind::kNormal);
    if (!is_norm) {
      EXPECT_NEAR(parameter.initial.scale, is_residual ? 0.102062072615966 : 0.129099444873581, 1e-12);
    }
  }
}

// Only as near as bfloat16's 8 bits allow: what counts is that nothing of another type is in the way.
TEST(LlamaDecoderTest, ComputesInBfloat16) {
  const torch::NoGradGuard no_gradient;
  const LlamaDecoder decoder(TinyConfig());
  const Tensor flat = DrawParameters(decoder, 1).to(at::kBFloat16);
  LlamaFeed feed = TinyFeed(2, 40);
  feed.head_factors = at::full({2, 4}, 1.5f);

  const Tensor hidden = decoder.Hidden(ViewParameters(decoder.layout(), flat), feed);
  const Tensor wide = decoder.Hidden(ViewParameters(decoder.layout(), flat.to(at::kFloat)), feed);

  EXPECT_EQ(hidden.scalar_type(), at::kBFloat16);
  EXPECT_LT(Difference(hidden, wide), 0.15);
  EXPECT_GT(wide.abs().max().item<double>(), 1);
}

}  // namespace
}  // namespace longreach::trainer
