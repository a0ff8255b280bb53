// The safetensors format: a header of JSON, then the tensors' bytes. Files are not trusted: a header that
// does not fit its file is refused with what is wrong. Source: github.com/huggingface/safetensors, README,
// section Format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/status.h"
#include "worker/data/mapped_file.h"

namespace longreach::trainer {

struct SafetensorsEntry {
  std::string dtype;  // "F32", "F64", "I32", ...
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // In bytes of the payload.
  uint64_t end = 0;

  int64_t count() const;
};

class SafetensorsFile {
 public:
  // NOT_FOUND, or DATA_LOSS with file and reason.
  static absl::StatusOr<SafetensorsFile> Read(const std::filesystem::path& file);
  // The same, with the tensors' bytes read as they are touched: for files as large as the memory. The file is not to be
  // changed meanwhile.
  static absl::StatusOr<SafetensorsFile> Map(const std::filesystem::path& file);

  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  std::string Metadata(const std::string& key) const;  // "" when there is none.
  const std::map<std::string, SafetensorsEntry>& entries() const { return entries_; }
  const SafetensorsEntry* Find(const std::string& name) const;

  // All tensors' bytes.
  std::string_view payload() const { return bytes().substr(payload_begin_); }
  // The values of a tensor, copied. INVALID_ARGUMENT: no such tensor, or of another type.
  absl::StatusOr<std::vector<float>> Floats(const std::string& name) const;      // F32.
  absl::StatusOr<std::vector<double>> Doubles(const std::string& name) const;    // F64.
  absl::StatusOr<std::vector<int32_t>> Integers(const std::string& name) const;  // I32.
  absl::StatusOr<std::vector<int64_t>> Longs(const std::string& name) const;        // I64.

 private:
  std::string_view bytes() const;
  // Of the bytes that are there.
  absl::Status Parse();
  absl::Status ParseHeader(std::string_view header);

  std::string bytes_;
  std::shared_ptr<const data::MappedFile> mapped_;  // In place of bytes_.
  size_t payload_begin_ = 0;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, SafetensorsEntry> entries_;
};

struct SafetensorsPart {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  std::string_view bytes;  // Borrowed until the file is written.
};

// Writes beside, syncs, renames, syncs the folder: `file` is there whole or not at all.
absl::Status WriteSafetensors(const std::filesystem::path& file,
                              const std::map<std::string, std::string>& metadata,
                              std::span<const SafetensorsPart> parts);

}  // namespace longreach::trainer
