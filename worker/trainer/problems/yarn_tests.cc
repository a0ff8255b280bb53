#include "worker/trainer/problems/yarn_tests.h"

#include <algorithm>

#include "worker/trainer/llama/config.h"

namespace longreach::trainer {

YarnTests::YarnTests(const PackSettings& settings, const LlamaTexts& texts, int64_t at_a_time) : texts_(texts) {
  if (settings.model.config && settings.model.config->bos) bos_ = static_cast<uint16_t>(*settings.model.config->bos);
  for (const int length : settings.evaluation.lengths) {
    Tests& tests = tests_[length] = Choose(length, settings.evaluation.stride, settings.evaluation.examples);
    Cut(tests, static_cast<size_t>(std::max<int64_t>(1, at_a_time / length)));
  }
}

YarnTests::Tests YarnTests::Choose(int length, int64_t stride, int64_t wanted) const {
  const WindowRule rule{.length = length, .stride = stride, .bos = bos_.has_value()};
  const auto windows_of = [&](int64_t document) {
    std::vector<Window> windows = YarnWindows(std::vector<int64_t>{texts_.test_size(document) - TextBegin(document)}, rule);
    std::erase_if(windows, [this](const Window& window) { return OutputsOf(window) == 0; });
    return windows;
  };
  int64_t there = 0;
  for (int64_t d = 0; d < texts_.test_documents(); ++d) there += static_cast<int64_t>(windows_of(d).size());
  const int64_t chosen = wanted == 0 ? there : std::min(there, wanted);
  Tests tests;
  int64_t before = 0;
  for (int64_t d = 0; d < texts_.test_documents(); ++d) {
    const std::vector<Window> windows = windows_of(d);
    const int64_t count = static_cast<int64_t>(windows.size());
    // Where fewer are wanted than there are, they lie evenly over all documents.
    while (static_cast<int64_t>(tests.windows.size()) < chosen) {
      const int64_t next = static_cast<int64_t>(tests.windows.size()) * there / chosen - before;
      if (next >= count) break;
      tests.windows.push_back(windows[static_cast<size_t>(next)]);
      tests.windows.back().document = d;
    }
    before += count;
  }
  return tests;
}

void YarnTests::Cut(Tests& tests, size_t windows_at_a_time) const {
  const std::vector<Window>& windows = tests.windows;
  for (size_t i = 0; i < windows.size(); ++i) {
    const bool same = i > 0 && TapeOf(windows[i]) == TapeOf(windows[i - 1]) && OutputsOf(windows[i]) == OutputsOf(windows[i - 1]);
    if (!same || i - tests.parts.back() == windows_at_a_time) tests.parts.push_back(i);
  }
}

int64_t YarnTests::TextBegin(int64_t document) const {
  if (!bos_ || texts_.test_size(document) == 0) return 0;
  std::vector<uint16_t> first;
  texts_.AppendTest(document, 0, 1, first);
  return first[0] == *bos_ ? 1 : 0;
}

Batch YarnTests::Part(int length, int part) const {
  const Tests& tests = tests_.at(length);
  const size_t first = tests.parts[static_cast<size_t>(part)];
  const size_t end = static_cast<size_t>(part) + 1 < tests.parts.size() ? tests.parts[static_cast<size_t>(part) + 1] : tests.windows.size();
  Batch batch;
  batch.size = static_cast<int64_t>(end - first);
  batch.tape = TapeOf(tests.windows[first]);
  batch.outputs = OutputsOf(tests.windows[first]);
  batch.valid.assign(end - first, static_cast<int32_t>(batch.outputs));
  for (size_t w = first; w < end; ++w) {
    const Window& window = tests.windows[w];
    const int64_t text = TextBegin(window.document);
    if (bos_) batch.tokens.push_back(*bos_);
    texts_.AppendTest(window.document, text + window.begin, window.length() - 1, batch.tokens);
    texts_.AppendTest(window.document, text + window.end - batch.outputs, batch.outputs, batch.targets);
  }
  return batch;
}

}  // namespace longreach::trainer
