#include "worker/data/import_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>

#include "proto/base/file_to_read.h"
#include "worker/data/data_folder.h"
#include "worker/data/documents.h"
#include "worker/data/files.h"
#include "worker/data/hashed_file.h"
#include "worker/data/source_files.h"
#include "worker/data/staging.h"
#include "worker/data/token_corpus.h"

namespace longreach::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSpool = "spool.bin";
// Ids that are read at a time.
constexpr int64_t kBlock = 1 << 16;

struct Document {
  int64_t tokens = 0;
  bool packed = false;  // Nothing is put around it.
};

std::string_view BytesOf(std::span<const uint16_t> ids) { return {reinterpret_cast<const char*>(ids.data()), ids.size_bytes()}; }

// Ids of all documents, one behind the other, in a file: which are to be tested on is only known when all of them are counted.
class Spool {
 public:
  Spool(OutputFile out, tokenizer::Tokenizer* tokenizer, int64_t vocabulary)
      : out_(std::move(out)), tokenizer_(tokenizer), vocabulary_(vocabulary) {}

  absl::Status AddText(std::string_view text, const std::string& where) {
    if (tokenizer_ == nullptr) {
      return absl::InvalidArgumentError(fmt::format("{} is text; --tokenizer names the tokenizer.model that makes tokens of it", where));
    }
    absl::StatusOr<std::vector<int64_t>> ids = tokenizer_->Encode(text);
    if (!ids.ok()) return absl::Status(ids.status().code(), fmt::format("{}: {}", where, std::string(ids.status().message())));
    if (ids->empty()) {
      ++empty_;
      return absl::OkStatus();
    }
    documents_.push_back({.tokens = static_cast<int64_t>(ids->size())});
    return Add(*ids, where);
  }

  absl::Status AddPacked(const PackedTokens& packed, const std::string& where) {
    if (packed.tokens() == 0) {
      ++empty_;
      return absl::OkStatus();
    }
    documents_.push_back({.tokens = packed.tokens(), .packed = true});
    for (int64_t at = 0; at < packed.tokens(); at += kBlock) {
      ASSIGN_OR_RETURN(const std::vector<int64_t> ids, packed.Ids(at, std::min(kBlock, packed.tokens() - at)));
      RETURN_IF_ERROR(Add(ids, where));
    }
    return absl::OkStatus();
  }

  absl::Status Close() { return out_.Close(); }
  const std::vector<Document>& documents() const { return documents_; }
  int64_t empty() const { return empty_; }

 private:
  absl::Status Add(const std::vector<int64_t>& ids, const std::string& where) {
    std::vector<uint16_t> narrow(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0 || ids[i] >= vocabulary_) {
        return absl::InvalidArgumentError(fmt::format("{}: the id {} is not below the vocabulary of {}: it is of another tokenizer", where, ids[i],
                                                      vocabulary_));
      }
      narrow[i] = static_cast<uint16_t>(ids[i]);
    }
    return out_.Write(BytesOf(narrow));
  }

  OutputFile out_;
  tokenizer::Tokenizer* tokenizer_;
  int64_t vocabulary_;
  std::vector<Document> documents_;
  int64_t empty_ = 0;
};

// How many of the first documents are to be trained on.
absl::StatusOr<int64_t> TrainingDocuments(const std::vector<Document>& documents, const std::array<int, 2>& split) {
  const int64_t count = static_cast<int64_t>(documents.size());
  if (split[0] == 0 || split[1] == 0) return split[0] == 0 ? 0 : count;
  double all = 0, before = 0;
  for (const Document& document : documents) all += static_cast<double>(document.tokens);
  int64_t first = 0;
  while (first < count - 1 && (first == 0 || before < all * split[0] / 100)) before += static_cast<double>(documents[static_cast<size_t>(first++)].tokens);
  if (first > 0) return first;
  return absl::InvalidArgumentError(
      fmt::format("there is one document, which a split of {},{} per cent cannot cut; give what to test on by --test, or take --split 100,0 or 0,100",
                  split[0], split[1]));
}

absl::Status CheckWanted(const TokenImport& wanted, const tokenizer::Tokenizer* tokenizer, int64_t vocabulary) {
  RETURN_IF_ERROR(CheckName(wanted.name));
  const auto& [train, test] = wanted.split;
  if (train < 0 || test < 0 || train + test != 100) {
    return absl::InvalidArgumentError(fmt::format("the split {},{} is not two parts that add up to 100", train, test));
  }
  if (vocabulary == 0) {
    return absl::InvalidArgumentError("how many ids there are is not known; give --tokenizer, or --vocabulary where all files are packed tokens");
  }
  if (wanted.vocabulary < 0) return absl::InvalidArgumentError(fmt::format("--vocabulary: {} ids; give a number above 0", wanted.vocabulary));
  if (vocabulary < 1 || vocabulary > kMaxVocabulary) {
    return absl::InvalidArgumentError(fmt::format("a vocabulary of {} ids; ids are stored in 16 bits, so at most {}", vocabulary, kMaxVocabulary));
  }
  if (tokenizer != nullptr && tokenizer->vocabulary() > vocabulary) {
    return absl::InvalidArgumentError(fmt::format("--vocabulary: {} is below the {} ids of the tokenizer", vocabulary, tokenizer->vocabulary()));
  }
  return absl::OkStatus();
}

// Writes the data set's two files out of the spool.
absl::Status WriteCorpus(const fs::path& staging, const std::vector<Document>& documents, const tokenizer::Tokenizer* tokenizer, Manifest& manifest) {
  ASSIGN_OR_RETURN(const FileToRead spool, FileToRead::Open(staging / kSpool));
  ASSIGN_OR_RETURN(HashedFile tokens, HashedFile::Open(staging / kTokensFile));
  ASSIGN_OR_RETURN(HashedFile ends, HashedFile::Open(staging / kDocumentsFile));
  uint64_t at = 0;  // In the spool, in bytes.
  uint64_t written = 0;
  const auto write = [&](std::span<const uint16_t> some) {
    written += some.size();
    return tokens.Write(BytesOf(some));
  };
  const auto write_id = [&](const std::optional<int64_t>& id) -> absl::Status {
    if (!id) return absl::OkStatus();
    const uint16_t narrow = static_cast<uint16_t>(*id);
    return write({&narrow, 1});
  };
  std::vector<uint16_t> block(static_cast<size_t>(kBlock));
  const auto copy = [&](int64_t count) -> absl::Status {
    while (count > 0) {
      const std::span<uint16_t> ids = std::span(block).first(static_cast<size_t>(std::min(kBlock, count)));
      RETURN_IF_ERROR(spool.Read(at, {reinterpret_cast<char*>(ids.data()), ids.size_bytes()}));
      RETURN_IF_ERROR(write(ids));
      at += ids.size_bytes();
      count -= std::ssize(ids);
    }
    return absl::OkStatus();
  };
  for (size_t i = 0; i < documents.size(); ++i) {
    const bool test = static_cast<int64_t>(i) >= manifest.test.begin, bare = documents[i].packed;
    if (test && !bare) RETURN_IF_ERROR(write_id(tokenizer->bos()));
    RETURN_IF_ERROR(copy(documents[i].tokens));
    if (!test && !bare) RETURN_IF_ERROR(write_id(tokenizer->eos()));
    RETURN_IF_ERROR(ends.Write({reinterpret_cast<const char*>(&written), sizeof(written)}));
  }
  manifest.tokens = static_cast<int64_t>(written);
  ASSIGN_OR_RETURN(manifest.files.emplace_back(), tokens.Close());
  ASSIGN_OR_RETURN(manifest.files.emplace_back(), ends.Close());
  return absl::OkStatus();
}

absl::Status Import(const TokenImport& wanted, const std::vector<fs::path>& files, size_t training_files, tokenizer::Tokenizer* tokenizer,
                    const fs::path& staging, Manifest& manifest, Progress& progress) {
  ASSIGN_OR_RETURN(const int64_t total, SizeOfFiles(files));
  ASSIGN_OR_RETURN(OutputFile out, OutputFile::Open(staging / kSpool));
  Spool spool(std::move(out), tokenizer, manifest.vocabulary);
  const DocumentVisitor visitor{.on_text = [&](std::string_view text, const std::string& where) { return spool.AddText(text, where); },
                                .on_packed = [&](const PackedTokens& packed, const std::string& where) { return spool.AddPacked(packed, where); },
                                .on_bytes = [&](int64_t bytes) { progress.Advance(bytes); }};
  progress.Start(total, 0, "bytes");
  int64_t first_test = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    RETURN_IF_ERROR(VisitDocuments(files[i], wanted.text_field, visitor));
    if (i + 1 == training_files) first_test = static_cast<int64_t>(spool.documents().size());
  }
  RETURN_IF_ERROR(spool.Close());
  progress.Finish();
  const std::vector<Document>& documents = spool.documents();
  if (documents.empty()) return absl::InvalidArgumentError(fmt::format("{} has no text in it", SourceText(wanted.sources, wanted.test_sources)));
  if (wanted.test_sources.empty()) {
    ASSIGN_OR_RETURN(first_test, TrainingDocuments(documents, wanted.split));
  } else if (first_test == static_cast<int64_t>(documents.size()) || (first_test == 0 && !wanted.sources.empty())) {
    return absl::InvalidArgumentError(fmt::format("{} has no text to {} on", SourceText(wanted.sources, wanted.test_sources), first_test == 0 ? "train" : "test"));
  }
  manifest.train = {0, first_test};
  manifest.test = {first_test, static_cast<int64_t>(documents.size())};
  if (spool.empty() > 0) manifest.skipped = {fmt::format("{} empty text{}", spool.empty(), spool.empty() == 1 ? "" : "s")};
  return WriteCorpus(staging, documents, tokenizer, manifest);
}

}  // namespace

absl::StatusOr<Manifest> ImportTokens(const TokenImport& wanted, tokenizer::Tokenizer* tokenizer, Progress& progress) {
  Manifest manifest;
  manifest.kind = Kind::kTokens;
  manifest.source = SourceText(wanted.sources, wanted.test_sources);
  manifest.tokenizer = wanted.tokenizer_sha256;
  manifest.vocabulary = wanted.vocabulary > 0 || tokenizer == nullptr ? wanted.vocabulary : tokenizer->vocabulary();
  RETURN_IF_ERROR(CheckWanted(wanted, tokenizer, manifest.vocabulary));
  std::vector<fs::path> all = wanted.sources;
  all.insert(all.end(), wanted.test_sources.begin(), wanted.test_sources.end());
  ASSIGN_OR_RETURN(const SourceFiles found, DocumentFiles(all));
  if (found.files.empty()) return absl::InvalidArgumentError("no file was given");
  const size_t training_files = std::accumulate(found.of_source.begin(), found.of_source.begin() + std::ssize(wanted.sources), size_t{0});

  ASSIGN_OR_RETURN(Staging staging, Staging::Open(wanted.folder, wanted.name));
  if (absl::Status made = Import(wanted, found.files, training_files, tokenizer, staging.path(), manifest, progress); !made.ok()) {
    staging.Discard();  // It is begun anew in any case.
    return made;
  }
  std::vector<std::string> all_left_out = manifest.skipped;
  all_left_out.insert(all_left_out.end(), found.left_out.begin(), found.left_out.end());
  const std::vector<std::string> named = LeftOutInManifest(found.left_out);
  manifest.skipped.insert(manifest.skipped.end(), named.begin(), named.end());
  RETURN_IF_ERROR(staging.Publish(manifest));
  ASSIGN_OR_RETURN(Manifest published, ReadDataSet(wanted.folder, wanted.name));
  published.skipped = std::move(all_left_out);
  return published;
}

}  // namespace longreach::data
