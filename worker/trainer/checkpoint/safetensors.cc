#include "worker/trainer/checkpoint/safetensors.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>

#include <nlohmann/json.hpp>

#include "proto/base/text.h"

namespace longreach::trainer {

namespace {

constexpr uint64_t kMaxHeader = 100'000'000;  // The format's own limit.
constexpr size_t kLengthBytes = 8;

size_t BytesOf(std::string_view dtype) {
  static constexpr std::pair<std::string_view, size_t> kTypes[] = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"U16", 2}, {"I16", 2}, {"F16", 2},
      {"BF16", 2}, {"U32", 4}, {"I32", 4}, {"F32", 4},     {"U64", 8},     {"I64", 8}, {"F64", 8}};
  for (const auto& [name, bytes] : kTypes) {
    if (name == dtype) return bytes;
  }
  return 0;
}

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
  if (!values.empty()) std::memcpy(values.data(), file.payload().data() + entry->begin, entry->end - entry->begin);
  return values;
}

}  // namespace

int64_t SafetensorsEntry::count() const {
  // A product without the zero may be too large for any number, as nothing of it is in the file.
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  int64_t count = 1;
  for (const int64_t n : shape) count *= n;
  return count;
}

std::string_view SafetensorsFile::bytes() const {
  if (mapped_ == nullptr) return bytes_;
  return {reinterpret_cast<const char*>(mapped_->bytes().data()), mapped_->bytes().size()};
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::Read(const std::filesystem::path& file) {
  const auto damaged = [&](std::string_view why) {
    return absl::DataLossError(Text(file.string(), ": ", why));
  };
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return absl::NotFoundError(Text("no file ", file.string()));
  if (!std::filesystem::is_regular_file(file, error)) return damaged("is not a regular file");
  std::ifstream in(file, std::ios::binary);
  if (!in) return Errno(absl::StatusCode::kDataLoss, "open", file);
  SafetensorsFile result;
  const uint64_t size = std::filesystem::file_size(file, error);
  if (error) return damaged(error.message());
  result.bytes_.resize(size);
  in.read(result.bytes_.data(), static_cast<std::streamsize>(size));
  if (static_cast<uint64_t>(in.gcount()) != size) return damaged("cannot be read to its end");
  const absl::Status parsed = result.Parse();
  if (!parsed.ok()) return damaged(std::string(parsed.message()));
  return result;
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::Map(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return absl::NotFoundError(Text("no file ", file.string()));
  ASSIGN_OR_RETURN(data::MappedFile mapped, data::MappedFile::Open(file));
  SafetensorsFile result;
  result.mapped_ = std::make_shared<const data::MappedFile>(std::move(mapped));
  const absl::Status parsed = result.Parse();
  if (!parsed.ok()) return absl::DataLossError(Text(file.string(), ": ", parsed.message()));
  return result;
}

absl::Status SafetensorsFile::Parse() {
  const uint64_t size = bytes().size();
  if (size < kLengthBytes) return absl::DataLossError(Text("is too short (", size, " bytes) to be a safetensors file"));
  uint64_t header = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) header |= uint64_t{static_cast<uint8_t>(bytes()[i])} << (8 * i);
  if (header > kMaxHeader || header > size - kLengthBytes) {
    return absl::DataLossError(Text("its header is said to have ", header, " bytes, which the file has no room for"));
  }
  payload_begin_ = kLengthBytes + header;
  return ParseHeader(bytes().substr(kLengthBytes, header));
}

absl::Status SafetensorsFile::ParseHeader(std::string_view header) {
  const nlohmann::json json = nlohmann::json::parse(header, nullptr, false);
  if (!json.is_object()) return absl::DataLossError("its header is not a JSON object");
  for (const auto& [name, value] : json.items()) {
    if (name == "__metadata__") {
      if (!value.is_object()) return absl::DataLossError("__metadata__ is not an object");
      for (const auto& [key, text] : value.items()) {
        if (!text.is_string()) return absl::DataLossError(Text("__metadata__ '", key, "' is not a text"));
        metadata_[key] = text.get<std::string>();
      }
      continue;
    }
    const auto wrong = [&name = name](std::string_view what) {
      return absl::DataLossError(Text("tensor '", name, "': ", what));
    };
    if (!value.is_object()) return wrong("its entry is not an object");
    const auto dtype = value.find("dtype"), shape = value.find("shape"), offsets = value.find("data_offsets");
    if (dtype == value.end() || !dtype->is_string() || BytesOf(dtype->get<std::string>()) == 0) {
      return wrong("unknown dtype");
    }
    if (shape == value.end() || !shape->is_array()) return wrong("no shape");
    SafetensorsEntry entry{.dtype = dtype->get<std::string>(), .shape = {}, .begin = 0, .end = 0};
    const uint64_t room = payload().size();
    uint64_t bytes = BytesOf(entry.dtype);
    for (const auto& n : *shape) {
      if (!n.is_number_unsigned()) return wrong("a size is not a whole number");
      const uint64_t size = n.get<uint64_t>();
      if (size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return wrong("a size is too large");
      }
      if (size != 0 && bytes > std::numeric_limits<uint64_t>::max() / size) {
        return wrong("its shape is too large");
      }
      bytes *= size;
      entry.shape.push_back(static_cast<int64_t>(size));
    }
    if (offsets == value.end() || !offsets->is_array() || offsets->size() != 2 ||
        !(*offsets)[0].is_number_unsigned() || !(*offsets)[1].is_number_unsigned()) {
      return wrong("no data_offsets");
    }
    entry.begin = (*offsets)[0].get<uint64_t>();
    entry.end = (*offsets)[1].get<uint64_t>();
    if (entry.begin > entry.end || entry.end > room) return wrong("its data lies outside of the file");
    if (entry.end - entry.begin != bytes) return wrong("its data is not of the size that its shape says");
    entries_[name] = std::move(entry);
  }
  // The payload is tensors without overlap or hole.
  std::vector<const SafetensorsEntry*> in_order;
  for (const auto& [name, entry] : entries_) in_order.push_back(&entry);
  std::ranges::sort(in_order, {},
                    [](const SafetensorsEntry* entry) { return std::pair(entry->begin, entry->end); });
  uint64_t end = 0;
  for (const SafetensorsEntry* entry : in_order) {
    if (entry->begin != end) return absl::DataLossError("its tensors overlap or leave a hole");
    end = entry->end;
  }
  if (end != payload().size()) return absl::DataLossError("bytes follow after the last tensor");
  return absl::OkStatus();
}

std::string SafetensorsFile::Metadata(const std::string& key) const {
  const auto found = metadata_.find(key);
  return found == metadata_.end() ? "" : found->second;
}

const SafetensorsEntry* SafetensorsFile::Find(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
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

absl::Status WriteSafetensors(const std::filesystem::path& file,
                              const std::map<std::string, std::string>& metadata,
                              std::span<const SafetensorsPart> parts) {
  nlohmann::json json = nlohmann::json::object();
  if (!metadata.empty()) json["__metadata__"] = metadata;
  uint64_t end = 0;
  for (const SafetensorsPart& part : parts) {
    json[part.name] = {
        {"dtype", part.dtype}, {"shape", part.shape}, {"data_offsets", {end, end + part.bytes.size()}}};
    end += part.bytes.size();
  }
  std::string header = json.dump();
  header.append((8 - header.size() % 8) % 8, ' ');
  std::string length(kLengthBytes, '\0');
  for (size_t i = 0; i < kLengthBytes; ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 0xFF);

  std::filesystem::path beside = file;
  beside += ".part";
  absl::Status status;
  {
    const Descriptor descriptor{::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
    if (descriptor.fd < 0) return Errno(absl::StatusCode::kUnavailable, "create", beside);
    status = WriteAll(descriptor.fd, length + header, beside);
    for (const SafetensorsPart& part : parts) {
      if (status.ok()) status = WriteAll(descriptor.fd, part.bytes, beside);
    }
    if (status.ok() && ::fsync(descriptor.fd) != 0) {
      status = Errno(absl::StatusCode::kUnavailable, "sync", beside);
    }
  }
  if (status.ok() && ::rename(beside.c_str(), file.c_str()) != 0) {
    status = Errno(absl::StatusCode::kUnavailable, "rename", beside);
  }
  if (!status.ok()) {
    ::unlink(beside.c_str());
    return status;
  }
  return SyncFolder(file.parent_path());
}

}  // namespace longreach::trainer
