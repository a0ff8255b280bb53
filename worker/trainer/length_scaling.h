// Attention by the number of keys: logits that grow with its logarithm keep softmax as sharp over many keys as over few.
//
// Sources: arXiv:2202.12172 (ln n); spaces.ac.cn/archives/8823 (ln n / ln m).
#pragma once

#include "worker/trainer/torch.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

// What products of queries and keys are multiplied by (model.length_scaling).
class LengthScaling {
 public:
  explicit LengthScaling(const PackSettings& settings);

  bool IsNone() const { return kind_ == PackSettings::Model::LengthScaling::kNone; }
  // Of a query that sees so many keys, from 1 on. Of such numbers, in a tensor of doubles: in its shape.
  double Of(int64_t keys) const;
  Tensor Of(const Tensor& keys) const;

 private:
  PackSettings::Model::LengthScaling kind_;
  double log_from_ = 1;
};

}  // namespace longreach::trainer
