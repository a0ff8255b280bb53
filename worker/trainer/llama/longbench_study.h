// LongBench as an evaluation: how well does a published model answer, in the words of its tokenizer, what the tasks ask?
//
// Source: section 5.4 of arXiv:2404.12224; pred.py and eval.py of THUDM/LongBench.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "worker/data/longbench.h"
#include "worker/tokenizer/tokenizer.h"
#include "worker/trainer/engine/thread_pool.h"
#include "worker/trainer/longbench/tasks.h"
#include "worker/trainer/model/llama_network.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

// The tasks that are asked, in the catalog's order. Errors as LongBenchStudy::Of() has them of the data set.
absl::StatusOr<std::vector<const longbench::Task*>> AskedLongBenchTasks(const PackRequest& request);

class LongBenchStudy {
 public:
  // The request has gone through ReadPublished(). Nothing is computed yet.
  // NOT_FOUND, FAILED_PRECONDITION, DATA_LOSS: the data set cannot be used, or the model's has no tokenizer. INVALID_ARGUMENT: the data
  // set lacks a task, or the tokenizer is another model's.
  static absl::StatusOr<std::unique_ptr<LongBenchStudy>> Of(const PackRequest& request, int threads);

  // Of all tasks, one task after the other.
  int samples() const { return samples_; }

  // The score, 0 to 1, of the answer of a member, [stride], on the device where it lies. `between` is called now and then from the calling
  // thread; it may throw to break off. The bits do not depend on the threads. DATA_LOSS: a damaged sample; UNAVAILABLE: the tokenizer's program has ended.
  absl::StatusOr<double> Score(const Tensor& member, int sample, const std::function<void()>& between);

  // longbench, of the scores of all samples: the mean of a task with the slice "longbench_task=NAME", and without one the mean over tasks.
  std::vector<Measurement> Measurements(const std::vector<double>& scores) const;

 private:
  struct Asked {
    const longbench::Task* task = nullptr;
    data::LongBenchFile file;
    int samples = 0;
  };

  LongBenchStudy(const PackRequest& request, int threads)
      : tests_(request.settings.evaluation), model_(request.settings), pool_(threads) {}

  absl::StatusOr<std::vector<int64_t>> PromptOf(const longbench::Task& task, const data::LongBenchSample& sample);

  PackSettings::Evaluation tests_;
  std::vector<Asked> tasks_;
  int samples_ = 0;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
  std::vector<int64_t> eos_;
  int64_t newline_ = 0;  // The id that ends a line.
  LlamaNetwork model_;
  ThreadPool pool_;
};

}  // namespace longreach::trainer
