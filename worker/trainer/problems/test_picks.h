// Which of a data set's test examples are tested: all of them or, where fewer are wanted, one of each of as many equal parts, by chance. Examples often lie in an
// order (images in that of their classes, or taking turns at them), and at equal distances a test would see a few kinds only.
#pragma once

#include <algorithm>
#include <cstdint>

#include "worker/trainer/random/random_stream.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

// Of `count` examples, at most 2^32 - 1; the same for all jobs with this evaluation. `step`: that of the stream.
class TestPicks {
 public:
  TestPicks(const PackSettings::Evaluation& evaluation, int64_t count, uint64_t step)
      : count_(count),
        size_(evaluation.examples == 0 ? count : std::min<int64_t>(count, evaluation.examples)),
        stream_{.key = EvaluationKey(evaluation.seed), .purpose = Purpose::kTestBatch, .layer = 0, .step = step} {}

  int64_t size() const { return size_; }
  // `i` is in [0, size()).
  int64_t operator[](int64_t i) const {
    const int64_t first = i * count_ / size_, end = (i + 1) * count_ / size_;
    return first + stream_.Below(static_cast<uint64_t>(i), static_cast<uint32_t>(end - first));
  }

 private:
  int64_t count_;
  int64_t size_;
  RandomStream stream_;
};

}  // namespace longreach::trainer
