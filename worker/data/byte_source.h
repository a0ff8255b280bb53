// Where a text comes from: files one after the other, or what a zip archive holds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "proto/base/status.h"

namespace longreach::data {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Bytes in all.
  virtual int64_t size() const = 0;
  // The next bytes; 0 once size() have been read. DATA_LOSS when there are fewer or more than that, or they are damaged.
  virtual absl::StatusOr<size_t> Read(std::span<char> to) = 0;
  // Leaves out bytes that were read by an import before this one.
  virtual absl::Status Skip(int64_t bytes) = 0;
  // Changes when a file does (its size or time), so that an interrupted import is not continued with other bytes.
  const std::string& fingerprint() const { return fingerprint_; }
  // As SourceFiles has it.
  const std::vector<std::string>& left_out() const { return left_out_; }

 protected:
  std::string fingerprint_;
  std::vector<std::string> left_out_;
};

// One zip archive with one file in it; or files, and folders whose text files are taken, as FindSourceFiles() finds them.
//
// Errors of FindSourceFiles(); INVALID_ARGUMENT: an archive and something else, or not one file in it; DATA_LOSS: an archive that is cut off.
absl::StatusOr<std::unique_ptr<ByteSource>> OpenSource(const std::vector<std::filesystem::path>& paths);

// zip_source.cc
absl::StatusOr<std::unique_ptr<ByteSource>> OpenZip(const std::filesystem::path& file);

// "PATH size time", for fingerprints. Errors: as stat().
absl::StatusOr<std::string> FingerprintOf(const std::filesystem::path& file);

}  // namespace longreach::data
