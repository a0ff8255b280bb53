// Files of tensors in the safetensors format (proto/base/safetensors.h): reading what lies behind the header, and writing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

// Takes some bytes, which are there until it returns.
using TakeBytes = std::function<absl::Status(std::string_view piece)>;

// A tensor's bytes, which need not be in memory all at once.
struct TensorBytes {
  // Hands them to `take` from the first to the last, in pieces, and ends with what that fails with. Asked again, as a hash is known before a
  // file is written, it gives the same once more.
  using Give = std::function<absl::Status(const TakeBytes& take)>;

  TensorBytes() = default;
  // Those that are there, borrowed until the file is written.
  TensorBytes(std::string_view there);  // NOLINT: meant to be implicit.
  TensorBytes(uint64_t bytes, Give pieces) : size(bytes), give(std::move(pieces)) {}

  uint64_t size = 0;
  Give give;
};

struct SafetensorsPart {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  TensorBytes bytes;

  // All of them, piece by piece. What `take` fails with; INTERNAL: the pieces are more or fewer bytes than there should be.
  absl::Status GiveTo(const TakeBytes& take) const;
};

// Writes beside, syncs, renames, syncs the folder: `file` is there whole or not at all, also where a piece cannot be had (INTERNAL, or whatever
// is thrown).
absl::Status WriteSafetensors(const std::filesystem::path& file,
                              const std::map<std::string, std::string>& metadata,
                              std::span<const SafetensorsPart> parts);

}  // namespace longreach::trainer
