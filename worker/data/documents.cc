#include "worker/data/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "proto/base/json_reason.h"
#include "proto/base/utf8.h"
#include "worker/data/mapped_file.h"

namespace longreach::data {
namespace {

namespace fs = std::filesystem;

bool EndsWithAny(const fs::path& file, std::initializer_list<std::string_view> endings) {
  const std::string name = file.filename().string();
  return std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
}

// What is named and cannot be read, where there is more to say about it than that it is no text.
absl::Status CheckReadable(const fs::path& file) {
  if (IsZip(file) || EndsWithAny(file, {".tar"})) {
    return absl::InvalidArgumentError(fmt::format("{} is an archive; unpack it and import what comes out", file.string()));
  }
  if (EndsWithAny(file, {".parquet", ".arrow"})) {
    return absl::InvalidArgumentError(fmt::format("{} is a table of another kind; write its texts as JSON lines ({{\"text\": ...}}) and import those", file.string()));
  }
  return absl::OkStatus();
}

absl::Status VisitLines(const fs::path& file, std::string_view bytes, const std::string& field, const DocumentVisitor& visitor) {
  size_t at = 0;
  for (int64_t line = 1; at < bytes.size(); ++line) {
    const size_t end = std::min(bytes.find('\n', at), bytes.size());
    const std::string_view text = bytes.substr(at, end - at);
    const std::string where = fmt::format("{}:{}", file.string(), line);
    if (text.find_first_not_of(" \t\r") != std::string_view::npos) {
      const nlohmann::json object = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
      if (!object.is_object()) {
        return absl::DataLossError(fmt::format("{}: not a JSON object, of which there must be one in each line: {}", where, WhyNoJsonObject(text)));
      }
      const auto found = object.find(field);
      if (found == object.end() || !found->is_string()) {
        return absl::DataLossError(fmt::format("{}: has no text '{}'; --text-field names another field", where, field));
      }
      RETURN_IF_ERROR(visitor.on_text(found->get_ref<const std::string&>(), where));
    }
    visitor.on_bytes(static_cast<int64_t>(std::min(end + 1, bytes.size()) - at));
    at = end + 1;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SourceFiles> DocumentFiles(const std::vector<fs::path>& sources) {
  for (const fs::path& source : sources) {
    std::error_code ignored;
    if (fs::is_regular_file(source, ignored)) RETURN_IF_ERROR(CheckReadable(source));
  }
  return FindSourceFiles(sources, kPackedMagic);
}

absl::Status VisitDocuments(const fs::path& file, const std::string& text_field, const DocumentVisitor& visitor) {
  ASSIGN_OR_RETURN(const MappedFile mapped, MappedFile::Open(file));
  const std::string_view bytes(reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size());
  if (EndsWithAny(file, {".jsonl", ".ndjson", ".json"})) return VisitLines(file, bytes, text_field, visitor);
  if (bytes.starts_with(kPackedMagic)) {
    ASSIGN_OR_RETURN(const PackedTokens packed, PackedTokens::Open(file));
    RETURN_IF_ERROR(visitor.on_packed(packed, file.string()));
  } else {
    if (bytes.substr(0, kTextHead).find('\0') != std::string_view::npos) {
      return absl::InvalidArgumentError(fmt::format("{} is no text: it has a zero byte; leave it out", file.string()));
    }
    // A tokenizer would take each such byte for an unknown character, and nobody would see it.
    if (const std::optional<size_t> at = FirstNotUtf8(bytes)) {
      return absl::InvalidArgumentError(fmt::format("{} is not UTF-8: the byte 0x{:02x} at offset {} belongs to no character; convert it (iconv -f LATIN1 -t UTF-8), or "
                                                    "leave it out", file.string(), static_cast<unsigned char>(bytes[*at]), *at));
    }
    RETURN_IF_ERROR(visitor.on_text(bytes, file.string()));
  }
  visitor.on_bytes(static_cast<int64_t>(bytes.size()));
  return absl::OkStatus();
}

}  // namespace longreach::data
