// The fused engine for CPUs, behind the same door as the LibTorch engine: the same model, batches, masks and update, by
// kernels of our own (kernels.h).
#pragma once

#include <memory>
#include <string>

#include "worker/trainer/engine/engine.h"
#include "worker/trainer/lanes/kernels.h"

namespace longreach::trainer {

// What the kernels do not know of these settings: "encoding relative". Empty: they can train them.
std::string WhyNotLanes(const PackSettings& settings, const EngineOptions& options);

// The settings can be trained by kernels (WhyNotLanes), which the machine can run.
std::unique_ptr<StepEngine> MakeLanesEngine(const PackSettings& settings, const EngineOptions& options, const lanes::Kernels& kernels);

}  // namespace longreach::trainer
