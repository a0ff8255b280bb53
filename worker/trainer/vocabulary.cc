#include "worker/trainer/vocabulary.h"

#include "proto/catalog/catalog.h"
#include "worker/trainer/pair_shape.h"

namespace longreach::trainer {

Vocabulary VocabularyOf(const PackSettings& settings) {
  const bool causal = settings.model.causal;
  if (settings.experiment == "sequences") {
    const PairShape* const pairs = settings.model.pairs.get();
    const int inputs = pairs == nullptr ? kStandInSymbols : pairs->input_symbols, classes = pairs == nullptr ? kStandInSymbols : pairs->Classes();
    return {.inputs = inputs, .read = inputs + (causal ? classes : 0), .classes = classes};
  }
  if (const catalog::Task* task = catalog::FindTask(settings.task)) {
    return {.inputs = task->input_vocabulary, .read = task->TokensRead(causal), .classes = task->output_vocabulary};
  }
  const catalog::DataTask* task = catalog::FindDataTask(settings.task);
  if (task == nullptr) return {};
  return {.inputs = task->input_vocabulary, .read = task->input_vocabulary, .classes = task->output_vocabulary};
}

}  // namespace longreach::trainer
