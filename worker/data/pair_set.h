// Pairs of sequences, open for reading: inputs with the outputs that a model shall give to them, some to train on and some to test on.
//
//   train.pairs, test.pairs  where each pair ends, in symbols, 64 bits each; behind them the symbols of all pairs, 16 bits each: those of a
//                            pair's input, then those of its output. Pairs ascend by the length of their inputs; those of one length are
//                            in the order of the files that they came from.
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

namespace longreach::data {

inline constexpr const char* kTrainPairsFile = "train.pairs";
inline constexpr const char* kTestPairsFile = "test.pairs";
// Different ones: of inputs, and as many of outputs.
inline constexpr size_t kMaxSymbols = 4096;
// Of an input, and of an output.
inline constexpr int kMaxSequence = 65'536;

struct Pair {
  std::span<const uint16_t> input, output;  // Ids of symbols. Never empty.
};

struct PairsOfLength {
  int length = 0;           // Input symbols.
  int64_t pairs = 0;
  int shortest_output = 0;  // Output symbols.
  int longest_output = 0;
  friend bool operator==(const PairsOfLength&, const PairsOfLength&) = default;
};

// Whether outputs of one input length have different lengths, in one of the splits or between them. Then a model has to say where an output
// ends, by one more class behind the output symbols.
bool HasEnds(std::span<const PairsOfLength> train, std::span<const PairsOfLength> test);

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
  // `index` is in [0, pairs) of that length, which is among lengths(split). In the order of the files.
  Pair pair(Split split, int length, int64_t index) const;

 private:
  struct Part {
    MappedFile file;
    std::span<const uint64_t> ends;
    std::span<const uint16_t> symbols;
    std::vector<PairsOfLength> lengths;
    std::vector<int64_t> first;  // Of each length: which pair of all is its first.
  };

  PairSet() = default;
  static absl::StatusOr<Part> OpenPart(const std::filesystem::path& file, const std::string& name, const std::vector<PairsOfLength>& lengths);
  const Part& Of(Split split) const { return parts_[split == Split::kTrain ? 0 : 1]; }

  std::array<Part, 2> parts_;
  std::vector<std::string> input_symbols_, output_symbols_;
  bool has_ends_ = false;
};

}  // namespace longreach::data
