#include "worker/data/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "proto/base/file_to_read.h"
#include "proto/base/json_reason.h"
#include "proto/base/utf8.h"
#include "worker/data/line_reader.h"

namespace longreach::data {
namespace {

namespace fs = std::filesystem;

// Bytes of a file that are in memory at once: of a line, or of a text that is all of it. Many times what a tokenizer takes as one text, as JSON may write a character as six.
constexpr size_t kMostAtOnce = size_t{256} << 20;

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

absl::Status VisitLines(const fs::path& file, LineReader& lines, const std::string& field, const DocumentVisitor& visitor) {
  int64_t before = 0;
  for (int64_t number = 1;; ++number) {
    const std::string where = fmt::format("{}:{}", file.string(), number);
    const absl::StatusOr<std::optional<std::string_view>> line = lines.Next();
    if (absl::IsResourceExhausted(line.status())) {
      return absl::DataLossError(fmt::format("{}: {}; there must be a JSON object of its own in each", where, std::string(line.status().message())));
    }
    RETURN_IF_ERROR(line.status());
    if (!line->has_value()) return absl::OkStatus();
    const std::string_view text = **line;
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
    visitor.on_bytes(lines.given() - before);
    before = lines.given();
  }
}

// A text that is all of a file.
absl::Status VisitText(const fs::path& file, const FileToRead& in, std::string_view head, const DocumentVisitor& visitor) {
  if (head.find('\0') != std::string_view::npos) {
    return absl::InvalidArgumentError(fmt::format("{} is no text: it has a zero byte; leave it out", file.string()));
  }
  if (in.bytes() > kMostAtOnce) {
    return absl::InvalidArgumentError(fmt::format("{} would be one text of {} bytes, and one has at most {}; write its texts as JSON lines ({{\"text\": ...}})", file.string(),
                                                  in.bytes(), kMostAtOnce));
  }
  std::string text(static_cast<size_t>(in.bytes()), '\0');
  RETURN_IF_ERROR(in.Read(0, text));
  // A tokenizer would take each such byte for an unknown character, and nobody would see it.
  if (const std::optional<size_t> at = FirstNotUtf8(text)) {
    return absl::InvalidArgumentError(fmt::format("{} is not UTF-8: the byte 0x{:02x} at offset {} belongs to no character; convert it (iconv -f LATIN1 -t UTF-8), or "
                                                  "leave it out", file.string(), static_cast<unsigned char>(text[*at]), *at));
  }
  return visitor.on_text(text, file.string());
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
  ASSIGN_OR_RETURN(const FileToRead in, FileToRead::Open(file));
  if (EndsWithAny(file, {".jsonl", ".ndjson", ".json"})) {
    LineReader lines(in, kMostAtOnce);
    return VisitLines(file, lines, text_field, visitor);
  }
  std::string head(static_cast<size_t>(std::min<uint64_t>(in.bytes(), kTextHead)), '\0');
  RETURN_IF_ERROR(in.Read(0, head));
  if (head.starts_with(kPackedMagic)) {
    ASSIGN_OR_RETURN(const PackedTokens packed, PackedTokens::Open(file));
    RETURN_IF_ERROR(visitor.on_packed(packed, file.string()));
  } else {
    RETURN_IF_ERROR(VisitText(file, in, head, visitor));
  }
  visitor.on_bytes(static_cast<int64_t>(in.bytes()));
  return absl::OkStatus();
}

}  // namespace longreach::data
