// What decoders for algorithmic tasks and pairs of sequences (model.causal) measure otherwise than encoders, in the words that tables and comparisons have for it.
#pragma once

#include <string>
#include <string_view>

#include "proto/catalog/catalog.h"

namespace longreach::catalog {

// Decoders predict each output of such a task from the true ones before it, where encoders have none of them. Of pairs only their data set knows: most have several.
inline bool HasSeveralOutputs(std::string_view task) {
  if (const Task* const known = FindTask(task)) return known->output_length != OutputLength::kSingle;
  const DataTask* const of_data = FindDataTask(task);
  return of_data != nullptr && of_data->experiment == "sequences";
}

inline bool IsOfTrueOutputs(std::string_view metric) { return metric == "accuracy" || metric == "loss" || metric == "output_accuracy"; }

inline std::string WhyDecodersDoNotCompare(std::string_view metric) {
  return std::string(metric) + " of decoders (model.causal: true) is of outputs that are each predicted from the true ones before it, that of encoders is not: of tasks "
                               "with several outputs they do not compare";
}

}  // namespace longreach::catalog
