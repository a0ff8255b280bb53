#include "worker/data/text_corpus.h"

#include <fmt/format.h>

#include "worker/data/data_folder.h"

namespace longreach::data {

absl::StatusOr<TextCorpus> TextCorpus::Open(const std::filesystem::path& folder, const std::string& name, const std::string& sha256) {
  ASSIGN_OR_RETURN(const Manifest manifest, ReadDataSet(folder, name, sha256, Kind::kText));
  TextCorpus corpus;
  const std::filesystem::path path = folder / name / manifest.files[0].name;
  ASSIGN_OR_RETURN(corpus.file_, MappedFile::Open(path));
  const std::span<const uint8_t> bytes = corpus.file_.bytes();
  // The file may have been exchanged since its size was looked at.
  if (static_cast<int64_t>(bytes.size()) != manifest.files[0].bytes) {
    return absl::DataLossError(fmt::format("{} has {} bytes, and {} were imported", path.string(), bytes.size(), manifest.files[0].bytes));
  }
  const auto part = [&](const ByteRange& range) {
    return bytes.subspan(static_cast<size_t>(range.begin), static_cast<size_t>(range.end - range.begin));
  };
  corpus.train_ = part(manifest.train);
  corpus.valid_ = part(manifest.valid);
  corpus.test_ = part(manifest.test);
  corpus.sha256_ = manifest.Identity();
  return corpus;
}

}  // namespace longreach::data
