#include "client/commands/words_elsewhere.h"

#include <algorithm>
#include <iterator>

namespace longreach::client {
namespace {

struct WordElsewhere {
  WordOf of;
  std::string_view word, meant;
};

// Aggregates of data frames, metrics of trainers and papers, states of batch systems and of trackers of experiments.
constexpr WordElsewhere kWordsElsewhere[] = {
    {WordOf::kAggregate, "average", "mean"},
    {WordOf::kAggregate, "avg", "mean"},
    {WordOf::kMetric, "bpc", "bits_per_byte"},
    {WordOf::kMetric, "ce", "loss"},
    {WordOf::kMetric, "em", "exact_match"},
    {WordOf::kMetric, "eval_loss", "loss"},
    {WordOf::kMetric, "nll", "loss"},
    {WordOf::kMetric, "ppl", "perplexity"},
    {WordOf::kMetric, "test_loss", "loss"},
    {WordOf::kMetric, "top1", "accuracy"},
    {WordOf::kMetric, "val_loss", "loss"},
    {WordOf::kMetric, "validation_loss", "loss"},
    {WordOf::kState, "completed", "succeeded"},
    {WordOf::kState, "crashed", "failed"},
    {WordOf::kState, "done", "succeeded"},
    {WordOf::kState, "error", "failed"},
    {WordOf::kState, "finished", "succeeded"},
    {WordOf::kState, "nan", "diverged"},
    {WordOf::kState, "pending", "queued"},
};

}  // namespace

std::string_view MeantElsewhere(WordOf of, std::string_view word) {
  const auto found = std::ranges::find_if(kWordsElsewhere, [of, word](const WordElsewhere& one) { return one.of == of && one.word == word; });
  return found == std::end(kWordsElsewhere) ? std::string_view() : found->meant;
}

}  // namespace longreach::client
