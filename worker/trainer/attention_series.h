// Where a trained model looks: for each layer over the tape one matrix, the maximum over its heads.
//
//   attention/N  F32 [layers, T, T]: what each query (row) pays to each key, at length N
//   tokens/N     I32 [T]: the sequence, the first of the test set of that length
//   positions/N  I32 [T], or [layers, T] where each layer draws its own: of encodings that are given positions
// Header: what BeginSeries() has, with the kind "attention"; heads.
//
// Always by LibTorch on the CPU, whatever engine and device trained the model.
#pragma once

#include <functional>
#include <string>

#include "worker/trainer/problems/problem.h"
#include "worker/trainer/series.h"

namespace longreach::trainer {

// The matrices of the first sequence of a batch, [layers, T, T]. Parameters and positions are on the CPU, without a pack axis.
Tensor AttentionOf(const Model& model, const ParameterSet& parameters, const Batch& batch, const std::function<void()>& between);

// Computes what the file of one member holds from its parameters, [stride]. `between` is called after each layer and may throw to break off.
Series ComputeAttentionSeries(const PackSettings& settings, const Problem& problem, const Tensor& parameters, const std::string& job, int step,
                              const std::function<void()>& between);

}  // namespace longreach::trainer
