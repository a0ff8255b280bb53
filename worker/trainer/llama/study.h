// What a trained LLaMA decoder is asked beyond the losses of its test windows: loss and attention entropy against position, which
// scale of attention is best where, and its heads' own scales.
//
// Source: sections 3.1, 3.2 and appendix A of arXiv:2404.12224; evals/eval_entropy.py and fig/fig_fit.ipynb of AntNLP/nope_head_scale.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "worker/trainer/engine/state.h"
#include "worker/trainer/engine/thread_pool.h"
#include "worker/trainer/model/llama_network.h"
#include "worker/trainer/problems/problem.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

// Scales that members begin with: a measured one, else that of the settings where it is not 1.
void SetAttentionScales(const PackSettings& settings, const ParameterLayout& layout, const std::vector<Member>& members, PackState& state);

struct StudyResult {
  std::vector<Measurement> measurements;
  Tensor head_factors;  // [L, H] float32, on the CPU.
  Tensor entropy;       // [L, H, bins] float64, nats: of each head, mean over a bin's positions and all windows. Undefined: there are no bins.
  Tensor scale_losses;  // [scales, bins] float64, nats: with one factor on all heads. Undefined: no scales were tried.

  // The heads have factors of their own, not all 1.
  bool OwnScales() const { return !(head_factors == 1).all().item<bool>(); }
};

class LlamaStudy {
 public:
  // The settings have been validated. Errors of MakeProblem().
  static absl::StatusOr<std::unique_ptr<LlamaStudy>> Of(const PackSettings& settings, const DataSource& data, int threads);

  // Of one member: its parameters, [stride], on the device that computes. `between` is called now and then from the calling thread; it may throw to break off.
  // The bits do not depend on the threads. Measurements, at the length at which a bin of positions ends:
  //   position_loss      nats, mean over the bin; slice "attention_scale=F": with that factor on all heads instead of their own, where a
  //                      metric may have so many values (catalog::kMaxValuesOfMetric)
  //   attention_entropy  nats, mean over the bin and all heads; slice "layer=L,head=H", of the last bin: of one head, where a metric may
  //                      have so many values
  //   best_attention_scale  that of the least loss in the bin; at length 0: of the least mean, over evaluation.lengths, of the losses in the bins that
  //                      they end in
  //   scale_growth, scale_growth_r2  at length 0: a of a ln(i/L) + 1 through the best scales at positions i from L on
  //   head_scale         slice "layer=L,head=H", at length 0, where they are not all 1
  // Losses may be no finite numbers, as attention may overflow at a large scale; the best scales are of those that are.
  StudyResult Measure(const Tensor& parameters, const std::function<void()>& between);

 private:
  LlamaStudy(const PackSettings& settings, std::unique_ptr<Problem> problem, int threads);

  // Means over all windows.
  struct Curves {
    std::vector<double> loss;  // By position.
    Tensor entropy;            // [L, H, bins] float64, if it was asked for.
  };
  // Factors [L, H].
  Curves Run(const ParameterSet& parameters, const Tensor& head_factors, bool entropy, const std::function<void()>& between);
  // Of one window: a sequence of a test batch. With a pool, and on a GPU, it is computed as one, and `between` is called after each block.
  struct Window {
    Tensor loss;     // Of each position, [T] float64.
    Tensor entropy;  // [L, H, bins] float64, if it was asked for.
  };
  Window RunWindow(const ParameterSet& parameters, const Batch& batch, int64_t sequence, const LlamaFeed& how, bool entropy) const;
  std::vector<double> Binned(const std::vector<double>& by_position) const;
  void SearchScales(const ParameterSet& parameters, const std::function<void()>& between, StudyResult& result);

  PackSettings settings_;
  std::unique_ptr<Problem> problem_;  // With whole windows; none without bins.
  LlamaNetwork model_;
  ThreadPool pool_;
};

}  // namespace longreach::trainer
