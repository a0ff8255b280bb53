#include "proto/base/safetensors.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "proto/base/text.h"

namespace longreach {

namespace {

constexpr uint64_t kMaxHeader = 100'000'000;  // The format's own limit.

size_t BytesOf(std::string_view dtype) {
  static constexpr std::pair<std::string_view, size_t> kTypes[] = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"U16", 2}, {"I16", 2}, {"F16", 2},
      {"BF16", 2}, {"U32", 4}, {"I32", 4}, {"F32", 4},     {"U64", 8},     {"I64", 8}, {"F64", 8}};
  for (const auto& [name, bytes] : kTypes) {
    if (name == dtype) return bytes;
  }
  return 0;
}

// `room` is how many bytes follow the header.
absl::Status Read(std::string_view text, uint64_t room, SafetensorsHeader& header) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return absl::DataLossError("its header is not a JSON object");
  for (const auto& [name, value] : json.items()) {
    if (name == "__metadata__") {
      if (!value.is_object()) return absl::DataLossError("__metadata__ is not an object");
      for (const auto& [key, word] : value.items()) {
        if (!word.is_string()) return absl::DataLossError(Text("__metadata__ '", key, "' is not a text"));
        header.metadata[key] = word.get<std::string>();
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
    header.entries[name] = std::move(entry);
  }
  // The payload is tensors without overlap or hole.
  std::vector<const SafetensorsEntry*> in_order;
  for (const auto& [name, entry] : header.entries) in_order.push_back(&entry);
  std::ranges::sort(in_order, {},
                    [](const SafetensorsEntry* entry) { return std::pair(entry->begin, entry->end); });
  uint64_t end = 0;
  for (const SafetensorsEntry* entry : in_order) {
    if (entry->begin != end) return absl::DataLossError("its tensors overlap or leave a hole");
    end = entry->end;
  }
  if (end != room) return absl::DataLossError("bytes follow after the last tensor");
  return absl::OkStatus();
}

// How many bytes lie before the tensors', by the first kSafetensorsLengthBytes of the file.
absl::StatusOr<size_t> BytesBeforePayload(std::string_view begin, uint64_t file_bytes) {
  if (begin.size() < kSafetensorsLengthBytes) {
    return absl::DataLossError(Text("is too short (", file_bytes, " bytes) to be a safetensors file"));
  }
  uint64_t length = 0;
  for (size_t i = 0; i < kSafetensorsLengthBytes; ++i) length |= uint64_t{static_cast<uint8_t>(begin[i])} << (8 * i);
  if (length > kMaxHeader || length > file_bytes - kSafetensorsLengthBytes) {
    return absl::DataLossError(Text("its header is said to have ", length, " bytes, which the file has no room for"));
  }
  return kSafetensorsLengthBytes + length;
}

// Of those bytes.
absl::StatusOr<SafetensorsHeader> ParseBegin(std::string_view before_payload, uint64_t file_bytes) {
  SafetensorsHeader header;
  header.payload_begin = before_payload.size();
  RETURN_IF_ERROR(Read(before_payload.substr(kSafetensorsLengthBytes), file_bytes - before_payload.size(), header));
  return header;
}

}  // namespace

int64_t SafetensorsEntry::count() const {
  // A product without the zero may be too large for any number, as nothing of it is in the file.
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  int64_t count = 1;
  for (const int64_t n : shape) count *= n;
  return count;
}

absl::StatusOr<SafetensorsHeader> SafetensorsHeader::Parse(std::string_view file) {
  ASSIGN_OR_RETURN(const size_t before_payload, BytesBeforePayload(file, file.size()));
  return ParseBegin(file.substr(0, before_payload), file.size());
}

absl::StatusOr<SafetensorsHeader> SafetensorsHeader::ReadFrom(const FileToRead& file) {
  const auto damaged = [&file](const absl::Status& why) { return absl::DataLossError(Text(file.file().string(), ": ", why.message())); };
  std::string begin(static_cast<size_t>(std::min<uint64_t>(kSafetensorsLengthBytes, file.bytes())), '\0');
  RETURN_IF_ERROR(file.Read(0, begin));
  const absl::StatusOr<size_t> before_payload = BytesBeforePayload(begin, file.bytes());
  if (!before_payload.ok()) return damaged(before_payload.status());
  begin.resize(*before_payload);
  RETURN_IF_ERROR(file.Read(0, begin));
  absl::StatusOr<SafetensorsHeader> header = ParseBegin(begin, file.bytes());
  if (!header.ok()) return damaged(header.status());
  return header;
}

std::string SafetensorsHeader::Metadata(const std::string& key) const {
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : found->second;
}

const SafetensorsEntry* SafetensorsHeader::Find(const std::string& name) const {
  const auto found = entries.find(name);
  return found == entries.end() ? nullptr : &found->second;
}

}  // namespace longreach
