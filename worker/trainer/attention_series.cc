#include "worker/trainer/attention_series.h"

#include <vector>

#include "proto/base/text.h"

namespace longreach::trainer {

namespace {

// Of the first sequence: what is added to the embedding may be each one's own.
PassPositions OfFirst(PassPositions positions) {
  if (positions.embedding.defined() && positions.embedding.dim() == 2) positions.embedding = positions.embedding[0];
  if (positions.given.defined()) positions.given = positions.given.narrow(0, 0, 1);
  return positions;
}

// [T] or [layers, T]; undefined where the encoding is given distances, or nothing.
Tensor Given(const PassPositions& positions) {
  if (positions.embedding.defined()) return positions.embedding.to(at::kInt).contiguous();
  if (!positions.rotation.empty()) return at::stack(positions.rotation).to(at::kInt).contiguous();
  return {};
}

}  // namespace

Tensor AttentionOf(const Model& model, const ParameterSet& parameters, const Batch& batch, const std::function<void()>& between) {
  const PassPositions positions = OfFirst(batch.positions);
  std::vector<Tensor> layers;
  Feed feed;
  feed.batch = 1;
  feed.tape = batch.tape;
  feed.outputs = batch.tape;
  feed.tokens = model.TokenRows(batch.tokens, 0, batch.tape);
  feed.terms = model.Prepare(positions);
  feed.on_attention = [&](const Tensor& maxima) {
    layers.push_back(maxima);
    between();
  };
  model.Forward(parameters, feed);
  return at::stack(layers);
}

Series ComputeAttentionSeries(const PackSettings& settings, const Problem& problem, const Tensor& parameters, const std::string& job, int step,
                              const std::function<void()>& between) {
  const c10::InferenceMode inference;
  const std::unique_ptr<Model> model = MakeModel(settings);
  // A copy: to clamp is a change.
  ParameterSet set = ViewParameters(model->layout(), parameters.to(at::kCPU, at::kFloat, /*non_blocking=*/false, /*copy=*/true));
  model->encoding().Clamp(set);
  Series series = BeginSeries("attention", settings, job, step);
  series.header["heads"] = std::to_string(settings.model.heads);
  std::map<std::string, Tensor>& tensors = series.tensors;
  for (const int length : settings.evaluation.attention_lengths) {
    const Batch batch = problem.TestBatch(model->encoding().Use(), length, 0);
    Tensor tokens = at::empty({batch.tape}, at::kInt);
    for (int64_t t = 0; t < batch.tape; ++t) tokens.data_ptr<int32_t>()[t] = batch.tokens[static_cast<size_t>(t)];
    tensors[Text("attention/", length)] = AttentionOf(*model, set, batch, between);
    tensors[Text("tokens/", length)] = tokens;
    if (const Tensor given = Given(OfFirst(batch.positions)); given.defined()) tensors[Text("positions/", length)] = given;
  }
  return series;
}

}  // namespace longreach::trainer
