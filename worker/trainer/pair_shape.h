// What a data set of pairs of sequences says of the models that read it. Without torch and without the data.
#pragma once

#include <map>
#include <string>

namespace longreach::trainer {

struct PairShape {
  int input_symbols = 0;
  int output_symbols = 0;
  std::string symbols_sha256 = {};  // Of which they are, in their order. Empty: not known.
  // Outputs of one input length differ in theirs: behind each of the set stands an end, which is a class of its own, the last one.
  bool ends = false;
  // By input length: output tokens, with room for an end behind the longest.
  std::map<int, int> outputs;

  int Classes() const { return output_symbols + (ends ? 1 : 0); }
  friend bool operator==(const PairShape&, const PairShape&) = default;
};

}  // namespace longreach::trainer
