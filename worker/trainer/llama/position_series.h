// What goes with the position and does not fit into measurements: the entropy of each attention head, and the losses at scales that were tried.
//
//   attention_entropy  F64 [layers, heads, bins]: nats, mean over the bin's positions and all windows
//   head_scale         F32 [layers, heads]: their factors on the logits, where they are not all 1
//   position_loss      F64 [scales, bins]: nats, as those, with one factor on all heads instead of their own; where scales were tried
//   attention_scale    F64 [scales]: those factors, ascending
// Header: what BeginSeries() has, with the kind "attention_entropy"; metric; unit; length, in positions, of the windows, and bin_width
// of a bin, of which the first begins at position 0.
#pragma once

#include <string>

#include "worker/trainer/llama/study.h"
#include "worker/trainer/series.h"

namespace longreach::trainer {

// The settings have bins of positions.
Series PositionSeries(const PackSettings& settings, const StudyResult& studied, const std::string& job, int step);

}  // namespace longreach::trainer
