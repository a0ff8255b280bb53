// Texts one by one, out of the files that corpora are published as.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/status.h"
#include "worker/data/packed_tokens.h"

namespace longreach::data {

// Files, and those below folders (ascending by path, hidden ones left out).
// NOT_FOUND, PERMISSION_DENIED; FAILED_PRECONDITION: a pipe or the like; INVALID_ARGUMENT: no file there, one twice, or one that is packed in a way that is not read here.
absl::StatusOr<std::vector<std::filesystem::path>> DocumentFiles(const std::vector<std::filesystem::path>& sources);

struct DocumentVisitor {
  // A text, and where it is from ("FILE" or "FILE:LINE"); it lives as long as the call.
  std::function<absl::Status(std::string_view text, const std::string& where)> on_text;
  // A packed file of ids.
  std::function<absl::Status(const PackedTokens& packed, const std::string& where)> on_packed;
  // So many bytes of files are done.
  std::function<void(int64_t)> on_bytes;
};

// Of a file: *.jsonl, *.ndjson and *.json have a document in the field `text_field` of each line's object; TinyLlama's packed files
// are told by how they begin; any other is one document.
//
// DATA_LOSS: a line that is no such object, or a packed file that is damaged; INVALID_ARGUMENT: bytes that are no text; errors of the
// visitor.
absl::Status VisitDocuments(const std::filesystem::path& file, const std::string& text_field, const DocumentVisitor& visitor);

}  // namespace longreach::data
