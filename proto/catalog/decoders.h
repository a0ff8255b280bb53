// What decoders for algorithmic tasks (model.causal) measure otherwise than encoders, in the words that tables and comparisons have for it.
#pragma once

#include <string>
#include <string_view>

#include "proto/catalog/catalog.h"

namespace longreach::catalog {

// Decoders predict each output of such a task from the true ones before it, where encoders have none of them.
inline bool HasSeveralOutputs(std::string_view task) {
  const Task* const known = FindTask(task);
  return known != nullptr && known->output_length != OutputLength::kSingle;
}

inline bool IsOfTrueOutputs(std::string_view metric) { return metric == "accuracy" || metric == "loss"; }

inline std::string WhyDecodersDoNotCompare(std::string_view metric) {
  return std::string(metric) + " of decoders (model.causal: true) is of outputs that are each predicted from the true ones before it, that of encoders is not: of tasks "
                               "with several outputs they do not compare";
}

}  // namespace longreach::catalog
