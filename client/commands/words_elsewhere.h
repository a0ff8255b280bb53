// What other programs and papers call a value that has another name here, where no letters of its name would lead to it. Those of tasks and encodings,
// which the scheduler takes too, are in proto/catalog/other_names.def.
#pragma once

#include <string_view>

namespace longreach::client {

enum class WordOf { kAggregate, kMetric, kState };

// "loss" of the metric "val_loss"; empty: the word is not known elsewhere, or is ours.
std::string_view MeantElsewhere(WordOf of, std::string_view word);

}  // namespace longreach::client
