// Corpora of tokens: which document lies where, and what is refused. The tokenizer of these tests has an id for each byte.
#include "worker/data/import_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/worker/data/support.h"
#include "worker/data/data_folder.h"
#include "worker/data/token_corpus.h"

namespace longreach::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Bytes final : public tokenizer::Tokenizer {
 public:
  absl::StatusOr<std::vector<int64_t>> Encode(std::string_view text) override {
    if (text == "refused") return absl::InvalidArgumentError("a text that cannot be asked");
    std::vector<int64_t> ids;
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
    return ids;
  }
  absl::StatusOr<std::string> Decode(std::span<const int64_t>) override { return absl::UnimplementedError("there is no way back"); }
  int64_t vocabulary() const override { return 256; }
  std::optional<int64_t> bos() const override { return 1; }
  std::optional<int64_t> eos() const override { return 2; }
};

class ImportTokensTest : public ::testing::Test {
 protected:
  TokenImport Wanted() { return {.folder = folder_.path() / "data", .name = "texts", .sources = {folder_.path() / "texts"}}; }
  void Text(const std::string& name, std::string_view text) { Write(folder_.path() / "texts" / name, text); }
  absl::StatusOr<Manifest> Import(const TokenImport& wanted) { return ImportTokens(wanted, &bytes_, progress_); }
  std::string Refusal(const TokenImport& wanted) {
    const absl::StatusOr<Manifest> made = Import(wanted);
    EXPECT_FALSE(made.ok());
    EXPECT_EQ(NamesIn(folder_.path() / "data"), "");
    return std::string(made.status().message());
  }
  TokenCorpus Opened() { return *TokenCorpus::Open(folder_.path() / "data", "texts", ""); }
  std::vector<uint16_t> TestIds(const TokenCorpus& corpus, int64_t index) { return {corpus.test(index).begin(), corpus.test(index).end()}; }

  testing::TemporaryFolder folder_;
  Bytes bytes_;
  NoProgress progress_;
};

TEST_F(ImportTokensTest, TheFirstDocumentsAreTrainedOnAndTheRestTested) {
  Text("a", "abcd");
  Text("b", "ef");
  Text("c/d", "gh");
  TokenImport wanted = Wanted();
  wanted.split = {60, 40};
  ASSERT_OK_AND_ASSIGN(const Manifest made, Import(wanted));
  EXPECT_EQ(made.train, (ByteRange{0, 2}));  // Four of eight tokens are not enough.
  const TokenCorpus corpus = Opened();
  EXPECT_EQ(corpus.vocabulary(), 256);
  EXPECT_THAT(corpus.train(), ElementsAre('a', 'b', 'c', 'd', 2, 'e', 'f', 2));
  ASSERT_EQ(corpus.test_documents(), 1);
  EXPECT_THAT(TestIds(corpus, 0), ElementsAre(1, 'g', 'h'));
}

TEST_F(ImportTokensTest, OneOfTheTwoPartsMayBeEmpty) {
  Text("a", "ab");
  TokenImport wanted = Wanted();
  EXPECT_THAT(Refusal(wanted), HasSubstr("there is one document, which a split of 90,10 per cent cannot cut"));
  wanted.split = {0, 100};
  ASSERT_TRUE(Import(wanted).ok());
  EXPECT_TRUE(Opened().train().empty());
  EXPECT_EQ(Opened().test_documents(), 1);
  ASSERT_TRUE(RemoveDataSet(wanted.folder, wanted.name).ok());
  wanted.split = {100, 0};
  ASSERT_TRUE(Import(wanted).ok());
  EXPECT_THAT(Opened().train(), ElementsAre('a', 'b', 2));
  EXPECT_EQ(Opened().test_documents(), 0);
}

TEST_F(ImportTokensTest, ACorpusWhoseFilesWereExchangedIsNotOpened) {
  Text("a", "abc");
  Text("b", "d");
  TokenImport wanted = Wanted();
  wanted.split = {50, 50};
  ASSERT_TRUE(Import(wanted).ok());
  const std::filesystem::path documents = wanted.folder / "texts" / kDocumentsFile;
  std::string ends = Read(documents);
  std::swap(ends[0], ends[8]);
  Write(documents, ends);
  EXPECT_EQ(TokenCorpus::Open(wanted.folder, "texts", "").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(TokenCorpus::Open(wanted.folder, "texts", std::string(64, '0')).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ImportTokensTest, WhatCannotBeMadeIsRefusedAndLeavesNothing) {
  Text("a", "ab");
  Text("b", "refused");
  TokenImport wanted = Wanted();
  EXPECT_THAT(Refusal(wanted), HasSubstr("b: a text that cannot be asked"));
  wanted.vocabulary = 255;
  EXPECT_THAT(Refusal(wanted), HasSubstr("--vocabulary: 255 is below the 256 ids of the tokenizer"));
  wanted = Wanted();
  wanted.test_sources = {folder_.path() / "texts" / "a"};
  EXPECT_THAT(Refusal(wanted), HasSubstr("a is given twice"));
  wanted = Wanted();
  wanted.sources = {folder_.path() / "texts" / "a"};
  Write(folder_.path() / "empty", "");
  wanted.test_sources = {folder_.path() / "empty"};
  EXPECT_THAT(Refusal(wanted), HasSubstr("has no text to test on"));
}

}  // namespace
}  // namespace longreach::data
