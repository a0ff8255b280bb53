#include "worker/data/token_corpus.h"

#include <fmt/format.h>

#include <bit>

#include "worker/data/data_folder.h"

namespace longreach::data {
namespace {

static_assert(std::endian::native == std::endian::little, "files are read as they lie");

// Maps begin at a page, so numbers in them are aligned.
template <typename Number>
std::span<const Number> NumbersIn(const MappedFile& file) {
  return {reinterpret_cast<const Number*>(file.bytes().data()), file.bytes().size() / sizeof(Number)};
}

}  // namespace

absl::StatusOr<TokenCorpus> TokenCorpus::Open(const std::filesystem::path& folder, const std::string& name, const std::string& sha256) {
  ASSIGN_OR_RETURN(const Manifest manifest, ReadDataSet(folder, name, sha256, Kind::kTokens));
  TokenCorpus corpus;
  ASSIGN_OR_RETURN(corpus.tokens_file_, MappedFile::Open(folder / name / kTokensFile));
  ASSIGN_OR_RETURN(corpus.documents_file_, MappedFile::Open(folder / name / kDocumentsFile));
  corpus.tokens_ = NumbersIn<uint16_t>(corpus.tokens_file_);
  corpus.ends_ = NumbersIn<uint64_t>(corpus.documents_file_);
  corpus.first_test_ = manifest.test.begin;
  corpus.vocabulary_ = manifest.vocabulary;
  corpus.tokenizer_ = manifest.tokenizer;
  // The files may have been exchanged since their sizes were looked at.
  bool sound = static_cast<int64_t>(corpus.ends_.size()) == manifest.test.end && corpus.ends_.back() == corpus.tokens_.size();
  uint64_t before = 0;
  for (const uint64_t end : corpus.ends_) {
    sound = sound && end > before;
    before = end;
  }
  if (sound) return corpus;
  return absl::DataLossError(fmt::format("{}: its documents do not follow each other; 'longreach data remove {}' and import it anew",
                                         (folder / name / kDocumentsFile).string(), name));
}

std::span<const uint16_t> TokenCorpus::train() const { return tokens_.first(Begin(first_test_)); }

std::span<const uint16_t> TokenCorpus::test(int64_t index) const {
  const size_t begin = Begin(first_test_ + index);
  return tokens_.subspan(begin, static_cast<size_t>(ends_[static_cast<size_t>(first_test_ + index)]) - begin);
}

}  // namespace longreach::data
