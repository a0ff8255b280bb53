// The fused engine for GPUs, behind the same door as the LibTorch engine: one block of threads trains one member, or several do, by kernels of
// our own (step_arguments.h) whose matrix products have operands of 16 bits. Tests of longer tapes are left to LibTorch.
#pragma once

#include <memory>
#include <string>

#include "worker/trainer/engine/engine.h"
#include "worker/trainer/resident/launcher.h"

namespace longreach::trainer {

// What the kernels do not know of these settings: "encoding relative". Empty: they can train them.
std::string WhyNotResident(const PackSettings& settings);

// The settings can be trained by the kernels (WhyNotResident).
std::unique_ptr<StepEngine> MakeResidentEngine(const PackSettings& settings, const EngineOptions& options, resident::Launcher launcher);

}  // namespace longreach::trainer
