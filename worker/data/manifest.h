// What a data set consists of: manifest.json, the last file that an import writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/status.h"
#include "worker/data/image_set.h"
#include "worker/data/pair_set.h"

namespace longreach::data {

inline constexpr const char* kManifest = "manifest.json";

enum class Kind { kText, kImages, kTokens, kModel, kLongBench, kPairs };
std::string_view Word(Kind kind);  // "text", "images", "tokens", "model", "longbench", "pairs".

// Bytes of a corpus, or documents: [begin, end).
struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

struct FileEntry {
  std::string name;  // No folder in it.
  int64_t bytes = 0;
  std::string sha256;
};

struct ShardEntry {
  std::string file;
  int64_t images = 0;
};

struct Manifest {
  std::string name;
  Kind kind = Kind::kText;
  std::vector<FileEntry> files;

  // Text: consecutive ranges of its only file. Tokens: documents to train on, and behind them those to test on; one of the two may be
  // empty.
  ByteRange train, valid, test;

  // Tokens (token_corpus.h says how the files are laid out).
  int64_t vocabulary = 0;
  int64_t tokens = 0;
  // SHA-256 of the tokenizer.model that made them, empty where that is not known: they were packed, or an older build imported them. Not part
  // of the identity, which the tokens themselves are.
  std::string tokenizer;

  // A model: how its folder is described, and whether it has no positions, which its config.json may not say.
  std::string description;
  bool nope = false;

  // LongBench (longbench.h): of all tasks, each of which is a file.
  int64_t samples = 0;

  // Pairs (pair_set.h says how the files are laid out). Symbols by id: of both splits together, ascending by bytes.
  std::vector<std::string> input_symbols, output_symbols;
  std::vector<PairsOfLength> train_pairs, test_pairs;  // Ascending by length.
  // So many of the test inputs are inputs to train on, too. Not part of the identity: it follows from what is.
  int64_t test_inputs_in_training = 0;

  // Images.
  std::vector<std::string> classes;
  std::vector<ImageSize> sizes;
  std::string fit;  // How images became that size: "squash" or "crop".
  std::vector<ShardEntry> train_shards, valid_shards;

  // Where it came from; not part of its identity.
  std::string source;
  std::string imported_at;  // ISO 8601, UTC.
  std::string imported_by;  // The build.
  std::vector<std::string> skipped;  // What was left out, with the reason.

  int64_t bytes() const;
  // SHA-256 of all of the above but the name and where it came from. The same import of the same files has the same one.
  std::string Identity() const;
};

std::string ToJson(const Manifest& manifest);

// INVALID_ARGUMENT or DATA_LOSS with the field: not JSON, a field missing or out of range, files named twice or outside the
// data set's folder, ranges outside the file, an identity that its own content does not have.
absl::StatusOr<Manifest> ParseManifest(std::string_view json);

}  // namespace longreach::data
