#include "worker/trainer/llama/evaluation.h"

#include <algorithm>

#include "proto/base/text.h"

namespace longreach::trainer {

namespace {

LlamaFeed FeedOf(const FrozenModel& model, const Tensor& tokens_BT) {
  LlamaFeed feed;
  feed.batch = tokens_BT.size(0);
  feed.length = tokens_BT.size(1);
  feed.tokens = tokens_BT.reshape({-1}).to(model.parameters->front().device());
  feed.head_factors = model.head_factors;
  feed.pool = model.pool;
  feed.between = model.between;
  return feed;
}

}  // namespace

absl::StatusOr<double> WindowLoss(const FrozenModel& model, std::span<const int64_t> document, const Window& window,
    int64_t bos) {
  const int64_t labels = window.predicted(bos >= 0);
  if (window.begin < 0 || window.end > static_cast<int64_t>(document.size()) || window.length() < 1 || labels < 1 ||
      labels > window.length()) {
    return absl::InvalidArgumentError(Text("a window from ", window.begin, " to ", window.end, " that scores ", window.scored,
                                           " tokens does not fit a document of ", document.size()));
  }
  std::vector<int64_t> ids;
  if (bos >= 0) ids.push_back(bos);
  ids.insert(ids.end(), document.begin() + window.begin, document.begin() + window.end);
  const int64_t vocabulary = model.decoder->config().vocabulary;
  const auto outside = std::ranges::find_if(ids, [&](int64_t id) { return id < 0 || id >= vocabulary; });
  if (outside != ids.end()) {
    return absl::InvalidArgumentError(Text("token ", *outside, " is not in the model's vocabulary of ", vocabulary,
        ": was the text made for another tokenizer?"));
  }
  const torch::NoGradGuard no_gradient;
  const Tensor losses = model.decoder->TokenLosses(*model.parameters, FeedOf(model, at::tensor(ids, at::kLong).unsqueeze(0)));
  return losses[0].narrow(0, losses.size(1) - labels, labels).to(at::kDouble).mean().item<double>();
}

DecoderContinuation::DecoderContinuation(const FrozenModel& model, Memory memory)
    : model_(model),
      memory_(memory),
      cache_(memory == Memory::kCacheAsTransformers ? KeyValueCache::Rotation::kOfTheirTime : KeyValueCache::Rotation::kFresh) {}

std::vector<std::vector<float>> DecoderContinuation::Next(const std::vector<Tokens>& sequences,
    std::span<const int64_t> parents) {
  const torch::NoGradGuard no_gradient;
  const int64_t length = static_cast<int64_t>(sequences[0].size());
  const bool cached = memory_ != Memory::kNone && cache_.length() > 0;
  if (cached) cache_.Reorder(parents);
  const int64_t known = cached ? cache_.length() : 0;
  Tensor tokens = at::empty({static_cast<int64_t>(sequences.size()), length - known}, at::kLong);
  for (size_t i = 0; i < sequences.size(); ++i) {
    std::copy(sequences[i].begin() + known, sequences[i].end(),
        tokens.data_ptr<int64_t>() + static_cast<int64_t>(i) * (length - known));
  }
  LlamaFeed feed = FeedOf(model_, tokens);
  if (memory_ != Memory::kNone) feed.cache = &cache_;
  const Tensor hidden = model_.decoder->Hidden(*model_.parameters, feed);
  const Tensor last = hidden.view({feed.batch, feed.length, -1}).select(1, feed.length - 1);
  const Tensor logits = model_.decoder->Logits(*model_.parameters, last).to(at::kFloat).cpu().contiguous();
  std::vector<std::vector<float>> result;
  for (int64_t i = 0; i < logits.size(0); ++i) {
    const float* const row = logits.const_data_ptr<float>() + i * logits.size(1);
    result.emplace_back(row, row + logits.size(1));
  }
  return result;
}

}  // namespace longreach::trainer
