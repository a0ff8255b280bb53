// Pairs of sequences, open for reading: inputs with the outputs that a model shall give to them, some to train on and some to test on.
//
//   train.pairs, test.pairs  where each pair ends, in symbols, 64 bits each; behind them the symbols of all pairs, 16 bits each: those of a
//                            pair's input, then those of its output. Pairs ascend by the length of their inputs; those of one length are
//                            in the order of the files that they came from.
//   train.positions, test.positions  where the files gave positions: those of all pairs in the same order, 16 bits each; of a pair one for each of its
//                            symbols, and one for what is behind its output.
//
// All numbers are little-endian. How many pairs there are of each length, and what the symbols are, the manifest says.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "proto/base/status.h"
#include "worker/data/mapped_file.h"
#include "worker/data/pair_lengths.h"

namespace longreach::data {

inline constexpr const char* kTrainPairsFile = "train.pairs";
inline constexpr const char* kTestPairsFile = "test.pairs";
inline constexpr const char* kTrainPositionsFile = "train.positions";
inline constexpr const char* kTestPositionsFile = "test.positions";
// Different ones: of inputs, and as many of outputs.
inline constexpr size_t kMaxSymbols = 4096;
// Of an input, and of an output.
inline constexpr int kMaxSequence = 65'536;
// The highest position that files can give.
inline constexpr int kMaxGivenPosition = 65'535;

struct Pair {
  std::span<const uint16_t> input, output;  // Ids of symbols. Never empty.
  // Of each symbol of both, and of what is behind the output; empty: the data set has none.
  std::span<const uint16_t> positions;
};

// Read-only and shared freely between threads; spans live as long as the object (or one it was moved to).
class PairSet {
 public:
  enum class Split { kTrain, kTest };

  // As TokenCorpus::Open(). DATA_LOSS also: pairs that do not follow each other, or have other lengths than the manifest says.
  static absl::StatusOr<PairSet> Open(const std::filesystem::path& folder, const std::string& name, const std::string& sha256);

  // By id. Of both splits together, ascending by bytes.
  const std::vector<std::string>& input_symbols() const { return input_symbols_; }
  const std::vector<std::string>& output_symbols() const { return output_symbols_; }
  // Ascending by length; a length without pairs is not there. Never empty.
  const std::vector<PairsOfLength>& lengths(Split split) const { return Of(split).lengths; }
  // HasEnds() of its lengths.
  bool has_ends() const { return has_ends_; }
  // Whether its pairs say where their symbols stand.
  bool has_positions() const { return !parts_[0].positions.empty(); }
  // `index` is in [0, pairs) of that length, which is among lengths(split). In the order of the files.
  Pair pair(Split split, int length, int64_t index) const;

 private:
  struct Part {
    MappedFile file;
    std::span<const uint64_t> ends;
    std::span<const uint16_t> symbols;
    MappedFile positions_file;
    std::span<const uint16_t> positions;
    std::vector<PairsOfLength> lengths;
    std::vector<int64_t> first;  // Of each length: which pair of all is its first.
  };

  PairSet() = default;
  static absl::StatusOr<Part> OpenPart(const std::filesystem::path& file, const std::filesystem::path& positions, const std::string& name,
                                       const std::vector<PairsOfLength>& lengths);
  const Part& Of(Split split) const { return parts_[split == Split::kTrain ? 0 : 1]; }

  std::array<Part, 2> parts_;
  std::vector<std::string> input_symbols_, output_symbols_;
  bool has_ends_ = false;
};

}  // namespace longreach::data
