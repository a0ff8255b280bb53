// Of the last layer only the last `outputs` positions of each sequence are asked for. What a layer makes of tokens that are asked for lies in
// rows one after the other, sequence by sequence; where all are asked for, these are the tokens.
#pragma once

#include "worker/trainer/resident/warp.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

struct AskedRows {
  int tape, outputs;

  LONGREACH_DEVICE bool All() const { return outputs == tape; }
  LONGREACH_DEVICE int FirstPosition() const { return tape - outputs; }
  LONGREACH_DEVICE int TokenOf(int row) const { return All() ? row : row / outputs * tape + FirstPosition() + row % outputs; }
};

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
