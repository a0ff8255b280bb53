// What the kinds "algorithmic" and "sequences" have in common: their model reads an input of symbols and gives a symbol at each place of an output behind it.
// It is an encoder, or with model.causal a decoder.
#pragma once

#include <algorithm>
#include <cstdint>

#include "scheduler/experiments/registry.h"
#include "scheduler/experiments/transformer.h"

namespace longreach::experiments {

// The defaults of both, but for lengths and evaluation.examples, which are a kind's own.
v1::JobSpec SequenceModelDefaults();

// model.norm, model.length_scaling and the learning rate's way. `settings` are the sweep's with defaults filled in.
void CheckSequenceModel(const v1::SweepSpec& sweep, const Settings& settings, Checks& checks);
// Behind CompleteSettings(): takes away what says nothing.
void CompleteSequenceModel(v1::JobSpec& job);
// Refuses what tells the sides of a query apart, where a decoder sees but one of them.
void CheckSides(const Settings& settings, Checks& checks);
// Behind CheckWeightsInput(): that both jobs' models are of one make. Both are complete.
void CheckSameMake(const v1::Input& input, const v1::JobSpec& maker, const v1::JobSpec& job, std::string_view prefix, Checks& checks);

// Values of output_accuracy, at so many outputs of each of evaluation.output_lengths and over these lengths.
template <typename Outputs>
int64_t OutputValues(const v1::Evaluation& evaluation, const Outputs& outputs_of) {
  int64_t values = 0, longest = 0;
  for (const int length : evaluation.output_lengths()) {
    const int64_t outputs = outputs_of(length);
    values += outputs;
    longest = std::max(longest, outputs);
  }
  return values + longest;
}

// How many symbols a model has.
struct SymbolCounts {
  int read = 0;   // Those that it reads, the empty place's (of an encoder) or the begin's (of a decoder) among them.
  int given = 0;  // Those that it chooses an output from.
};

// FLOP of the matrix products of one forward pass of one sequence: chomsky section 9 in the catalog's terms, the same
// as longreach::trainer::MatmulFlops() without its factors for the batch and for backward.
double SequenceForwardFlops(const v1::Model& model, const SymbolCounts& symbols, double tape);
// All numbers that are trained, but for the encoding's.
double SequenceParameters(const v1::Model& model, const SymbolCounts& symbols);
// The longest tapes of training and of tests; 0: there is none.
struct LongestTapes {
  int64_t trained = 0;
  int64_t tested = 0;
};
// Sizes of a complete job, and FIRE's tables of pairs as the fast engine for CPUs has them.
void SetSequenceSizes(const v1::JobSpec& job, const SymbolCounts& symbols, const LongestTapes& longest, Cost& cost);

}  // namespace longreach::experiments
