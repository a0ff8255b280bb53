// Passkey retrieval as an evaluation: does a decoder go on with the number that was hidden in its prompt?
//
// Source: section 5.3 of arXiv:2404.12224; run_pass.py of AntNLP/nope_head_scale.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "worker/tokenizer/tokenizer.h"
#include "worker/trainer/engine/thread_pool.h"
#include "worker/trainer/llama/passkey.h"
#include "worker/trainer/model/llama_network.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

class PasskeyStudy {
 public:
  // The settings have been validated. Tasks are the authors', drawn by 42 + evaluation.seed. Of a decoder of bytes there is no tokenizer.
  PasskeyStudy(const PackSettings& settings, int threads, std::unique_ptr<tokenizer::Tokenizer> tokenizer);

  // One for each length and depth, from the longest length down.
  int cells() const { return static_cast<int>(cells_.size()); }

  // The share of a cell's prompts that a member, [stride], answers: greedily, with as many tokens as the key has, all of which must
  // be right. `between` is called now and then from the calling thread; it may throw to break off. The bits do not depend on the
  // threads. Errors of MakePasskeyBytes() or MakePasskeyIds().
  absl::StatusOr<double> Accuracy(const Tensor& member, int cell, const std::function<void()>& between);

  // passkey_accuracy of all cells' shares: with the slice "depth=D", where D in [0, 1) is where the range of positions begins, at a
  // length and, as the mean over lengths, at 0; without, the mean over depths.
  std::vector<Measurement> Measurements(const std::vector<double>& shares) const;

 private:
  PackSettings settings_;
  std::vector<PasskeyCell> cells_;
  LlamaNetwork model_;
  ThreadPool pool_;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
};

}  // namespace longreach::trainer
