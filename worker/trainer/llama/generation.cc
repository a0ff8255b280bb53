#include "worker/trainer/llama/generation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace longreach::trainer {

namespace {

struct Beam {
  Tokens tokens;
  double score = 0;
};

// A beam and the token it would go on with.
struct Candidate {
  size_t beam = 0;
  int64_t token = 0;
  double score = 0;  // Sum of log p.
};

bool Ends(const GenerationRule& rule, int64_t token) { return std::ranges::find(rule.eos, token) != rule.eos.end(); }

// Takes EOS away from what a sequence may go on with.
template <typename Number>
void Forbid(const std::vector<int64_t>& eos, std::vector<Number>& scores) {
  for (const int64_t token : eos) scores[static_cast<size_t>(token)] = -std::numeric_limits<Number>::infinity();
}

std::vector<double> LogSoftmax(const std::vector<float>& logits) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  std::vector<double> result;
  result.reserve(logits.size());
  for (const float logit : logits) result.push_back(logit - largest - std::log(sum));
  return result;
}

// The best `count` continuations of all beams, best first; none by the tokens `forbidden`.
std::vector<Candidate> Best(const std::vector<std::vector<float>>& logits, const std::vector<Beam>& beams, size_t count,
                            const std::vector<int64_t>& forbidden) {
  std::vector<Candidate> all;
  for (size_t beam = 0; beam < beams.size(); ++beam) {
    std::vector<double> log_p = LogSoftmax(logits[beam]);
    Forbid(forbidden, log_p);
    for (size_t token = 0; token < log_p.size(); ++token) {
      all.push_back({beam, static_cast<int64_t>(token), beams[beam].score + log_p[token]});
    }
  }
  count = std::min(count, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
      [](const Candidate& a, const Candidate& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.beam != b.beam ? a.beam < b.beam : a.token < b.token;
  });
  all.resize(count);
  return all;
}

}  // namespace

Generated Greedy(Continuation& model, const Tokens& prompt, const GenerationRule& rule) {
  Generated result;
  result.smallest_margin = std::numeric_limits<double>::infinity();
  std::vector<Tokens> sequence = {prompt};
  std::vector<int64_t> parents;
  for (int64_t step = 0; step < rule.most_new_tokens; ++step) {
    std::vector<float> logits = model.Next(sequence, parents)[0];
    if (step < rule.least_new_tokens) Forbid(rule.eos, logits);
    parents = {0};
    const auto best = std::ranges::max_element(logits);
    float second = -std::numeric_limits<float>::infinity();
    for (auto other = logits.begin(); other != logits.end(); ++other) {
      if (other != best) second = std::max(second, *other);
    }
    result.smallest_margin = std::min(result.smallest_margin, static_cast<double>(*best) - second);
    result.tokens.push_back(best - logits.begin());
    sequence[0].push_back(result.tokens.back());
    if (Ends(rule, result.tokens.back())) break;
  }
  return result;
}

Generated BeamSearch(Continuation& model, const Tokens& prompt, const GenerationRule& rule) {
  const size_t beams = static_cast<size_t>(rule.beams);
  std::vector<Beam> running = {{prompt, 0}};
  std::vector<Beam> finished;  // At most `beams`, best first, with penalized scores.
  std::vector<int64_t> parents;
  for (int64_t length = 1; length <= rule.most_new_tokens; ++length) {
    std::vector<Tokens> sequences;
    for (const Beam& beam : running) sequences.push_back(beam.tokens);
    // Enough that as many go on as there are beams, even if each of them could end in every way.
    const std::vector<Candidate> best = Best(model.Next(sequences, parents), running,
        std::max<size_t>(2, 1 + rule.eos.size()) * beams, length <= rule.least_new_tokens ? rule.eos : std::vector<int64_t>{});
    const double divisor = std::pow(static_cast<double>(length), rule.length_penalty);
    std::vector<Beam> next;
    parents.clear();
    for (size_t rank = 0; rank < best.size(); ++rank) {
      const Candidate& candidate = best[rank];
      if (std::isinf(candidate.score)) break;  // Forbidden ones come last.
      Beam beam{running[candidate.beam].tokens, candidate.score};
      beam.tokens.push_back(candidate.token);
      if (length == rule.most_new_tokens || Ends(rule, candidate.token)) {
        // What ends further down the list is no result, only a reserve.
        if (rank < beams) finished.push_back({beam.tokens, beam.score / divisor});
      } else if (next.size() < beams) {
        next.push_back(std::move(beam));
        parents.push_back(static_cast<int64_t>(candidate.beam));
      }
    }
    std::ranges::stable_sort(finished, std::ranges::greater{}, &Beam::score);
    if (finished.size() > beams) finished.resize(beams);
    if (next.empty()) break;
    running = std::move(next);
    if (finished.size() == beams && running[0].score / divisor <= finished.back().score) break;
  }
  Generated result;
  if (finished.empty()) return result;
  result.score = finished[0].score;
  result.tokens.assign(finished[0].tokens.begin() + static_cast<std::ptrdiff_t>(prompt.size()), finished[0].tokens.end());
  return result;
}

}  // namespace longreach::trainer
