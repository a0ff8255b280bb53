#include "worker/trainer/checkpoint/safetensors.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <nlohmann/json.hpp>

#include "proto/base/file_to_read.h"
#include "proto/base/text.h"

namespace longreach::trainer {

namespace {

// RESOURCE_EXHAUSTED when there is no space, whatever was asked for; else `code`.
absl::Status Errno(absl::StatusCode code, std::string_view what, const std::filesystem::path& file) {
  const int error = errno;
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) code = absl::StatusCode::kResourceExhausted;
  return {code, Text("cannot ", what, " ", file.string(), ": ", std::strerror(error))};
}

// Closes a descriptor at the end of a scope.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

absl::Status WriteAll(int fd, std::string_view bytes, const std::filesystem::path& file) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return Errno(absl::StatusCode::kUnavailable, "write", file);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

// The length of a header, and the header.
std::string HeaderOf(const std::map<std::string, std::string>& metadata, std::span<const SafetensorsPart> parts) {
  nlohmann::json json = nlohmann::json::object();
  if (!metadata.empty()) json["__metadata__"] = metadata;
  uint64_t end = 0;
  for (const SafetensorsPart& part : parts) {
    json[part.name] = {
        {"dtype", part.dtype}, {"shape", part.shape}, {"data_offsets", {end, end + part.bytes.size}}};
    end += part.bytes.size;
  }
  std::string header = json.dump();
  header.append((8 - header.size() % 8) % 8, ' ');
  std::string length(kSafetensorsLengthBytes, '\0');
  for (size_t i = 0; i < kSafetensorsLengthBytes; ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return length + header;
}

absl::Status WriteSynced(const std::filesystem::path& file, std::string_view header, std::span<const SafetensorsPart> parts) {
  const Descriptor descriptor{::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0644)};
  if (descriptor.fd < 0) return Errno(absl::StatusCode::kUnavailable, "create", file);
  const auto write = [&](std::string_view bytes) { return WriteAll(descriptor.fd, bytes, file); };
  RETURN_IF_ERROR(write(header));
  for (const SafetensorsPart& part : parts) RETURN_IF_ERROR(part.GiveTo(write));
  return ::fsync(descriptor.fd) == 0 ? absl::OkStatus() : Errno(absl::StatusCode::kUnavailable, "sync", file);
}

// Removes a file at the end of a scope unless it has got its name, also when a piece of it was thrown instead of given.
struct Unfinished {
  const std::filesystem::path& file;
  bool renamed = false;
  ~Unfinished() {
    if (!renamed) ::unlink(file.c_str());
  }
};

absl::Status SyncFolder(const std::filesystem::path& folder) {
  const Descriptor descriptor{
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (descriptor.fd < 0 || ::fsync(descriptor.fd) != 0) {
    return Errno(absl::StatusCode::kUnavailable, "sync", folder);
  }
  return absl::OkStatus();
}

template <typename T>
absl::StatusOr<std::vector<T>> Values(const SafetensorsFile& file, const std::string& name,
                                      std::string_view dtype) {
  const SafetensorsEntry* entry = file.Find(name);
  if (entry == nullptr) return absl::InvalidArgumentError(Text("there is no tensor '", name, "'"));
  if (entry->dtype != dtype) {
    return absl::InvalidArgumentError(Text("tensor '", name, "' is of type ", entry->dtype, ", not ", dtype));
  }
  std::vector<T> values(static_cast<size_t>(entry->count()));
  RETURN_IF_ERROR(file.Read(entry->begin, {reinterpret_cast<char*>(values.data()), values.size() * sizeof(T)}));
  return values;
}

}  // namespace

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::filesystem::path& file) {
  ASSIGN_OR_RETURN(const FileToRead opened, FileToRead::Open(file));
  SafetensorsFile result;
  result.file_ = file;
  result.file_bytes_ = opened.bytes();
  ASSIGN_OR_RETURN(result.header_, SafetensorsHeader::ReadFrom(opened));
  return result;
}

absl::Status SafetensorsFile::Read(uint64_t begin, std::span<char> to) const {
  if (to.empty()) return absl::OkStatus();
  // Opened anew each time: a pack may go on from as many files as it has members, and a process have fewer open.
  ASSIGN_OR_RETURN(const FileToRead opened, FileToRead::Open(file_));
  return opened.Read(header_.payload_begin + begin, to);
}

absl::Status SafetensorsFile::Give(uint64_t begin, uint64_t end, const TakeBytes& take) const {
  constexpr uint64_t kPiece = 1 << 20;
  ASSIGN_OR_RETURN(const FileToRead opened, FileToRead::Open(file_));
  std::vector<char> piece;
  for (; begin < end; begin += piece.size()) {
    piece.resize(static_cast<size_t>(std::min(kPiece, end - begin)));
    RETURN_IF_ERROR(opened.Read(header_.payload_begin + begin, piece));
    RETURN_IF_ERROR(take({piece.data(), piece.size()}));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> SafetensorsFile::Floats(const std::string& name) const {
  return Values<float>(*this, name, "F32");
}
absl::StatusOr<std::vector<double>> SafetensorsFile::Doubles(const std::string& name) const {
  return Values<double>(*this, name, "F64");
}
absl::StatusOr<std::vector<int32_t>> SafetensorsFile::Integers(const std::string& name) const {
  return Values<int32_t>(*this, name, "I32");
}
absl::StatusOr<std::vector<int64_t>> SafetensorsFile::Longs(const std::string& name) const {
  return Values<int64_t>(*this, name, "I64");
}

TensorBytes::TensorBytes(std::string_view there) : TensorBytes(there.size(), [there](const TakeBytes& take) { return take(there); }) {}

absl::Status SafetensorsPart::GiveTo(const TakeBytes& take) const {
  uint64_t given = 0;
  const auto wrong = [&](std::string_view what) {
    return absl::InternalError(Text("tensor '", name, "' of ", bytes.size, " bytes: ", what));
  };
  const auto counted = [&](std::string_view piece) -> absl::Status {
    // Not handed on: in a file it would be taken for the next tensor.
    if (piece.size() > bytes.size - given) return wrong("its pieces are more");
    given += piece.size();
    return take(piece);
  };
  if (bytes.give) RETURN_IF_ERROR(bytes.give(counted));
  return given == bytes.size ? absl::OkStatus() : wrong(Text("its pieces are ", given));
}

absl::Status WriteSafetensors(const std::filesystem::path& file,
                              const std::map<std::string, std::string>& metadata,
                              std::span<const SafetensorsPart> parts) {
  std::filesystem::path beside = file;
  beside += ".part";
  Unfinished unfinished{beside};
  RETURN_IF_ERROR(WriteSynced(beside, HeaderOf(metadata, parts), parts));
  if (::rename(beside.c_str(), file.c_str()) != 0) return Errno(absl::StatusCode::kUnavailable, "rename", beside);
  unfinished.renamed = true;
  return SyncFolder(file.parent_path());
}

}  // namespace longreach::trainer
