// All that the trainer uses of LibTorch: the precompiled header of this library. Internal to worker/trainer.
#pragma once

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>
#include <torch/utils.h>

namespace longreach::trainer {

using torch::Tensor;

}  // namespace longreach::trainer
