// A corpus of tokens, open for reading: documents of ids, some to train on and, behind them, some to test on.
//
//   tokens.bin     the ids, 16 bits each, document after document
//   documents.bin  where each document ends, in tokens, 64 bits each
//
// All numbers are little-endian.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "proto/base/status.h"
#include "worker/data/mapped_file.h"

namespace longreach::data {

inline constexpr const char* kTokensFile = "tokens.bin";
inline constexpr const char* kDocumentsFile = "documents.bin";
// Ids have 16 bits.
inline constexpr int64_t kMaxVocabulary = 1 << 16;

// Read-only and shared freely between threads; spans live as long as the object (or one it was moved to).
class TokenCorpus {
 public:
  // As TextCorpus::Open(). DATA_LOSS also: documents that do not follow each other.
  static absl::StatusOr<TokenCorpus> Open(const std::filesystem::path& folder, const std::string& name, const std::string& sha256);

  // Ids are below it.
  int64_t vocabulary() const { return vocabulary_; }
  // As Manifest::tokenizer.
  const std::string& tokenizer() const { return tokenizer_; }
  // All documents to train on, one behind the other.
  std::span<const uint16_t> train() const;
  int64_t test_documents() const { return static_cast<int64_t>(ends_.size()) - first_test_; }
  // `index` is in [0, test_documents()). Never empty.
  std::span<const uint16_t> test(int64_t index) const;

 private:
  TokenCorpus() = default;
  // Where document `index` of all begins.
  size_t Begin(int64_t index) const { return index == 0 ? 0 : static_cast<size_t>(ends_[static_cast<size_t>(index - 1)]); }

  MappedFile tokens_file_, documents_file_;
  std::span<const uint16_t> tokens_;
  std::span<const uint64_t> ends_;
  int64_t first_test_ = 0;
  int64_t vocabulary_ = 0;
  std::string tokenizer_;
};

}  // namespace longreach::data
