// That the bytes of data sets are compared with their import before jobs read them: once, and again where that may say something new.
#include "worker/data/verified_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "tests/support/other_user.h"
#include "tests/worker/data/support.h"
#include "worker/data/data_stamp.h"
#include "worker/data/files.h"
#include "worker/data/staging.h"

namespace longreach::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class VerifiedDataTest : public ::testing::Test {
 protected:
  // A corpus of ten bytes.
  void Publish(const std::string& name) {
    absl::StatusOr<Staging> staging = Staging::Open(data_, name);
    ASSERT_OK(staging);
    ASSERT_OK(WriteFile(staging->path() / "corpus.bin", "0123456789"));
    Manifest manifest;
    manifest.files = {{"corpus.bin", 10, "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882"}};
    manifest.train = {0, 8};
    manifest.valid = {8, 9};
    manifest.test = {9, 10};
    ASSERT_OK(staging->Publish(manifest));
  }
  std::filesystem::path Corpus(const std::string& name) const { return data_ / name / "corpus.bin"; }
  // One bit is another, and the time of the last change is as before: a disk does that.
  void Damage(const std::string& name) {
    const auto written = std::filesystem::last_write_time(Corpus(name));
    Write(Corpus(name), "0123456788");
    std::filesystem::last_write_time(Corpus(name), written);
  }
  // How many bytes were read for it.
  absl::StatusOr<int64_t> Verify(VerifiedData& verified, const std::string& name) {
    const absl::StatusOr<Verified> found = verified.Verify(name, std::stop_token(), read_);
    if (!found.ok()) return found.status();
    return found->bytes_read;
  }
  // Names of what is announced.
  static std::vector<std::string> Whole(const Listing& listing) {
    std::vector<std::string> names;
    for (const Manifest& manifest : listing.data_sets) names.push_back(manifest.name);
    return names;
  }

  testing::TemporaryFolder home_;
  const std::filesystem::path data_ = home_ / "data";
  std::atomic<int64_t> read_{0};
};

TEST_F(VerifiedDataTest, ADataSetIsReadOnceAndAgainWhenItsFilesAreOthers) {
  Publish("ten");
  VerifiedData verified(data_);

  EXPECT_EQ(Verify(verified, "ten").value_or(-1), 10);
  EXPECT_EQ(Verify(verified, "ten").value_or(-1), 0);
  std::filesystem::last_write_time(Corpus("ten"), std::filesystem::last_write_time(Corpus("ten")) + std::chrono::seconds(1));
  EXPECT_EQ(Verify(verified, "ten").value_or(-1), 10);
  EXPECT_EQ(Verify(verified, "ten").value_or(-1), 0);
  // A copy takes its place, with its time.
  const auto written = std::filesystem::last_write_time(Corpus("ten"));
  std::filesystem::copy_file(Corpus("ten"), data_ / "ten/copy");
  std::filesystem::last_write_time(data_ / "ten/copy", written);
  std::filesystem::rename(data_ / "ten/copy", Corpus("ten"));
  EXPECT_EQ(Verify(verified, "ten").value_or(-1), 10);

  EXPECT_EQ(read_, 30);
  VerifiedData of_another_process(data_);
  EXPECT_EQ(Verify(of_another_process, "ten").value_or(-1), 10);
}

TEST_F(VerifiedDataTest, WhatIsDoubtedIsReadAgainWithTheSameStamp) {
  Publish("ten");
  Publish("nine");
  VerifiedData verified(data_);
  EXPECT_EQ(Verify(verified, "ten").value_or(-1), 10);
  EXPECT_EQ(Verify(verified, "nine").value_or(-1), 10);

  verified.Doubt("ten");
  verified.Doubt("one that nobody has asked for");

  EXPECT_EQ(Verify(verified, "ten").value_or(-1), 10);
  EXPECT_EQ(Verify(verified, "nine").value_or(-1), 0);
}

TEST_F(VerifiedDataTest, WhatIsRefusedStaysSoWhenItIsDoubted) {
  Publish("ten");
  Damage("ten");
  VerifiedData verified(data_);
  EXPECT_EQ(Verify(verified, "ten").status().code(), absl::StatusCode::kDataLoss);

  verified.Doubt("ten");

  EXPECT_EQ(Verify(verified, "ten").status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(VerifiedDataTest, DamageThatNoTimeTellsIsFoundAndTheDataSetIsNotAnnounced) {
  Publish("nine");
  Publish("ten");
  Damage("ten");
  VerifiedData verified(data_);
  EXPECT_THAT(Whole(verified.Look(ListDataSets(data_))), ElementsAre("nine", "ten"));

  const absl::Status found = Verify(verified, "ten").status();
  const absl::Status again = Verify(verified, "ten").status();

  EXPECT_EQ(found.code(), absl::StatusCode::kDataLoss) << found;
  EXPECT_THAT(std::string(found.message()), HasSubstr("ten/corpus.bin: its bytes have changed since the import"));
  EXPECT_EQ(again.code(), absl::StatusCode::kUnavailable) << again;
  EXPECT_EQ(std::string(again.message()), std::string(found.message()));
  EXPECT_EQ(read_, 10) << "what is known to be damaged is not read again";
  EXPECT_EQ(verified.WhyRefused("ten"), std::string(found.message()));
  EXPECT_EQ(verified.WhyRefused("nine"), "");
  const Listing listing = verified.Look(ListDataSets(data_));
  EXPECT_THAT(Whole(listing), ElementsAre("nine"));
  ASSERT_EQ(listing.damaged.size(), 1u);
  EXPECT_EQ(listing.damaged[0].Text(), "ten: " + std::string(found.message()));
}

TEST_F(VerifiedDataTest, WhatIsImportedAnewIsAnnouncedAndReadAgain) {
  Publish("ten");
  Damage("ten");
  VerifiedData verified(data_);
  EXPECT_FALSE(Verify(verified, "ten").ok());

  ASSERT_OK(RemoveDataSet(data_, "ten"));
  Publish("ten");
  // The files have other inodes or times, if the clock of the file system is fine enough for that; a day tells them apart on any.
  std::filesystem::last_write_time(Corpus("ten"), std::filesystem::last_write_time(Corpus("ten")) - std::chrono::hours(24));

  EXPECT_THAT(Whole(verified.Look(ListDataSets(data_))), ElementsAre("ten"));
  EXPECT_EQ(verified.WhyRefused("ten"), "");
  EXPECT_EQ(Verify(verified, "ten").value_or(-1), 10);
}

TEST_F(VerifiedDataTest, WhatIsMissingIsRefusedUntilItIsBack) {
  Publish("ten");
  VerifiedData verified(data_);
  std::filesystem::rename(Corpus("ten"), home_ / "aside");

  const absl::Status missing = Verify(verified, "ten").status();

  EXPECT_EQ(missing.code(), absl::StatusCode::kDataLoss) << missing;
  EXPECT_THAT(std::string(missing.message()), HasSubstr("is missing"));
  EXPECT_THAT(verified.WhyRefused("ten"), HasSubstr("is missing"));
  const Listing without = verified.Look(ListDataSets(data_));
  EXPECT_THAT(Whole(without), IsEmpty());
  EXPECT_EQ(without.damaged.size(), 1u);
  std::filesystem::rename(home_ / "aside", Corpus("ten"));
  EXPECT_THAT(Whole(verified.Look(ListDataSets(data_))), ElementsAre("ten"));
  EXPECT_EQ(verified.WhyRefused("ten"), "");
  EXPECT_EQ(Verify(verified, "ten").value_or(-1), 10);
}

class StandingClock final : public Clock {
 public:
  WallTime Wall() const override { return {}; }
  SteadyTime Steady() const override { return now; }
  SteadyTime now{std::chrono::hours(1)};
};

// As where its disk has an error: the file's size and times are there, and its bytes are not.
TEST_F(VerifiedDataTest, WhatCannotBeReadIsRefusedForAWhileOrUntilItsFileIsAnother) {
  using std::filesystem::perms;
  Publish("ten");
  for (const std::filesystem::path& open : {home_.path(), data_, data_ / "ten"}) std::filesystem::permissions(open, perms::all);
  std::filesystem::permissions(data_ / "ten" / kManifest, perms::owner_read | perms::group_read | perms::others_read);
  std::filesystem::permissions(Corpus("ten"), perms::none);
  const auto clock = std::make_shared<StandingClock>();
  VerifiedData verified(data_, clock);
  {
    const testing::OtherUser reader;
    const auto found = [&] { return Verify(verified, "ten").status().code(); };
    EXPECT_EQ(found(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(found(), absl::StatusCode::kUnavailable);

    clock->now += VerifiedData::kUnreadableFor - std::chrono::seconds(1);
    EXPECT_THAT(Whole(verified.Look(ListDataSets(data_))), IsEmpty());
    EXPECT_THAT(verified.WhyRefused("ten"), HasSubstr("ten/corpus.bin"));
    EXPECT_EQ(found(), absl::StatusCode::kUnavailable);

    clock->now += std::chrono::seconds(1);
    EXPECT_THAT(Whole(verified.Look(ListDataSets(data_))), ElementsAre("ten"));
    EXPECT_EQ(found(), absl::StatusCode::kDataLoss) << "it is tried again";
  }

  std::filesystem::permissions(Corpus("ten"), perms::all);
  EXPECT_THAT(Whole(verified.Look(ListDataSets(data_))), ElementsAre("ten")) << "at once";
  EXPECT_EQ(Verify(verified, "ten").value_or(-1), 10);
}

TEST_F(VerifiedDataTest, WhatIsCalledOffSaysNothingOfTheDataSet) {
  Publish("ten");
  VerifiedData verified(data_);
  std::stop_source stop;
  stop.request_stop();

  EXPECT_EQ(verified.Verify("ten", stop.get_token(), read_).status().code(), absl::StatusCode::kCancelled);

  EXPECT_EQ(verified.WhyRefused("ten"), "");
  EXPECT_EQ(read_, 0);
  EXPECT_EQ(Verify(verified, "ten").value_or(-1), 10);
}

// As a trainer opens them: files that were written after their manifest, as a plain copy leaves them.
TEST_F(VerifiedDataTest, WhatIsKnownToBeVerifiedIsNotReadAgainWhereItIsOpenedAndWhatIsTouchedIs) {
  Publish("ten");
  const auto imported = std::filesystem::last_write_time(data_ / "ten" / kManifest);
  const auto opened = [&] { return ReadDataSet(data_, "ten", "", Kind::kText).status(); };
  Write(Corpus("ten"), "0123456788");
  std::filesystem::last_write_time(Corpus("ten"), imported + std::chrono::seconds(2));
  ASSERT_EQ(opened().code(), absl::StatusCode::kDataLoss) << "so it is read";
  ASSERT_OK_AND_ASSIGN(const Manifest manifest, ReadDataSet(data_, "ten"));
  ASSERT_OK_AND_ASSIGN(const std::string stamp, StampOf(data_, manifest));

  TakeAsVerified(stamp);

  EXPECT_OK(opened());
  std::filesystem::last_write_time(Corpus("ten"), imported + std::chrono::seconds(3));
  EXPECT_EQ(opened().code(), absl::StatusCode::kDataLoss);
}

TEST_F(VerifiedDataTest, TheStampOfWhatWasFoundWholeIsThatOfItsFilesAlsoWhenNothingWasReadForIt) {
  Publish("ten");
  ASSERT_OK_AND_ASSIGN(const Manifest manifest, ReadDataSet(data_, "ten"));
  ASSERT_OK_AND_ASSIGN(const std::string stamp, StampOf(data_, manifest));
  VerifiedData verified(data_);

  for (const int64_t bytes : {10, 0}) {
    ASSERT_OK_AND_ASSIGN(const Verified found, verified.Verify("ten", std::stop_token(), read_));
    EXPECT_EQ(found.stamp, stamp);
    EXPECT_EQ(found.bytes_read, bytes);
  }
}

TEST_F(VerifiedDataTest, NoDataSetIsNone) {
  VerifiedData verified(data_);

  EXPECT_EQ(Verify(verified, "ten").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Verify(verified, "../ten").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace longreach::data
