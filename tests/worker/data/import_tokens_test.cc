#include "worker/data/import_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/worker/data/support.h"
#include "worker/data/data_folder.h"
#include "worker/data/token_corpus.h"

namespace longreach::data {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A text is its bytes, without BOS and EOS.
class BytesAsIds : public tokenizer::Tokenizer {
 public:
  absl::StatusOr<std::vector<int64_t>> Encode(std::string_view text) override {
    std::vector<int64_t> ids;
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
    return ids;
  }
  absl::StatusOr<std::string> Decode(std::span<const int64_t>) override { return absl::UnimplementedError("there is no way back"); }
  int64_t vocabulary() const override { return 256; }
  std::optional<int64_t> bos() const override { return std::nullopt; }
  std::optional<int64_t> eos() const override { return std::nullopt; }
};

class ImportTokensTest : public ::testing::Test {
 protected:
  absl::StatusOr<Manifest> Import(std::vector<fs::path> sources, std::vector<fs::path> test_sources, const std::string& name = "texts") {
    BytesAsIds tokenizer;
    NoProgress progress;
    return ImportTokens({.folder = data_, .name = name, .sources = std::move(sources), .test_sources = std::move(test_sources)}, &tokenizer, progress);
  }
  std::string Refusal(std::vector<fs::path> sources, std::vector<fs::path> test_sources = {}) {
    return std::string(Import(std::move(sources), std::move(test_sources)).status().message());
  }
  // The ids of all documents, as the text that they were.
  std::string Stored(const std::string& name = "texts") {
    std::string text;
    const std::string bytes = Read(data_ / name / kTokensFile);
    for (size_t i = 0; i < bytes.size(); i += 2) text += bytes[i];
    return text;
  }

  testing::TemporaryFolder home_;
  const fs::path data_ = home_ / "data";
};

TEST_F(ImportTokensTest, WhatAFolderHasBesidesTextsIsNamedWithTheReason) {
  Write(home_ / "docs/a.txt", "first");
  Write(home_ / "docs/b.txt.gz", std::string("\x1F\x8B\x08\0", 4));
  Write(home_ / "docs/c.txt", std::string("c\0\n\0", 4));
  Write(home_ / "docs/empty.txt", "");
  Write(home_ / "docs/.hidden", "hidden");
  Write(home_ / "docs/.git/f.txt", "hidden");
  Write(home_ / "docs/sub/d.jsonl", "{\"text\": \"second\"}\n{\"text\": \"\"}\n");
  fs::create_symlink(home_ / "docs/a.txt", home_ / "docs/link.txt");
  fs::create_directory_symlink(home_ / "docs/sub", home_ / "docs/more");
  ASSERT_EQ(mkfifo((home_ / "docs/pipe").c_str(), 0600), 0);
  Write(home_ / "test.txt", "third");

  ASSERT_OK_AND_ASSIGN(const Manifest alone, Import({}, {home_ / "docs"}));
  ASSERT_OK_AND_ASSIGN(const Manifest joined, Import({home_ / "docs"}, {home_ / "test.txt"}, "joined"));

  EXPECT_EQ(Stored(), "firstsecond");
  EXPECT_THAT(alone.skipped, ElementsAre("2 empty texts", "b.txt.gz (gzip)", "c.txt (a zero byte; UTF-16?)", "link.txt (a.txt again)",
                                         "more (a link to a folder)", "pipe (not a regular file)"));
  ASSERT_OK_AND_ASSIGN(const Manifest read, ReadDataSet(data_, "texts"));
  EXPECT_EQ(read.skipped, alone.skipped);
  // Of several sources it is told which. The folder's documents are those to train on.
  EXPECT_EQ(joined.train.end, 2);
  EXPECT_EQ(joined.test.end, 3);
  ASSERT_EQ(joined.skipped.size(), 6u);
  EXPECT_EQ(joined.skipped[1], (home_ / "docs/b.txt.gz").string() + " (gzip)");
}

TEST_F(ImportTokensTest, AManifestNamesTheFirstThousandFilesThatWereLeftOut) {
  Write(home_ / "docs/a.txt", "first");
  Write(home_ / "docs/empty.txt", "");
  for (int i = 0; i < 1003; ++i) fs::create_symlink("a.txt", home_ / "docs" / ("link-" + std::to_string(1000 + i)));

  ASSERT_OK_AND_ASSIGN(const Manifest manifest, Import({}, {home_ / "docs"}));

  EXPECT_EQ(manifest.skipped.size(), 1004u);
  ASSERT_OK_AND_ASSIGN(const Manifest read, ReadDataSet(data_, "texts"));
  ASSERT_EQ(read.skipped.size(), 1002u);
  EXPECT_EQ(read.skipped[0], "1 empty text");
  EXPECT_EQ(read.skipped[1000], "link-1999 (a.txt again)");
  EXPECT_EQ(read.skipped[1001], "and 3 more");
}

// Seven tokens: 0 to 5, and 255.
TEST_F(ImportTokensTest, PackedFilesOfIdsAreOfAFolderForAllTheirZeroBytes) {
  Write(home_ / "packed/0.bin", std::string("LITPKDS\1\0\0\0\0\0\0\0\10\7\0\0\0\0\0\0\0", 24) + std::string("\0\0\1\0\2\0\3\0\4\0\5\0\377\0", 14));

  ASSERT_OK_AND_ASSIGN(const Manifest manifest, Import({}, {home_ / "packed"}));

  EXPECT_EQ(manifest.tokens, 7);
  EXPECT_THAT(manifest.skipped, ::testing::IsEmpty());
}

// More ids than are read at a time, of texts and of packed files.
TEST_F(ImportTokensTest, LongDocumentsAreStoredAsTheyAre) {
  std::string text, packed = std::string("LITPKDS\1\0\0\0\0\0\0\0\10\0\0\3\0\0\0\0\0", 24), ids;
  for (int i = 0; i < 0x30000; ++i) {
    text += static_cast<char>('a' + i % 23);
    ids += static_cast<char>('A' + i % 19);
    packed += {ids.back(), '\0'};
  }
  Write(home_ / "a.txt", text);
  Write(home_ / "b.jsonl", "{\"text\": \"" + text + "\"}\n\n{\"text\": \"short\"}");
  Write(home_ / "c.bin", packed);

  ASSERT_OK(Import({home_ / "a.txt", home_ / "b.jsonl"}, {home_ / "c.bin"}));

  EXPECT_TRUE(Stored() == text + text + "short" + ids);
}

TEST_F(ImportTokensTest, ASourceThatIsCutOffMeanwhileIsAnErrorAndLeavesNothing) {
  // Its first text is given when a part of it has been read.
  const fs::path source = home_ / "a.jsonl";
  class CutsItsSourceOff final : public BytesAsIds {
   public:
    explicit CutsItsSourceOff(fs::path file) : file_(std::move(file)) {}
    absl::StatusOr<std::vector<int64_t>> Encode(std::string_view text) override {
      fs::resize_file(file_, 100);
      return BytesAsIds::Encode(text);
    }

   private:
    fs::path file_;
  };
  std::string lines;
  while (lines.size() < 3 << 20) lines += "{\"text\": \"" + std::string(1000, 'a') + "\"}\n";
  Write(source, lines);
  CutsItsSourceOff tokenizer(source);
  NoProgress progress;

  const absl::Status cut = ImportTokens({.folder = data_, .name = "texts", .sources = {source}}, &tokenizer, progress).status();

  EXPECT_EQ(cut.code(), absl::StatusCode::kDataLoss) << cut;
  EXPECT_THAT(std::string(cut.message()), HasSubstr("a.jsonl: ends before its byte"));
  EXPECT_EQ(NamesIn(data_), "");
}

TEST_F(ImportTokensTest, APipeWhereAFileIsToBeWrittenIsNotWaitedFor) {
  Write(home_ / "a.txt", "first");
  fs::create_directories(data_ / ".importing-texts");
  ASSERT_EQ(mkfifo((data_ / ".importing-texts/spool.bin").c_str(), 0600), 0);

  EXPECT_THAT(Refusal({}, {home_ / "a.txt"}), HasSubstr("spool.bin"));
}

TEST_F(ImportTokensTest, SourcesThatAreNoTextsAreNamed) {
  Write(home_ / "a.txt", "first");
  Write(home_ / "packed", "\x1F\x8B and more");
  Write(home_ / "a.zip", "PK\3\4 and more");
  Write(home_ / "a.tar", "a.txt and more");
  Write(home_ / "a.parquet", "PAR1 and more");
  Write(home_ / "zipped/a.gz", "\x1F\x8B and more");

  EXPECT_THAT(Refusal({home_ / "packed"}), HasSubstr("packed is a file of gzip, not a text; unpack it"));
  EXPECT_THAT(Refusal({home_ / "a.zip"}), HasSubstr("a.zip is an archive; unpack it"));
  EXPECT_THAT(Refusal({home_ / "a.tar"}), HasSubstr("a.tar is an archive; unpack it"));
  EXPECT_THAT(Refusal({home_ / "a.parquet"}), HasSubstr("write its texts as JSON lines"));
  EXPECT_THAT(Refusal({home_ / "zipped"}), HasSubstr("there is no text file in " + (home_ / "zipped").string() + "; it has a.gz (gzip)"));
  EXPECT_THAT(Refusal({home_ / "none.zip"}), HasSubstr("none.zip: No such file"));
  // A text to train on is none to test on.
  EXPECT_THAT(Refusal({home_ / "a.txt"}, {home_ / "a.txt"}), HasSubstr("a.txt is given twice; name it once"));
  EXPECT_EQ(NamesIn(data_), "");
}

}  // namespace
}  // namespace longreach::data
