#include "worker/agent/outbox.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_folder.h"

namespace longreach::agent {
namespace {

v1::AttemptReport ReportOf(uint64_t attempt) {
  v1::AttemptReport report;
  report.set_attempt(attempt);
  report.set_outcome(v1::AttemptReport::OUTCOME_SUCCEEDED);
  v1::Measurement& accuracy = *report.add_results()->add_measurements();
  accuracy.set_metric("accuracy");
  accuracy.set_value(0.75);
  return report;
}

TEST(OutboxTest, KeepsReportsAcrossARestartUntilTheyAreRemoved) {
  testing::TemporaryFolder folder;
  {
    absl::StatusOr<Outbox> outbox = Outbox::Open(folder.path());
    ASSERT_TRUE(outbox.ok()) << outbox.status();
    ASSERT_TRUE(outbox->Add(ReportOf(7))().ok());
    ASSERT_TRUE(outbox->Add(ReportOf(12))().ok());
    outbox->Remove(7)();
  }

  absl::StatusOr<Outbox> reopened = Outbox::Open(folder.path());

  ASSERT_TRUE(reopened.ok()) << reopened.status();
  ASSERT_EQ(reopened->reports().size(), 1u);
  EXPECT_EQ(reopened->reports().at(12).SerializeAsString(), ReportOf(12).SerializeAsString());
}

// On a full disk, where each would take some of the room that is to be made.
TEST(OutboxTest, WhatCouldNotBeWrittenToItsEndGoesWithItsReportOrAtTheNextStart) {
  testing::TemporaryFolder folder;
  absl::StatusOr<Outbox> outbox = Outbox::Open(folder.path());
  ASSERT_TRUE(outbox.ok()) << outbox.status();
  for (const uint64_t attempt : {uint64_t{7}, uint64_t{12}}) {
    const std::filesystem::path beside = folder.path() / (std::to_string(attempt) + ".pb.new");
    std::filesystem::create_symlink("/dev/full", beside);
    EXPECT_EQ(outbox->Add(ReportOf(attempt))().code(), absl::StatusCode::kResourceExhausted);
    std::filesystem::remove(beside);
    std::ofstream(beside) << "a part of a report";
  }

  outbox->Remove(7)();
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "7.pb.new"));
  EXPECT_TRUE(Outbox::Open(folder.path()).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(OutboxTest, SeveralReportsShareAFileThatGoesWithTheLastOfThem) {
  testing::TemporaryFolder folder;
  {
    absl::StatusOr<Outbox> outbox = Outbox::Open(folder.path());
    ASSERT_TRUE(outbox.ok()) << outbox.status();
    ASSERT_TRUE(outbox->Add(ReportOf(7))().ok());
    ASSERT_TRUE(outbox->AddAll({ReportOf(12), ReportOf(13), ReportOf(14)})().ok());
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "from-12.pb"));
  }

  absl::StatusOr<Outbox> reopened = Outbox::Open(folder.path());

  ASSERT_TRUE(reopened.ok()) << reopened.status();
  ASSERT_EQ(reopened->reports().size(), 4u);
  EXPECT_EQ(reopened->reports().at(13).SerializeAsString(), ReportOf(13).SerializeAsString());
  EXPECT_EQ(reopened->Remove(12), nullptr);
  EXPECT_EQ(reopened->Remove(14), nullptr);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "from-12.pb"));
  reopened->Remove(13)();
  EXPECT_EQ(reopened->Remove(13), nullptr) << "it is forgotten";
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "from-12.pb"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "7.pb"));
}

TEST(OutboxTest, PutsAsideWhatIsNoReportAndKeepsTheRest) {
  testing::TemporaryFolder folder;
  ASSERT_TRUE(Outbox::Open(folder.path())->Add(ReportOf(12))().ok());
  std::ofstream(folder.path() / "3.pb") << "\xff\xff garbage";
  std::ofstream(folder.path() / "4.pb");                              // Empty: as a power cut leaves it without a sync.
  std::ofstream(folder.path() / "5.pb") << ReportOf(6).SerializeAsString();  // Another attempt's.
  std::ofstream(folder.path() / "from-9.pb") << ReportOf(9).SerializeAsString();
  std::filesystem::create_directory(folder.path() / "10.pb");  // Cannot be read at all.
  ASSERT_EQ(::mkfifo((folder.path() / "11.pb").c_str(), 0600), 0);  // Nobody writes into it.
  std::ofstream(folder.path() / "8.pb.new") << "a write that never ended";

  absl::StatusOr<Outbox> outbox = Outbox::Open(folder.path());

  ASSERT_TRUE(outbox.ok()) << outbox.status();
  EXPECT_EQ(outbox->reports().size(), 1u);
  EXPECT_TRUE(outbox->reports().contains(12));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "3.pb.unreadable"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "4.pb.unreadable"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "5.pb.unreadable"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "from-9.pb.unreadable"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "10.pb.unreadable"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "11.pb.unreadable"));
}

}  // namespace
}  // namespace longreach::agent
