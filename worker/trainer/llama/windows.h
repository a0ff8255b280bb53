// Sliding windows of two protocols of perplexity, whose numbers do not compare, and the sums over them. Without torch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/base/status.h"

namespace longreach::trainer {

// Sequences from this length on, of prompts and of windows, are read by all threads together, one after the other: with a sign of life after
// each block, and what one of them takes alone in memory. Shorter ones are a thread's own. The bits are the same.
inline constexpr int64_t kSharedLength = 4096;

// Tokens [begin, end) of a document are fed; the last `scored` of them are labels, each predicted from those before it.
struct Window {
  int64_t document = 0;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t scored = 0;

  int64_t length() const { return end - begin; }
  // Labels that have a token before them to be predicted from; with a BOS in front all have.
  int64_t predicted(bool bos) const { return scored == length() && !bos ? scored - 1 : scored; }
};

struct WindowRule {
  int64_t length = 0;  // Of a window, a BOS included.
  int64_t stride = 0;
  bool bos = false;    // YaRN's: a BOS stands in front of each window.
  // The NoPE authors': no window begins once so many tokens are scored. 0: no limit. Jobs count windows instead.
  int64_t most_scored = 0;
};

// INVALID_ARGUMENT: a length below 2, or a stride that is not in [1, length].
absl::Status Validate(const WindowRule& rule);

// The NoPE authors', of one document: full windows only, at every stride while the document goes on behind it, of which the last `stride`
// tokens are scored. What comes before the first of these, and the tail behind the last window, is never scored. Theirs begin with the
// document: `first_end`, where the first window ends, is the length of one. It may be more.
// Source: run_ppl.py of AntNLP/nope_head_scale.
int64_t NopeWindowsIn(int64_t document_length, int64_t stride, int64_t first_end);
// The n-th of them, from 0 on.
Window NopeWindow(int64_t document, int64_t n, const WindowRule& rule, int64_t first_end);

// All of the authors': what golden vectors and tests have. Jobs choose among those of all documents by number.
std::vector<Window> NopeWindows(std::span<const int64_t> document_lengths, const WindowRule& rule);

// YaRN's: every token is scored once; the first window of a document whole, the last one short.
// Source: eval/perplexity.py of jquesnelle/yarn.
std::vector<Window> YarnWindows(std::span<const int64_t> document_lengths, const WindowRule& rule);

// What golden vectors compare, and nothing else: jobs sum up what their engine says of batches.
struct Perplexity {
  int64_t windows = 0;
  int64_t scored_tokens = 0;
  double mean_window_loss = 0;     // Windows count alike, short ones too.
  double perplexity = 0;           // exp() of it: what both report.
  double token_weighted_loss = 0;  // Windows count by their labels.
};

// `losses`: of each window the mean over its predicted labels, in nats. NaN where there is no window.
Perplexity Summarize(std::span<const Window> windows, std::span<const double> losses);

}  // namespace longreach::trainer
