#include "worker/agent/inbox.h"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <set>
#include <string>

#include "tests/support/temporary_folder.h"

namespace longreach::agent {
namespace {

class InboxTest : public ::testing::Test {
 protected:
  InboxTest() {
    std::filesystem::create_directory(folder_.path() / "inbox");
    std::ofstream(folder_.path() / "file") << "bytes";
  }

  testing::TemporaryFolder folder_;
  Inbox inbox_{"worker", 2};
};

TEST_F(InboxTest, LinksAFileUntilTheLinkIsDropped) {
  inbox_.SetFolder((folder_.path() / "inbox").string());
  {
    const std::optional<InboxLink> link = inbox_.Link(folder_.path() / "file");
    ASSERT_TRUE(link.has_value());
    EXPECT_TRUE(std::filesystem::equivalent(folder_.path() / "inbox" / link->name(), folder_.path() / "file"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path() / "inbox"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "file"));
}

TEST_F(InboxTest, GivesEveryLinkAnotherName) {
  Inbox of_another_worker("another", 2);
  inbox_.SetFolder((folder_.path() / "inbox").string());
  of_another_worker.SetFolder((folder_.path() / "inbox").string());

  const std::optional<InboxLink> first = inbox_.Link(folder_.path() / "file"), second = inbox_.Link(folder_.path() / "file");
  const std::optional<InboxLink> other = of_another_worker.Link(folder_.path() / "file");

  ASSERT_TRUE(first.has_value() && second.has_value() && other.has_value());
  EXPECT_NE(first->name(), second->name());
  EXPECT_NE(first->name(), other->name());
}

TEST_F(InboxTest, RemovesWhatEarlierStartsOfItsWorkerLeft) {
  const std::filesystem::path folder = folder_.path() / "inbox";
  for (const char* const name : {"worker-1-1", "worker-12-3", "worker-2-1", "another-1-1", "workers-1-1"}) std::ofstream(folder / name) << "bytes";

  inbox_.SetFolder(folder.string());

  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) left.insert(entry.path().filename().string());
  EXPECT_EQ(left, (std::set<std::string>{"worker-2-1", "another-1-1", "workers-1-1"}));
  // Once for each folder: it is told with every answer.
  std::ofstream(folder / "worker-1-2") << "bytes";
  inbox_.SetFolder(folder.string());
  EXPECT_TRUE(std::filesystem::exists(folder / "worker-1-2"));
}

TEST_F(InboxTest, LinksNothingWhereItCannot) {
  EXPECT_FALSE(inbox_.Link(folder_.path() / "file").has_value()) << "no inbox";
  inbox_.SetFolder((folder_.path() / "of another machine").string());
  EXPECT_FALSE(inbox_.Link(folder_.path() / "file").has_value());
  if (std::filesystem::exists("/proc/self")) {
    inbox_.SetFolder("/proc/self");  // Another file system.
    EXPECT_FALSE(inbox_.Link(folder_.path() / "file").has_value());
  }
}

}  // namespace
}  // namespace longreach::agent
