// Lines of pairs become a data set of pairs of sequences.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "proto/base/status.h"
#include "worker/data/manifest.h"
#include "worker/data/pair_lines.h"
#include "worker/data/progress.h"

namespace longreach::data {

struct PairImport {
  std::filesystem::path folder;  // The machine's data folder.
  std::string name;
  // As FindSourceFiles() takes them; each needs a pair.
  std::vector<std::filesystem::path> sources = {};       // To train on.
  std::vector<std::filesystem::path> test_sources = {};  // To test on.
  PairFormat format = {};
};

// Reads lines as ParsePair() does; those without a character are passed over. Memory grows with the number of pairs, by some 30 bytes each,
// and not with their lengths. What was left out of folders is all named in what is returned, and up to 1000 in the file.
//
// ALREADY_EXISTS; INVALID_ARGUMENT: no pair to train or to test on, more different symbols than can be, a line that is none, with file and
// line ("a.jsonl:12: ..."); errors of FindSourceFiles(); DATA_LOSS: a file was cut off meanwhile.
absl::StatusOr<Manifest> ImportPairs(const PairImport& wanted, Progress& progress);

}  // namespace longreach::data
