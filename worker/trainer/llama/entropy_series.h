// How each attention head's entropy goes with the position: what of it does not fit into measurements.
//
//   attention_entropy  F64 [layers, heads, bins]: nats, mean over the bin's positions and all windows
//   head_scale         F32 [layers, heads]: their factors on the logits, where they are not all 1
// Header: what BeginSeries() has, with the kind "attention_entropy"; metric; unit; length, in positions, of the windows, and bin_width
// of a bin, of which the first begins at position 0.
#pragma once

#include <string>

#include "worker/trainer/llama/study.h"
#include "worker/trainer/series.h"

namespace longreach::trainer {

// The settings have bins of positions.
Series EntropySeries(const PackSettings& settings, const StudyResult& studied, const std::string& job, int step);

}  // namespace longreach::trainer
