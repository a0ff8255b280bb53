// What sweeps of the kind "llama" are refused for, group by group of their settings.
#pragma once

#include <string_view>

#include "scheduler/experiments/data_kind.h"

namespace longreach::experiments {

// The task of published models.
inline constexpr std::string_view kTokensTask = "tokens";
// Passkey prompts whose depths are drawn.
inline constexpr std::string_view kLandmarkPrompts = "landmark";

// The sizes of a folder's model are its own; a sweep may say them, for a plan to count with.
void CheckFolder(const v1::SweepSpec& sweep, Checks& checks);
// A scale that depends on the position of a query, which no training knows.
void CheckScaleByPosition(const v1::Model& model, const v1::Training& training, Checks& checks);
void CheckTuning(const v1::Training& training, Checks& checks);
// `folder`: of a published model, which reads tokens.
void CheckTests(const v1::Evaluation& evaluation, bool folder, Checks& checks);

}  // namespace longreach::experiments
