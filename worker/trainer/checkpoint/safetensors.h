// Files of tensors in the safetensors format (proto/base/safetensors.h): reading what lies behind the header, and writing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/base/safetensors.h"
#include "proto/base/status.h"

namespace longreach::trainer {

// Takes some bytes, which are there until it returns.
using TakeBytes = std::function<absl::Status(std::string_view piece)>;

// One that lies on disk: its tensors' bytes are read when they are asked for, and are not kept, as such files are as large as the memory. Where
// they cannot be read (FileToRead), another checkpoint will do. The file is not to be changed meanwhile.
class SafetensorsFile {
 public:
  // Reads the header. NOT_FOUND, or DATA_LOSS with file and reason.
  static absl::StatusOr<SafetensorsFile> Open(const std::filesystem::path& file);

  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  std::string Metadata(const std::string& key) const { return header_.Metadata(key); }  // "" when there is none.
  const std::map<std::string, SafetensorsEntry>& entries() const { return header_.entries; }
  const SafetensorsEntry* Find(const std::string& name) const { return header_.Find(name); }

  // Of all tensors.
  uint64_t payload_bytes() const { return file_bytes_ - header_.payload_begin; }
  // Bytes of the payload, from `begin` on, which it has. NOT_FOUND, or DATA_LOSS with file and reason: they cannot be read.
  absl::Status Read(uint64_t begin, std::span<char> to) const;
  // The same up to `end`, piece by piece, or what `take` fails with.
  absl::Status Give(uint64_t begin, uint64_t end, const TakeBytes& take) const;
  // The values of a tensor. INVALID_ARGUMENT: no such tensor, or of another type. Else as Read().
  absl::StatusOr<std::vector<float>> Floats(const std::string& name) const;      // F32.
  absl::StatusOr<std::vector<double>> Doubles(const std::string& name) const;    // F64.
  absl::StatusOr<std::vector<int32_t>> Integers(const std::string& name) const;  // I32.
  absl::StatusOr<std::vector<int64_t>> Longs(const std::string& name) const;     // I64.

 private:
  std::filesystem::path file_;
  uint64_t file_bytes_ = 0;
  SafetensorsHeader header_;
};

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
