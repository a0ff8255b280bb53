#include "worker/trainer/llama/study.h"

#include <algorithm>
#include <optional>

#include "proto/base/text.h"
#include "proto/catalog/limits.h"
#include "worker/trainer/llama/fits.h"
#include "worker/trainer/llama/windows.h"
#include "worker/trainer/sent.h"

namespace longreach::trainer {

namespace {

std::string HeadSlice(int64_t layer, int64_t head) { return Text("layer=", layer, ",head=", head); }

}  // namespace

void SetAttentionScales(const PackSettings& settings, const ParameterLayout& layout, const std::vector<Member>& members, PackState& state) {
  const Parameter& scales = *layout.Find("attn.scales");
  for (size_t m = 0; m < members.size(); ++m) {
    const double scale = members[m].attention_scale.value_or(settings.model.attention_scale);
    if (scale == 1 && !members[m].attention_scale) continue;
    state.parameters[static_cast<int64_t>(m)].narrow(0, scales.offset, scales.size).fill_(scale);
  }
}

absl::StatusOr<std::unique_ptr<LlamaStudy>> LlamaStudy::Of(const PackSettings& settings, const DataSource& data, int threads) {
  std::unique_ptr<Problem> problem;
  if (settings.evaluation.position_bins > 0) {
    PackSettings whole = settings;
    whole.evaluation.stride = 0;
    // It says which sliding windows there are, and these do not slide.
    whole.evaluation.perplexity_protocol = PackSettings::Evaluation::PerplexityProtocol::kNope;
    ASSIGN_OR_RETURN(problem, MakeProblem(whole, data));
  }
  return std::unique_ptr<LlamaStudy>(new LlamaStudy(settings, std::move(problem), threads));
}

LlamaStudy::LlamaStudy(const PackSettings& settings, std::unique_ptr<Problem> problem, int threads)
    : settings_(settings), problem_(std::move(problem)), model_(settings), pool_(threads) {}

LlamaStudy::Curves LlamaStudy::Run(const ParameterSet& parameters, const Tensor& head_factors, bool entropy,
                                   const std::function<void()>& between) {
  const int length = settings_.evaluation.lengths.back();
  const int64_t bins = settings_.evaluation.position_bins;
  Curves curves;
  curves.loss.assign(static_cast<size_t>(length), 0);
  if (entropy) curves.entropy = at::zeros({settings_.model.layers, settings_.model.heads, bins}, at::kDouble);
  const bool together = length >= kSharedLength || !parameters.front().is_cpu();
  LlamaFeed how;
  how.head_factors = head_factors;
  if (together) {
    how.pool = &pool_;
    how.between = between;
  }
  double windows = 0;
  for (int part = 0; part < problem_->TestParts(length); ++part) {
    const Batch batch = problem_->TestBatch(PositionUse::kNothing, length, part);
    const int64_t at_a_time = together ? 1 : pool_.threads();
    for (int64_t done = 0; done < batch.size; done += at_a_time) {
      std::vector<Window> some(static_cast<size_t>(std::min(at_a_time, batch.size - done)));
      const auto work = [&](int64_t i) { some[static_cast<size_t>(i)] = RunWindow(parameters, batch, done + i, how, entropy); };
      if (together) work(0);
      else pool_.Run(static_cast<int64_t>(some.size()), work);
      // In order: the sums are part of the result.
      for (const Window& window : some) {
        const double* const loss = window.loss.const_data_ptr<double>();
        for (size_t t = 0; t < curves.loss.size(); ++t) curves.loss[t] += loss[t];
        if (entropy) curves.entropy += window.entropy;
      }
      between();
    }
    windows += static_cast<double>(batch.size);
  }
  for (double& loss : curves.loss) loss /= windows;
  if (entropy) curves.entropy /= windows;
  return curves;
}

LlamaStudy::Window LlamaStudy::RunWindow(const ParameterSet& parameters, const Batch& batch, int64_t sequence, const LlamaFeed& how,
                                         bool entropy) const {
  const at::NoGradGuard no_gradient;  // A setting of the thread.
  const int64_t length = batch.tape, first = sequence * length, bins = settings_.evaluation.position_bins;
  LlamaFeed feed = how;
  feed.batch = 1;
  feed.length = length;
  const at::Device device = parameters.front().device();
  feed.tokens = Sent(model_.TokenRows(batch.tokens, first, length), device);
  std::vector<AttentionTrace> traces;
  if (entropy) feed.traces = &traces;
  const Tensor hidden = model_.decoder().Hidden(parameters, feed);
  const Tensor targets = Sent(model_.TokenRows(batch.targets, first, length), device).unsqueeze(1);
  std::vector<Tensor> losses;
  model_.LogitsInParts(parameters, hidden, how.pool, how.between, [&](int64_t row, const Tensor& logits) {
    const int64_t rows = logits.size(0);
    losses.push_back(-at::log_softmax(logits, -1).gather(-1, targets.narrow(0, row, rows)).view({rows}).to(at::kDouble));
  });
  std::vector<Tensor> layers;
  for (const AttentionTrace& trace : traces) {
    layers.push_back(trace.entropy.to(at::kDouble).view({settings_.model.heads, bins, length / bins}).mean(-1));
  }
  return {.loss = at::cat(losses).to(at::kCPU), .entropy = entropy ? at::stack(layers).to(at::kCPU) : Tensor()};
}

std::vector<double> LlamaStudy::Binned(const std::vector<double>& by_position) const {
  std::vector<double> bins(static_cast<size_t>(settings_.evaluation.position_bins), 0);
  const size_t width = by_position.size() / bins.size();
  for (size_t t = 0; t < by_position.size(); ++t) bins[t / width] += by_position[t] / static_cast<double>(width);
  return bins;
}

StudyResult LlamaStudy::Measure(const Tensor& member, const std::function<void()>& between) {
  StudyResult result;
  std::vector<Measurement>& all = result.measurements;
  const ParameterSet parameters = ViewParameters(model_.layout(), member);
  const torch::NoGradGuard no_gradient;
  const Tensor factors = model_.HeadFactors(parameters).to(at::kCPU).contiguous();
  result.head_factors = factors;
  const int64_t heads = settings_.model.heads;
  const auto each_head = [&](const std::string& metric, int length, const std::function<double(int64_t, int64_t)>& value) {
    for (int64_t layer = 0; layer < settings_.model.layers; ++layer) {
      for (int64_t head = 0; head < heads; ++head) {
        all.push_back({.metric = metric, .length = length, .slice = HeadSlice(layer, head), .value = value(layer, head)});
      }
    }
  };
  if (result.OwnScales()) {
    each_head("head_scale", 0, [&](int64_t layer, int64_t head) { return factors.const_data_ptr<float>()[layer * heads + head]; });
  }
  if (settings_.evaluation.position_bins == 0 || settings_.evaluation.lengths.empty()) return result;

  const Curves curves = Run(parameters, factors, true, between);
  result.entropy = curves.entropy;
  const std::vector<double> losses = Binned(curves.loss);
  const Tensor entropies = curves.entropy.flatten(0, 1).mean(0).contiguous();
  const int longest = settings_.evaluation.lengths.back(), width = longest / settings_.evaluation.position_bins;
  for (size_t b = 0; b < losses.size(); ++b) {
    const int end = static_cast<int>(b + 1) * width;
    all.push_back({.metric = "position_loss", .length = end, .slice = "", .value = losses[b]});
    all.push_back({.metric = "attention_entropy", .length = end, .slice = "", .value = entropies.const_data_ptr<double>()[b]});
  }
  const Tensor last = curves.entropy.select(2, curves.entropy.size(2) - 1).contiguous();
  // Where these are too many for a metric's values, they are in the series alone.
  if (last.numel() + settings_.evaluation.position_bins <= catalog::kMaxValuesOfMetric) {
    each_head("attention_entropy", longest, [&](int64_t layer, int64_t head) { return last.const_data_ptr<double>()[layer * heads + head]; });
  }
  if (!settings_.evaluation.attention_scales.empty()) SearchScales(parameters, between, result);
  return result;
}

void LlamaStudy::SearchScales(const ParameterSet& parameters, const std::function<void()>& between, StudyResult& result) {
  std::vector<Measurement>& all = result.measurements;
  const std::vector<double>& scales = settings_.evaluation.attention_scales;
  const int longest = settings_.evaluation.lengths.back();
  const size_t bins = static_cast<size_t>(settings_.evaluation.position_bins), width = static_cast<size_t>(longest) / bins;
  const auto end_of = [&](size_t bin) { return static_cast<int>((bin + 1) * width); };
  // With the losses at the model's own scales. Where these are too many for a metric's values, they are in the series alone.
  const bool measured = static_cast<int64_t>((scales.size() + 1) * bins) <= catalog::kMaxValuesOfMetric;
  result.scale_losses = at::empty({static_cast<int64_t>(scales.size()), static_cast<int64_t>(bins)}, at::kDouble);
  std::vector<std::vector<double>> losses;  // By scale and bin.
  for (const double scale : scales) {
    const Tensor factors = at::full({settings_.model.layers, settings_.model.heads}, scale, at::kFloat);
    losses.push_back(Binned(Run(parameters, factors, false, between).loss));
    std::ranges::copy(losses.back(), result.scale_losses.mutable_data_ptr<double>() + (losses.size() - 1) * bins);
    for (size_t b = 0; measured && b < bins; ++b) {
      all.push_back({.metric = "position_loss",
                     .length = end_of(b),
                     .slice = Text("attention_scale=", ShortestNumber(scale)),
                     .value = losses.back()[b]});
    }
  }
  // The lowest of those with the least loss over some bins, if there is one.
  const auto add_best = [&](int length, const std::vector<size_t>& some) {
    const std::optional<size_t> least = LeastLoss(losses, some);
    if (least) all.push_back({.metric = "best_attention_scale", .length = length, .slice = "", .value = scales[*least]});
    return least;
  };
  std::vector<double> best;  // By position.
  for (size_t b = 0; b < bins; ++b) {
    const std::optional<size_t> of_bin = add_best(end_of(b), {b});
    if (of_bin) best.insert(best.end(), width, scales[*of_bin]);
  }
  // Each length counts once, as in every score over all lengths: where several end in one bin, its loss stands for all of them.
  std::vector<size_t> of_lengths;
  for (const int length : settings_.evaluation.lengths) of_lengths.push_back(static_cast<size_t>(length - 1) / width);
  add_best(0, of_lengths);
  if (best.size() < bins * width) return;  // In a bin without a best one its growth is not known.
  const std::vector<int>& trained = settings_.training.lengths;
  const int training_length = settings_.positions.original_length > 0 ? settings_.positions.original_length
                              : settings_.training.steps > 0          ? trained.back()
                              : settings_.model.config                ? static_cast<int>(settings_.model.config->max_positions)
                                                                      : longest;
  // Where nothing lies beyond the training length there is no growth.
  const absl::StatusOr<ScaleGrowth> growth = FitScaleGrowth(best, training_length);
  if (!growth.ok()) return;
  all.push_back({.metric = "scale_growth", .length = 0, .slice = "", .value = growth->a});
  all.push_back({.metric = "scale_growth_r2", .length = 0, .slice = "", .value = growth->r2});
}

}  // namespace longreach::trainer
