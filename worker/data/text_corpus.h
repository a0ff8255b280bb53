// A text corpus, open for reading: the bytes of each split.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "proto/base/status.h"
#include "worker/data/mapped_file.h"

namespace longreach::data {

// Read-only and shared freely between threads; spans live as long as the object (or one it was moved to).
class TextCorpus {
 public:
  // Opens the data set `name` of the data folder. `sha256` is the data set's identity, which a job's lease names; empty: that
  // which is there.
  //
  // Cheap: the manifest and the file's size are checked, and its bytes only where it was written after its import. VerifiedData reads all of them before a job does.
  // NOT_FOUND: no such data set. FAILED_PRECONDITION: other bytes under the name. INVALID_ARGUMENT: not a text corpus. DATA_LOSS: damaged.
  static absl::StatusOr<TextCorpus> Open(const std::filesystem::path& folder, const std::string& name, const std::string& sha256);

  // Never empty.
  std::span<const uint8_t> train() const { return train_; }
  std::span<const uint8_t> valid() const { return valid_; }
  std::span<const uint8_t> test() const { return test_; }
  const std::string& sha256() const { return sha256_; }

 private:
  TextCorpus() = default;

  MappedFile file_;
  std::span<const uint8_t> train_, valid_, test_;
  std::string sha256_;
};

}  // namespace longreach::data
