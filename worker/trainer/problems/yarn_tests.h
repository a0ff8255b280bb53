// Test windows of YaRN's protocol of perplexity, in parts whose windows have one shape: every token of a document is scored once, the first
// window of a document whole and the last one short. A BOS stands in front of each window of a model that has one, in place of the
// document's own.
// Source: eval/perplexity.py of jquesnelle/yarn.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "worker/trainer/engine/batch.h"
#include "worker/trainer/llama/windows.h"
#include "worker/trainer/problems/llama_texts.h"

namespace longreach::trainer {

class YarnTests {
 public:
  // At most `at_a_time` ids are in a part, but at least a window. `texts` is borrowed.
  YarnTests(const PackSettings& settings, const LlamaTexts& texts, int64_t at_a_time);

  int Parts(int length) const { return static_cast<int>(tests_.at(length).parts.size()); }
  Batch Part(int length, int part) const;
  // The windows of a length, in order; of a document's text, without its own BOS.
  const std::vector<Window>& Windows(int length) const { return tests_.at(length).windows; }
  // Predictions that count.
  int64_t OutputsOf(const Window& window) const { return window.predicted(bos_.has_value()); }

 private:
  struct Tests {
    std::vector<Window> windows;
    std::vector<size_t> parts;    // Where each begins.
  };

  Tests Choose(int length, int64_t stride, int64_t wanted) const;
  void Cut(Tests& tests, size_t windows_at_a_time) const;
  // Ids that are fed.
  int64_t TapeOf(const Window& window) const { return window.length() - (bos_ ? 0 : 1); }
  // Of a document's ids: where its text begins.
  int64_t TextBegin(int64_t document) const;

  const LlamaTexts& texts_;
  std::optional<uint16_t> bos_;
  std::map<int, Tests> tests_;  // By length.
};

}  // namespace longreach::trainer
