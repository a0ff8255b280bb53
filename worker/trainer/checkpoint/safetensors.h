// Files of tensors in the safetensors format (proto/base/safetensors.h): reading what lies behind the header, and writing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/safetensors.h"
#include "proto/base/status.h"
#include "worker/data/mapped_file.h"

namespace longreach::trainer {

class SafetensorsFile {
 public:
  // NOT_FOUND, or DATA_LOSS with file and reason.
  static absl::StatusOr<SafetensorsFile> Read(const std::filesystem::path& file);
  // The same, with the tensors' bytes read as they are touched: for files as large as the memory. The file is not to be
  // changed meanwhile.
  static absl::StatusOr<SafetensorsFile> Map(const std::filesystem::path& file);

  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  std::string Metadata(const std::string& key) const { return header_.Metadata(key); }  // "" when there is none.
  const std::map<std::string, SafetensorsEntry>& entries() const { return header_.entries; }
  const SafetensorsEntry* Find(const std::string& name) const { return header_.Find(name); }

  // All tensors' bytes.
  std::string_view payload() const { return bytes().substr(header_.payload_begin); }
  // The values of a tensor, copied. INVALID_ARGUMENT: no such tensor, or of another type.
  absl::StatusOr<std::vector<float>> Floats(const std::string& name) const;      // F32.
  absl::StatusOr<std::vector<double>> Doubles(const std::string& name) const;    // F64.
  absl::StatusOr<std::vector<int32_t>> Integers(const std::string& name) const;  // I32.
  absl::StatusOr<std::vector<int64_t>> Longs(const std::string& name) const;        // I64.

 private:
  std::string_view bytes() const;

  std::string bytes_;
  std::shared_ptr<const data::MappedFile> mapped_;  // In place of bytes_.
  SafetensorsHeader header_;
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
