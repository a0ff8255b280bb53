// Texts become a corpus of tokens: by a tokenizer, or as packed files that hold them already.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "proto/base/status.h"
#include "worker/data/manifest.h"
#include "worker/data/progress.h"
#include "worker/tokenizer/tokenizer.h"

namespace longreach::data {

struct TokenImport {
  std::filesystem::path folder;  // The machine's data folder.
  std::string name;
  std::vector<std::filesystem::path> sources = {};       // As DocumentFiles() takes them.
  std::vector<std::filesystem::path> test_sources = {};  // Documents to test on; then `sources` are all for training.
  // Else: per cent of the tokens for training and test, cut between two documents; they add up to 100.
  std::array<int, 2> split = {90, 10};
  std::string text_field = "text";
  // SHA-256 of the tokenizer.model that the tokenizer reads; empty where there is none.
  std::string tokenizer_sha256 = {};
  // Ids of the models that shall read it. 0: those of the tokenizer.
  int64_t vocabulary = 0;
};

// A document to train on is its ids and EOS; one to test on, BOS and its ids: as LLaMA-type models are pretrained and as papers test
// them. A packed file is one document as it is. Empty texts are left out, and counted. `tokenizer` may be null where all sources are packed.
// What was left out of folders is all named in what is returned, and up to 1000 in the file.
//
// ALREADY_EXISTS; INVALID_ARGUMENT: nothing to train or test on, too few documents to split, an id beyond the vocabulary, a vocabulary
// of more than 16 bits, text without a tokenizer; errors of DocumentFiles(), VisitDocuments() and the tokenizer.
absl::StatusOr<Manifest> ImportTokens(const TokenImport& wanted, tokenizer::Tokenizer* tokenizer, Progress& progress);

}  // namespace longreach::data
