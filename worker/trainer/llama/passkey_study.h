// Passkey retrieval as an evaluation: does a decoder know the number that was hidden in its prompt?
//
// Source: section 5.3 of arXiv:2404.12224.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "worker/tokenizer/tokenizer.h"
#include "worker/trainer/engine/thread_pool.h"
#include "worker/trainer/llama/passkey_questions.h"
#include "worker/trainer/model/llama_network.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

class PasskeyStudy {
 public:
  // As MakePasskeyQuestions() takes them.
  PasskeyStudy(const PackSettings& settings, int threads, std::unique_ptr<tokenizer::Tokenizer> tokenizer);

  int cells() const { return questions_->cells(); }

  // The share of a cell's questions that a member, [stride], answers right, on the device where it lies. `between` is called now and then from the calling thread; it
  // may throw to break off. The bits do not depend on the threads. Errors of PasskeyQuestions.
  absl::StatusOr<double> Accuracy(const Tensor& member, int cell, const std::function<void()>& between);

  // Of all cells' shares: PasskeyQuestions says which.
  std::vector<Measurement> Measurements(const std::vector<double>& shares) const { return questions_->Measurements(shares); }

 private:
  std::unique_ptr<PasskeyQuestions> questions_;
  LlamaNetwork model_;
  ThreadPool pool_;
};

}  // namespace longreach::trainer
