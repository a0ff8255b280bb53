#include "worker/data/staging.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/worker/data/support.h"
#include "worker/data/data_folder.h"
#include "worker/data/files.h"
#include "worker/data/text_corpus.h"

namespace longreach::data {
namespace {

class StagingTest : public ::testing::Test {
 protected:
  // A corpus of ten bytes that a test can then damage.
  std::string Publish() {
    absl::StatusOr<Staging> staging = Staging::Open(data_, "ten");
    EXPECT_OK(staging);
    EXPECT_OK(WriteFile(staging->path() / "corpus.bin", "0123456789"));
    EXPECT_OK(WriteFile(staging->path() / "journal.json", "{}"));
    Manifest manifest;
    manifest.files = {{"corpus.bin", 10, "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882"}};
    manifest.train = {0, 8};
    manifest.valid = {8, 9};
    manifest.test = {9, 10};
    EXPECT_OK(staging->Publish(manifest));
    return manifest.Identity();
  }
  std::string Refusal() { return std::string(TextCorpus::Open(data_, "ten", "").status().message()); }

  testing::TemporaryFolder home_;
  const std::filesystem::path data_ = home_ / "data";
};

TEST_F(StagingTest, PublishesTheManifestsFilesAndNothingElse) {
  const std::string identity = Publish();

  EXPECT_EQ(NamesIn(data_), "ten ");
  EXPECT_FALSE(std::filesystem::exists(data_ / "ten/journal.json"));
  EXPECT_OK(CheckDataSet(data_, "ten"));
  ASSERT_OK_AND_ASSIGN(const TextCorpus corpus, TextCorpus::Open(data_, "ten", identity));
  EXPECT_EQ(corpus.test()[0], '9');
}

TEST_F(StagingTest, OneProcessImportsUnderAName) {
  ASSERT_OK_AND_ASSIGN(const Staging first, Staging::Open(data_, "ten"));

  EXPECT_EQ(Staging::Open(data_, "ten").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(RemoveDataSet(data_, "ten").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_OK(Staging::Open(data_, "eleven"));
}

TEST_F(StagingTest, RemovingLeavesReadersTheirBytes) {
  Publish();
  ASSERT_OK_AND_ASSIGN(const TextCorpus corpus, TextCorpus::Open(data_, "ten", ""));

  ASSERT_OK(RemoveDataSet(data_, "ten"));

  EXPECT_EQ(corpus.train()[7], '7');
  EXPECT_EQ(NamesIn(data_), "");
  EXPECT_EQ(RemoveDataSet(data_, "ten").code(), absl::StatusCode::kNotFound);
}

TEST_F(StagingTest, WhatAnInterruptedImportLeftCanBeRemoved) {
  {
    ASSERT_OK_AND_ASSIGN(const Staging staging, Staging::Open(data_, "ten"));
    ASSERT_OK(WriteFile(staging.path() / "corpus.bin", "0123"));
  }
  EXPECT_EQ(NamesIn(data_), ".importing-ten ");

  ASSERT_OK(RemoveDataSet(data_, "ten"));

  EXPECT_EQ(NamesIn(data_), "");
}

TEST_F(StagingTest, ANameThatIsNotThereIsToldTheNearestOne) {
  const auto why_not_removed = [this](const std::string& name) { return std::string(RemoveDataSet(data_, name).message()); };
  EXPECT_EQ(why_not_removed("ten"), "there is no data set 'ten' in " + data_.string() + "; 'longreach data list' shows what is there");
  Publish();
  ASSERT_OK_AND_ASSIGN(const Staging staging, Staging::Open(data_, "novels"));
  std::filesystem::create_directories(data_ / "notes");

  EXPECT_EQ(why_not_removed("tens"), "there is no data set 'tens' in " + data_.string() + "; did you mean 'ten'?");
  EXPECT_EQ(why_not_removed("novel"), "there is no data set 'novel' in " + data_.string() + "; did you mean 'novels'?") << "an import that has not ended";
  EXPECT_EQ(ReadDataSet(data_, "Ten").status().message(), "there is no data set 'Ten' in " + data_.string() + "; did you mean 'ten'? 'longreach data import' makes one");
  EXPECT_EQ(CheckDataSet(data_, "novel").message(), "there is no data set 'novel' in " + data_.string() + "; 'longreach data import' makes one") << "it cannot be read yet";
  EXPECT_EQ(why_not_removed("note"), "there is no data set 'note' in " + data_.string() + "; 'longreach data list' shows what is there") << "a folder that is none";
}

TEST_F(StagingTest, WhatIsNoDataSetIsNotRemoved) {
  std::filesystem::create_directories(data_ / "notes");
  Write(data_ / "notes/a.txt", "precious");
  Write(data_ / "plain", "precious");

  for (const char* name : {"notes", "plain"}) {
    const absl::Status refused = RemoveDataSet(data_, name);
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(refused.message().find("is no data set: it has no manifest.json"), std::string::npos) << refused;
  }

  EXPECT_EQ(Read(data_ / "notes/a.txt"), "precious");
  EXPECT_EQ(NamesIn(data_), "notes plain ");
}

TEST_F(StagingTest, ADamagedDataSetIsRefusedWithTheFile) {
  const std::string identity = Publish();
  EXPECT_EQ(TextCorpus::Open(data_, "ten", std::string(64, '0')).status().code(), absl::StatusCode::kFailedPrecondition);

  const auto imported = std::filesystem::last_write_time(data_ / "ten/manifest.json");
  Write(data_ / "ten/corpus.bin", "0123456789");
  std::filesystem::last_write_time(data_ / "ten/corpus.bin", imported + std::chrono::seconds(1));
  EXPECT_OK(TextCorpus::Open(data_, "ten", identity));  // The same bytes, written anew.
  Write(data_ / "ten/corpus.bin", "0123456788");
  std::filesystem::last_write_time(data_ / "ten/corpus.bin", imported + std::chrono::seconds(2));
  EXPECT_EQ(TextCorpus::Open(data_, "ten", identity).status().code(), absl::StatusCode::kDataLoss);
  std::filesystem::last_write_time(data_ / "ten/corpus.bin", imported);  // As if the disk had done it: only a full check sees that.
  EXPECT_OK(TextCorpus::Open(data_, "ten", identity));
  const absl::Status checked = CheckDataSet(data_, "ten");
  EXPECT_EQ(checked.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(checked.message().find("ten/corpus.bin"), std::string::npos) << checked;

  Write(data_ / "ten/corpus.bin", "012345678");
  EXPECT_NE(Refusal().find("has 9 bytes, and 10 were imported"), std::string::npos) << Refusal();
  std::filesystem::remove(data_ / "ten/corpus.bin");
  EXPECT_NE(Refusal().find("corpus.bin: is missing; 'longreach data remove ten' and import it anew"), std::string::npos) << Refusal();
  ASSERT_EQ(ListDataSets(data_).damaged.size(), 1u);
  EXPECT_EQ(CheckDataSet(data_, "ten").code(), absl::StatusCode::kDataLoss);
  Write(data_ / "ten/manifest.json", "{");
  EXPECT_NE(Refusal().find("longreach data remove ten"), std::string::npos) << Refusal();

  const Listing listing = ListDataSets(data_);
  EXPECT_TRUE(listing.data_sets.empty());
  ASSERT_EQ(listing.damaged.size(), 1u);
  EXPECT_EQ(listing.damaged[0].name, "ten");
}

// Links that lead to themselves are errors for every user, root too.
TEST_F(StagingTest, AFolderThatCannotBeReadIsNotAnEmptyOne) {
  std::filesystem::create_symlink("loop", home_ / "loop");

  const Listing listing = ListDataSets(home_ / "loop");

  EXPECT_FALSE(listing.status.ok());
  EXPECT_NE(listing.status.message().find("cannot list " + (home_ / "loop").string()), std::string::npos) << listing.status;
  EXPECT_NE(listing.status.message().find("--data-folder"), std::string::npos) << listing.status;
}

TEST_F(StagingTest, WhatCannotBeLookedAtInAFolderIsDamagedAndHidesNothingElse) {
  Publish();
  std::filesystem::create_symlink("loop", data_ / "loop");
  std::filesystem::create_symlink("nowhere", data_ / "no-longer-there");

  const Listing listing = ListDataSets(data_);

  EXPECT_OK(listing.status);
  ASSERT_EQ(listing.data_sets.size(), 1u);
  EXPECT_EQ(listing.data_sets[0].name, "ten");
  ASSERT_EQ(listing.damaged.size(), 1u);
  EXPECT_EQ(listing.damaged[0].name, "loop");
}

TEST_F(StagingTest, AFolderThatIsNotThereHasNothingInIt) {
  EXPECT_OK(ListDataSets(home_ / "nowhere").status);
  EXPECT_TRUE(ListDataSets(home_ / "nowhere").data_sets.empty());
  EXPECT_EQ(TextCorpus::Open(home_ / "nowhere", "ten", "").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace longreach::data
