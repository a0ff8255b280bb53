// What a Transformer of blocks reads and chooses from, of all experiment kinds whose model is the encoder or its decoder. Without torch.
#pragma once

#include "worker/trainer/train.h"

namespace longreach::trainer {

struct Vocabulary {
  int inputs = 0;   // Tokens of inputs.
  int read = 0;     // Of all that is read, but the one whose id it is: of empty output positions, or of the begin of a decoder's outputs.
  int classes = 0;  // Output y is the token `inputs` + y where outputs are read.
};

// The settings have been validated. Of pairs of sequences whose data set has not been looked at: what a stand-in has.
Vocabulary VocabularyOf(const PackSettings& settings);

// Symbols of inputs and of outputs where a data set of pairs has not been looked at: for plans and for measuring speed.
inline constexpr int kStandInSymbols = 32;

}  // namespace longreach::trainer
