#include "worker/trainer/llama/windows.h"

#include <algorithm>
#include <cmath>

#include "proto/base/text.h"

namespace longreach::trainer {

absl::Status Validate(const WindowRule& rule) {
  if (rule.length < 2) return absl::InvalidArgumentError(Text("a window of ", rule.length, " tokens predicts nothing"));
  if (rule.stride < 1 || rule.stride > rule.length) {
    return absl::InvalidArgumentError(Text("a stride of ", rule.stride, " does not fit windows of ", rule.length, " tokens"));
  }
  return absl::OkStatus();
}

int64_t NopeWindowsIn(int64_t document_length, int64_t stride, int64_t first_end) {
  return std::max<int64_t>(0, (document_length - first_end + stride - 1) / stride);
}

Window NopeWindow(int64_t document, int64_t n, const WindowRule& rule, int64_t first_end) {
  const int64_t end = first_end + n * rule.stride;
  return {.document = document, .begin = end - rule.length, .end = end, .scored = rule.stride};
}

std::vector<Window> NopeWindows(std::span<const int64_t> document_lengths, const WindowRule& rule) {
  std::vector<Window> windows;
  int64_t scored = 0;
  for (size_t document = 0; document < document_lengths.size(); ++document) {
    const int64_t count = NopeWindowsIn(document_lengths[document], rule.stride, rule.length);
    for (int64_t n = 0; n < count; ++n) {
      if (rule.most_scored > 0 && scored >= rule.most_scored) return windows;
      windows.push_back(NopeWindow(static_cast<int64_t>(document), n, rule, rule.length));
      scored += rule.stride;
    }
  }
  return windows;
}

std::vector<Window> YarnWindows(std::span<const int64_t> document_lengths, const WindowRule& rule) {
  const int64_t text = rule.length - (rule.bos ? 1 : 0);
  std::vector<Window> windows;
  for (size_t document = 0; document < document_lengths.size(); ++document) {
    int64_t scored_to = 0;
    for (int64_t begin = 0; scored_to < document_lengths[document]; begin += rule.stride) {
      const int64_t end = std::min(begin + text, document_lengths[document]);
      windows.push_back({static_cast<int64_t>(document), begin, end, end - scored_to});
      scored_to = end;
    }
  }
  return windows;
}

Perplexity Summarize(std::span<const Window> windows, std::span<const double> losses) {
  Perplexity result;
  double sum = 0, weighted = 0;
  for (size_t i = 0; i < windows.size(); ++i) {
    result.scored_tokens += windows[i].scored;
    sum += losses[i];
    weighted += losses[i] * static_cast<double>(windows[i].scored);
  }
  result.windows = static_cast<int64_t>(windows.size());
  result.mean_window_loss = sum / static_cast<double>(windows.size());
  result.perplexity = std::exp(result.mean_window_loss);
  result.token_weighted_loss = weighted / static_cast<double>(result.scored_tokens);
  return result;
}

}  // namespace longreach::trainer
