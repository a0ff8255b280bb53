// Scales of attention that depend on the position of a query, against the softmax of the whole matrix.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/worker/trainer/llama/tiny.h"

namespace longreach::trainer {
namespace {

constexpr int64_t kLength = 20, kFrom = 7;

LlamaConfig Scaled(int64_t from, double growth) {
  LlamaConfig config = TinyConfig();
  config.nope = true;
  config.scale_from = from;
  config.scale_growth = growth;
  return config;
}

Tensor HeadFactors() { return at::arange(8, at::kFloat).view({2, 4}) * 0.2 + 0.7; }

// What each query of the first layer pays to each key, [H, T, T], from the definition: all logits of query i of head h are
// multiplied by 1 where i < from, else by f_h + growth ln(i / from).
Tensor FirstLayer(const LlamaDecoder& decoder, const Tensor& flat, const Tensor& tokens, const Tensor& factors, int64_t from, double growth) {
  const LlamaConfig& config = decoder.config();
  const auto parameter = [&](const char* name) {
    const Parameter& found = *decoder.layout().Find(name);
    return flat.narrow(0, found.offset, found.size).view(found.shape).to(at::kDouble);
  };
  Tensor x = parameter("embed.w").index_select(0, tokens);
  x = x * at::rsqrt(x.square().mean(-1, true) + config.norm_epsilon) * parameter("layer0.norm1.scale");
  const Tensor q = at::matmul(x, parameter("layer0.attn.q.w")).view({-1, config.heads, config.head_dim}).transpose(0, 1);
  const Tensor k = at::matmul(x, parameter("layer0.attn.k.w")).view({-1, config.kv_heads, config.head_dim}).transpose(0, 1);
  Tensor logits = at::matmul(q, k.repeat_interleave(config.Groups(), 0).transpose(-1, -2)) / std::sqrt(static_cast<double>(config.head_dim));
  for (int64_t h = 0; h < config.heads; ++h) {
    for (int64_t i = from; i < tokens.size(0); ++i) {
      logits[h][i] *= factors[0][h].item<float>() + growth * std::log(static_cast<double>(i) / static_cast<double>(from));
    }
  }
  const Tensor later = at::ones({tokens.size(0), tokens.size(0)}, at::kBool).triu(1);
  return at::softmax(logits.masked_fill(later, -std::numeric_limits<double>::infinity()), -1);
}

TEST(ScaleByPositionTest, ItMultipliesTheLogitsOfItsQueries) {
  const torch::NoGradGuard no_gradient;
  for (const double growth : {0.0, 0.8, -0.3}) {
    SCOPED_TRACE(growth);
    const LlamaDecoder decoder(Scaled(kFrom, growth));
    const Tensor flat = DrawParameters(decoder, 1);
    LlamaFeed feed = TinyFeed(1, kLength);
    std::vector<AttentionTrace> traces;
    feed.traces = &traces;
    feed.trace_probabilities = true;
    feed.head_factors = HeadFactors();
    decoder.Hidden(ViewParameters(decoder.layout(), flat), feed);
    const Tensor expected = FirstLayer(decoder, flat, feed.tokens, feed.head_factors, kFrom, growth);
    EXPECT_LT((traces[0].probabilities[0].to(at::kDouble) - expected).abs().max().item<double>(), 1e-5);

    // Without factors of heads it is as if they were all 1.
    feed.head_factors = Tensor();
    decoder.Hidden(ViewParameters(decoder.layout(), flat), feed);
    const Tensor of_ones = FirstLayer(decoder, flat, feed.tokens, at::ones({2, 4}), kFrom, growth);
    EXPECT_LT((traces[0].probabilities[0].to(at::kDouble) - of_ones).abs().max().item<double>(), 1e-5);
  }
}

TEST(ScaleByPositionTest, TokensInACacheCountAsPositions) {
  const torch::NoGradGuard no_gradient;
  const LlamaDecoder decoder(Scaled(kFrom, 0.8));
  const ParameterSet parameters = ViewParameters(decoder.layout(), DrawParameters(decoder, 1));
  LlamaFeed whole = TinyFeed(2, kLength);
  whole.head_factors = HeadFactors();
  const Tensor at_once = decoder.Logits(parameters, decoder.Hidden(parameters, whole)).view({2, kLength, -1});

  KeyValueCache cache;
  const Tensor tokens = whole.tokens.view({2, kLength});
  int64_t first = 0;
  for (const int64_t count : {5, 1, 1, 1, 8, 4}) {
    LlamaFeed feed;
    feed.batch = 2;
    feed.length = count;
    feed.tokens = tokens.narrow(1, first, count).reshape({-1});
    feed.head_factors = whole.head_factors;
    feed.cache = &cache;
    const Tensor logits = decoder.Logits(parameters, decoder.Hidden(parameters, feed)).view({2, count, -1});
    EXPECT_LT((logits - at_once.narrow(1, first, count)).abs().max().item<double>(), 1e-4) << first;
    first += count;
  }
  EXPECT_EQ(first, kLength);
}

TEST(ScaleByPositionTest, QueriesBeforeItKeepTheirBits) {
  const torch::NoGradGuard no_gradient;
  const LlamaDecoder plain(Scaled(0, 0)), piecewise(Scaled(kFrom, 0)), growing(Scaled(kFrom, 0.8));
  const ParameterSet parameters = ViewParameters(plain.layout(), DrawParameters(plain, 1));
  LlamaFeed feed = TinyFeed(1, kLength);
  feed.head_factors = at::ones({2, 4});
  const Tensor as_it_is = plain.Hidden(parameters, feed);
  feed.head_factors = HeadFactors();
  for (const LlamaDecoder* decoder : {&piecewise, &growing}) {
    const Tensor hidden = decoder->Hidden(parameters, feed);
    EXPECT_TRUE(at::equal(hidden.narrow(0, 0, kFrom), as_it_is.narrow(0, 0, kFrom)));
    EXPECT_FALSE(at::equal(hidden.narrow(0, kFrom, 1), as_it_is.narrow(0, kFrom, 1)));
  }
}

}  // namespace
}  // namespace longreach::trainer
