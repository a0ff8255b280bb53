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
#include "worker/data/source_files.h"

namespace longreach::data {

// As FindSourceFiles(), and packed files of ids. INVALID_ARGUMENT besides: an archive or a table that is named.
absl::StatusOr<SourceFiles> DocumentFiles(const std::vector<std::filesystem::path>& sources);

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
// Files are read and not mapped, some of them at a time: others may write them. DATA_LOSS: a line that is no such object or is too long, a packed file that is damaged, or one
// that was cut off meanwhile; NOT_FOUND; INVALID_ARGUMENT: bytes that are no text, or more than can be one; errors of the visitor.
absl::Status VisitDocuments(const std::filesystem::path& file, const std::string& text_field, const DocumentVisitor& visitor);

}  // namespace longreach::data
