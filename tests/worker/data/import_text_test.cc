#include "worker/data/import_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <minizip/zip.h>
#include <sys/stat.h>

#include "tests/worker/data/interrupted.h"
#include "tests/worker/data/support.h"
#include "worker/data/data_folder.h"
#include "worker/data/staging.h"
#include "worker/data/text_corpus.h"

namespace longreach::data {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Pattern(size_t bytes) {
  std::string text(bytes, '\0');
  uint32_t state = 7;
  for (char& byte : text) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return text;
}

std::string TextOf(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

void WriteZip(const fs::path& file, const std::vector<std::pair<std::string, std::string>>& members) {
  zipFile zip = zipOpen64(file.c_str(), 0);
  for (const auto& [name, bytes] : members) {
    const zip_fileinfo info = {};
    zipOpenNewFileInZip64(zip, name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr, Z_DEFLATED, 6, 0);
    zipWriteInFileInZip(zip, bytes.data(), static_cast<unsigned>(bytes.size()));
    zipCloseFileInZip(zip);
  }
  zipClose(zip, nullptr);
}

class ImportTextTest : public ::testing::Test {
 protected:
  absl::StatusOr<Manifest> Import(std::vector<fs::path> sources, const std::string& name = "novels", std::array<int, 3> split = {90, 5, 5}) {
    NoProgress progress;
    return ImportText({.folder = data_, .name = name, .sources = std::move(sources), .split = split}, progress);
  }

  testing::TemporaryFolder home_;
  const fs::path data_ = home_ / "data";
};

TEST_F(ImportTextTest, SplitsAFileAndReadsItBack) {
  const std::string text = Pattern(1'000'003);
  Write(home_ / "novels.txt", text);

  ASSERT_OK_AND_ASSIGN(const Manifest manifest, Import({home_ / "novels.txt"}));

  ASSERT_OK_AND_ASSIGN(const TextCorpus corpus, TextCorpus::Open(data_, "novels", manifest.Identity()));
  EXPECT_TRUE(TextOf(corpus.train()) == text.substr(0, 900'002));
  EXPECT_TRUE(TextOf(corpus.valid()) == text.substr(900'002, 50'000));
  EXPECT_TRUE(TextOf(corpus.test()) == text.substr(950'002));
  EXPECT_OK(CheckDataSet(data_, "novels"));
  EXPECT_EQ(NamesIn(data_), "novels ");  // No lock, nothing half-way.
}

TEST_F(ImportTextTest, OtherSplitsAreAnotherDataSet) {
  Write(home_ / "a.txt", Pattern(1000));
  ASSERT_OK_AND_ASSIGN(const Manifest usual, Import({home_ / "a.txt"}));
  ASSERT_OK_AND_ASSIGN(const Manifest other, Import({home_ / "a.txt"}, "b", {80, 10, 10}));
  ASSERT_OK_AND_ASSIGN(const Manifest again, Import({home_ / "a.txt"}, "c"));

  EXPECT_NE(usual.Identity(), other.Identity());
  EXPECT_EQ(usual.Identity(), again.Identity());
  EXPECT_EQ(other.train.end, 800);
  EXPECT_EQ(Import({home_ / "a.txt"}, "d", {90, 10, 0}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Import({home_ / "a.txt"}, "d", {90, 5, 6}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ImportTextTest, AZipArchiveGivesWhatItsFileGives) {
  const std::string text = Pattern(300'000) + std::string(3'000'000, 'x');
  Write(home_ / "raw", text);
  WriteZip(home_ / "raw.zip", {{"folder/", ""}, {"folder/raw", text}, {"__MACOSX/raw", "x"}});

  ASSERT_OK_AND_ASSIGN(const Manifest raw, Import({home_ / "raw"}));
  ASSERT_OK_AND_ASSIGN(const Manifest zipped, Import({home_ / "raw.zip"}, "zipped"));

  EXPECT_EQ(raw.Identity(), zipped.Identity());
}

TEST_F(ImportTextTest, AnArchiveOfAnotherCompressionIsNotCalledDamaged) {
  WriteZip(home_ / "a.zip", {{"raw", Pattern(1000)}});
  for (const auto& [method, name] : {std::pair('\x0c', "with bzip2"), std::pair('\x63', "with method 99")}) {
    std::string bytes = Read(home_ / "a.zip");
    // The number is in the member's own header and in the table of contents.
    bytes[bytes.find("PK\3\4") + 8] = method;
    bytes[bytes.find("PK\1\2") + 10] = method;
    Write(home_ / "other.zip", bytes);
    const absl::Status other = Import({home_ / "other.zip"}).status();
    EXPECT_EQ(other.code(), absl::StatusCode::kInvalidArgument) << other;
    EXPECT_NE(other.message().find(name), std::string::npos) << other;
    EXPECT_NE(other.message().find("unpack it first"), std::string::npos) << other;
  }
}

TEST_F(ImportTextTest, ADamagedArchiveLeavesNothing) {
  WriteZip(home_ / "a.zip", {{"raw", Pattern(2'000'000)}});
  const std::string whole = Read(home_ / "a.zip");
  Write(home_ / "cut.zip", whole.substr(0, whole.size() / 2));
  std::string changed = whole;
  changed[whole.size() / 2] ^= 1;
  Write(home_ / "changed.zip", changed);
  WriteZip(home_ / "two.zip", {{"raw", "x"}, {"more", "y"}});
  WriteZip(home_ / "none.zip", {{"folder/", ""}});

  const absl::Status cut = Import({home_ / "cut.zip"}).status();
  EXPECT_EQ(cut.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(cut.message().find("cut off"), std::string::npos) << cut;
  EXPECT_EQ(Import({home_ / "changed.zip"}).status().code(), absl::StatusCode::kDataLoss);
  const absl::Status two = Import({home_ / "two.zip"}).status();
  EXPECT_NE(two.message().find("'raw', 'more'"), std::string::npos) << two;
  EXPECT_EQ(Import({home_ / "none.zip"}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Import({home_ / "a.zip", home_ / "two.zip"}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(TextCorpus::Open(data_, "novels", "").status().code(), absl::StatusCode::kNotFound);

  // And the whole archive is imported as if nothing had been.
  EXPECT_OK(Import({home_ / "a.zip"}));
}

TEST_F(ImportTextTest, FoldersAreJoinedByThePathsInThem) {
  Write(home_ / "docs/b.txt", std::string(50, 'b'));
  Write(home_ / "docs/a/z.txt", std::string(40, 'a'));
  Write(home_ / "docs/.hidden", "hidden");
  Write(home_ / "docs/.git/config", "hidden");
  Write(home_ / "docs/program", std::string("\x7f" "ELF\0", 5));
  fs::create_symlink(home_ / "docs/b.txt", home_ / "docs/c.txt");
  Write(home_ / "first.txt", std::string(10, 'f'));

  ASSERT_OK_AND_ASSIGN(const Manifest manifest, Import({home_ / "first.txt", home_ / "docs"}));

  EXPECT_EQ(Read(data_ / "novels/corpus.bin"), std::string(10, 'f') + std::string(40, 'a') + std::string(50, 'b'));
}

TEST_F(ImportTextTest, WhatAFolderHasBesidesTextsIsNamedWithTheReason) {
  Write(home_ / "docs/a.txt", std::string(100, 'a'));
  Write(home_ / "docs/b.txt.gz", std::string("\x1F\x8B\x08\0", 4));
  Write(home_ / "docs/c.txt", std::string("c\0\n\0", 4));
  Write(home_ / "docs/sub/d.zst", "\x28\xB5\x2F\xFD without a zero byte");
  WriteZip(home_ / "docs/sub/e.zip", {{"raw", "x"}});
  Write(home_ / "docs/.hidden", "hidden");
  Write(home_ / "docs/.git/f.txt", "hidden");
  fs::create_symlink(home_ / "docs/a.txt", home_ / "docs/link.txt");
  fs::create_directory_symlink(home_ / "docs/sub", home_ / "docs/more");
  fs::create_symlink(home_ / "docs/gone", home_ / "docs/none");
  ASSERT_EQ(mkfifo((home_ / "docs/pipe").c_str(), 0600), 0);
  Write(home_ / "first.txt", std::string(100, 'f'));

  ASSERT_OK_AND_ASSIGN(const Manifest alone, Import({home_ / "docs"}));
  ASSERT_OK_AND_ASSIGN(const Manifest joined, Import({home_ / "first.txt", home_ / "docs"}, "joined"));

  EXPECT_EQ(Read(data_ / "novels/corpus.bin"), std::string(100, 'a'));
  EXPECT_THAT(alone.skipped, ElementsAre("b.txt.gz (gzip)", "c.txt (a zero byte; UTF-16?)", "link.txt (a.txt again)", "more (a link to a folder)",
                                         "none (a link to nothing)", "pipe (not a regular file)", "sub/d.zst (zstd)", "sub/e.zip (zip)"));
  ASSERT_OK_AND_ASSIGN(const Manifest read, ReadDataSet(data_, "novels"));
  EXPECT_EQ(read.skipped, alone.skipped);
  // Of several sources it is told which.
  ASSERT_EQ(joined.skipped.size(), 8u);
  EXPECT_EQ(joined.skipped[0], (home_ / "docs/b.txt.gz").string() + " (gzip)");
}

// As in a cache of Hugging Face's: what is seen lies elsewhere, under names that say nothing.
TEST_F(ImportTextTest, LinksOfAFolderAreFollowedToFilesEachOnce) {
  Write(home_ / "blobs/5e", std::string(50, 'a'));
  Write(home_ / "blobs/07", std::string(40, 'b'));
  fs::create_directories(home_ / "snapshot/sub");
  fs::create_symlink("../blobs/5e", home_ / "snapshot/a.txt");
  fs::create_symlink("../blobs/07", home_ / "snapshot/b.txt");
  fs::create_symlink("../../blobs/5e", home_ / "snapshot/sub/c.txt");

  ASSERT_OK_AND_ASSIGN(const Manifest manifest, Import({home_ / "snapshot"}));

  EXPECT_EQ(Read(data_ / "novels/corpus.bin"), std::string(50, 'a') + std::string(40, 'b'));
  EXPECT_THAT(manifest.skipped, ElementsAre("sub/c.txt (a.txt again)"));
}

TEST_F(ImportTextTest, AFolderWithoutATextIsRefusedWithWhatItHas) {
  Write(home_ / "docs/b.txt.gz", std::string("\x1F\x8B\x08\0", 4));
  Write(home_ / "docs/c.txt", std::string("c\0\n\0", 4));

  const absl::Status refused = Import({home_ / "docs"}).status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("docs; it has b.txt.gz (gzip), c.txt (a zero byte; UTF-16?)"));
}

TEST_F(ImportTextTest, AManifestNamesTheFirstThousandFilesThatWereLeftOut) {
  Write(home_ / "docs/a.txt", std::string(100, 'a'));
  for (int i = 0; i < 1003; ++i) fs::create_symlink("a.txt", home_ / "docs" / fmt::format("link-{:04}", i));

  ASSERT_OK_AND_ASSIGN(const Manifest manifest, Import({home_ / "docs"}));

  EXPECT_EQ(manifest.skipped.size(), 1003u);
  ASSERT_OK_AND_ASSIGN(const Manifest read, ReadDataSet(data_, "novels"));
  ASSERT_EQ(read.skipped.size(), 1001u);
  EXPECT_EQ(read.skipped[999], "link-0999 (a.txt again)");
  EXPECT_EQ(read.skipped[1000], "and 3 more");
}

TEST_F(ImportTextTest, SourcesThatCannotBeReadAreNamed) {
  Write(home_ / "empty", "");
  fs::create_directory(home_ / "folder");
  const auto message = [&](std::vector<fs::path> sources) { return std::string(Import(std::move(sources)).status().message()); };

  EXPECT_NE(message({home_ / "none"}).find("none: No such file"), std::string::npos);
  EXPECT_NE(message({home_ / "empty"}).find("too few"), std::string::npos);
  EXPECT_NE(message({home_ / "folder"}).find("no text file in"), std::string::npos);
  Write(home_ / "a.txt", Pattern(100));
  fs::create_symlink(home_ / "a.txt", home_ / "b.txt");
  EXPECT_NE(message({home_ / "a.txt", home_ / "b.txt"}).find("b.txt is given twice"), std::string::npos);
  ASSERT_EQ(mkfifo((home_ / "pipe").c_str(), 0600), 0);
  EXPECT_NE(message({home_ / "pipe"}).find("pipe is not a regular file"), std::string::npos);  // And is not waited for.
  for (const auto& [begin, kind] : {std::pair("\x1F\x8B", "gzip"), {"PAR1", "Parquet"}, {"BZh", "bzip2"}}) {
    Write(home_ / "packed", begin + Pattern(100));
    EXPECT_NE(message({home_ / "packed"}).find(std::string("packed is a file of ") + kind), std::string::npos);
  }
  if (geteuid() != 0) {  // Root reads everything.
    fs::permissions(home_ / "a.txt", fs::perms::none);
    EXPECT_NE(message({home_ / "a.txt"}).find("Permission denied"), std::string::npos);
  }
  EXPECT_EQ(NamesIn(data_), "");
}

TEST_F(ImportTextTest, ANameIsTakenOnce) {
  Write(home_ / "a.txt", Pattern(1000));
  ASSERT_OK_AND_ASSIGN(const Manifest first, Import({home_ / "a.txt"}));

  const absl::Status again = Import({home_ / "a.txt"}).status();

  EXPECT_EQ(again.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_NE(again.message().find(first.Identity().substr(0, 8)), std::string::npos) << again;
  EXPECT_EQ(NamesIn(data_), "novels ");
  ASSERT_OK(RemoveDataSet(data_, "novels"));
  EXPECT_OK(Import({home_ / "a.txt"}));
  for (const char* name : {"", ".", "..", "a/b", ".hidden", "with blank"}) {
    EXPECT_EQ(Import({home_ / "a.txt"}, name).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

TEST_F(ImportTextTest, UnderTheNameEnwik8OnlyItsBytesAreTaken) {
  Write(home_ / "short", Pattern(1000));
  const absl::Status short_one = Import({home_ / "short"}, "enwik8").status();
  EXPECT_NE(short_one.message().find("1000 bytes instead of 100000000"), std::string::npos) << short_one;

  // The right length and other bytes. A file with a hole in it costs no disk.
  Write(home_ / "long", "x");
  fs::resize_file(home_ / "long", 100'000'000);
  const absl::Status other = Import({home_ / "long"}, "enwik8").status();
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(other.message().find("instead of 2b49720ec4d7"), std::string::npos) << other;
  EXPECT_EQ(NamesIn(data_), "");  // 100 MB of something else are not kept.

  EXPECT_EQ(Import({home_ / "long"}, "enwik8", {80, 10, 10}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ImportTextTest, AKilledImportIsNeverSeenAndTheNextOneComesToTheSameEnd) {
  const std::string text = Pattern(4'500'000);
  Write(home_ / "a.txt", text);
  ASSERT_OK_AND_ASSIGN(const Manifest expected, Import({home_ / "a.txt"}, "undisturbed"));
  int kills = 0;
  for (int step = 0;; ++step) {
    if (!KilledAt(step, [&](Progress& progress) {
          (void)ImportText({.folder = data_, .name = "novels", .sources = {home_ / "a.txt"}}, progress);
        })) {
      break;
    }
    ++kills;
    EXPECT_EQ(TextCorpus::Open(data_, "novels", "").status().code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(ListDataSets(data_).data_sets.size(), 1u);
  }
  EXPECT_GE(kills, 6);  // Start, five blocks, the end.
  ASSERT_OK_AND_ASSIGN(const Manifest manifest, ReadDataSet(data_, "novels"));
  EXPECT_EQ(manifest.Identity(), expected.Identity());
  EXPECT_OK(CheckDataSet(data_, "novels"));
}

TEST_F(ImportTextTest, AnInterruptedImportOfALargeFileGoesOnWhereItWas) {
  const fs::path source = home_ / "large";
  Write(source, Pattern(100'000));
  fs::resize_file(source, 150 << 20);
  const auto import = [&](Progress& progress) { return ImportText({.folder = data_, .name = "large", .sources = {source}}, progress); };
  ASSERT_TRUE(KilledAt(140, [&](Progress& progress) { (void)import(progress); }));

  Recorded progress;
  ASSERT_OK_AND_ASSIGN(const Manifest manifest, import(progress));

  EXPECT_EQ(progress.before(), 128 << 20);
  EXPECT_EQ(progress.now(), 22 << 20);
  EXPECT_OK(CheckDataSet(data_, "large"));
  ASSERT_OK_AND_ASSIGN(const Manifest whole, Import({source}, "whole"));
  EXPECT_EQ(manifest.Identity(), whole.Identity());
}

TEST_F(ImportTextTest, AnInterruptedImportOfOtherBytesBeginsAnew) {
  const fs::path source = home_ / "large";
  Write(source, Pattern(1000));
  fs::resize_file(source, 70 << 20);
  const auto import = [&](Progress& progress) { return ImportText({.folder = data_, .name = "large", .sources = {source}}, progress); };
  ASSERT_TRUE(KilledAt(70, [&](Progress& progress) { (void)import(progress); }));
  Write(source, Pattern(5000));
  fs::resize_file(source, 70 << 20);
  fs::last_write_time(source, fs::file_time_type::clock::now() + std::chrono::seconds(10));

  Recorded progress;
  ASSERT_OK(import(progress).status());

  EXPECT_EQ(progress.before(), 0);
  EXPECT_OK(CheckDataSet(data_, "large"));
}

}  // namespace
}  // namespace longreach::data
