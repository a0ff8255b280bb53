#include "worker/agent/inbox.h"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>

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
  Inbox inbox_;
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
  Inbox of_another_worker;
  inbox_.SetFolder((folder_.path() / "inbox").string());
  of_another_worker.SetFolder((folder_.path() / "inbox").string());

  const std::optional<InboxLink> first = inbox_.Link(folder_.path() / "file"), second = inbox_.Link(folder_.path() / "file");
  const std::optional<InboxLink> other = of_another_worker.Link(folder_.path() / "file");

  ASSERT_TRUE(first.has_value() && second.has_value() && other.has_value());
  EXPECT_NE(first->name(), second->name());
  EXPECT_NE(first->name(), other->name());
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
