// Parts of files whose senders broke off, and files for which there is no space.
#include "store/unfinished_file.h"

#include <csignal>

#include <sys/resource.h>

#include "tests/store/fixture.h"

namespace longreach::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using longreach::testing::TemporaryFolder;

class UnfinishedFileTest : public ::testing::Test {
 protected:
  UnfinishedFileTest() : test_(folder_ / "s.db") {}

  ArtifactFiles& files() { return test_.store->artifacts(); }

  TemporaryFolder folder_;
  TestStore test_;
};

TEST_F(UnfinishedFileTest, AFileGoesOnFromWhatCameOfIt) {
  const std::string bytes = std::string(2'000'000, 'a') + std::string(2'000'000, 'b');
  std::optional<UnfinishedFile> part;
  {
    ASSERT_OK_AND_ASSIGN(ArtifactWriter first, files().Create(Sha256Of(bytes), std::ssize(bytes)));
    ASSERT_OK(first.Append(std::string_view(bytes).substr(0, 3'000'000)));
    ASSERT_OK_AND_ASSIGN(UnfinishedFile left, first.Leave());
    part.emplace(std::move(left));
  }
  EXPECT_EQ(part->bytes(), 3'000'000);

  // Its sender goes on earlier than it might.
  ASSERT_OK_AND_ASSIGN(ArtifactWriter writer, files().GoOn(*std::move(part), Sha256Of(bytes), std::ssize(bytes), 2'500'000));
  EXPECT_FALSE(*writer.ReadBack(2'000'000));
  EXPECT_TRUE(*writer.ReadBack(2'000'000));
  EXPECT_EQ(writer.missing(), 1'500'000);
  ASSERT_OK(writer.Append(std::string_view(bytes).substr(2'500'000)));
  ASSERT_OK(writer.Commit());

  EXPECT_TRUE(*files().Read(Sha256Of(bytes), 5'000'000) == bytes);
  EXPECT_THAT(files().Unsettled(), ElementsAre(Sha256Of(bytes)));
}

TEST_F(UnfinishedFileTest, AFileThatGoesOnFromOtherBytesIsRefusedAndLeavesNothing) {
  {
    ASSERT_OK_AND_ASSIGN(ArtifactWriter first, files().Create(Sha256Of("right"), 5));
    ASSERT_OK(first.Append("wri"));
    ASSERT_OK_AND_ASSIGN(UnfinishedFile part, first.Leave());
    ASSERT_OK_AND_ASSIGN(ArtifactWriter writer, files().GoOn(std::move(part), Sha256Of("right"), 5, 3));
    EXPECT_TRUE(*writer.ReadBack(100));
    ASSERT_OK(writer.Append("ht"));
    EXPECT_EQ(writer.Commit().status().code(), absl::StatusCode::kDataLoss);
  }
  EXPECT_THAT(files().List(), IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(files().folder() / "tmp"));
}

TEST_F(UnfinishedFileTest, APartThatIsGoneFromTheDiskIsNotGoneOnFrom) {
  ASSERT_OK_AND_ASSIGN(ArtifactWriter first, files().Create(Sha256Of("right"), 5));
  ASSERT_OK(first.Append("rig"));
  ASSERT_OK_AND_ASSIGN(UnfinishedFile part, first.Leave());
  const std::filesystem::path file = std::filesystem::directory_iterator(files().folder() / "tmp")->path();
  std::filesystem::resize_file(file, 2);
  // Between the two it was cut: GoOn() makes it as long as it is said to be, with other bytes.
  ASSERT_OK_AND_ASSIGN(ArtifactWriter writer, files().GoOn(std::move(part), Sha256Of("right"), 5, 3));
  std::filesystem::resize_file(file, 2);
  EXPECT_EQ(writer.ReadBack(100).status().code(), absl::StatusCode::kDataLoss);

  ASSERT_OK_AND_ASSIGN(ArtifactWriter another, files().Create(Sha256Of("right"), 5));
  ASSERT_OK(another.Append("rig"));
  ASSERT_OK_AND_ASSIGN(UnfinishedFile removed, another.Leave());
  std::filesystem::remove_all(files().folder() / "tmp");
  EXPECT_EQ(files().GoOn(std::move(removed), Sha256Of("right"), 5, 3).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(UnfinishedFileTest, APartThatNobodyGoesOnFromIsRemoved) {
  {
    ASSERT_OK_AND_ASSIGN(ArtifactWriter first, files().Create(Sha256Of("right"), 5));
    ASSERT_OK(first.Append("rig"));
    ASSERT_OK_AND_ASSIGN(UnfinishedFile part, first.Leave());
    const UnfinishedFile other = std::move(part);
    EXPECT_FALSE(std::filesystem::is_empty(files().folder() / "tmp"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(files().folder() / "tmp"));
}

TEST_F(UnfinishedFileTest, WhereThereIsNoSpaceWhoeverCanMakeSomeIsAsked) {
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  void (*const handler)(int) = std::signal(SIGXFSZ, SIG_IGN);
  const auto have_space = [&before](rlim_t bytes) {
    const rlimit small{.rlim_cur = bytes, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  };
  int asked = 0;
  files().MakeSpaceBy([&] {
    if (++asked > 2) return false;
    have_space(100u * static_cast<rlim_t>(asked));
    return true;
  });
  const std::string bytes(200, 'x');
  have_space(50);

  absl::StatusOr<ArtifactWriter> writer = files().Create(Sha256Of(bytes), std::ssize(bytes));
  const absl::Status appended = writer.ok() ? writer->Append(bytes) : writer.status();
  absl::StatusOr<ArtifactWriter> larger = files().Create(Sha256Of(bytes + bytes), 2 * std::ssize(bytes));
  const absl::Status refused = larger.ok() ? larger->Append(bytes + bytes) : larger.status();
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);

  EXPECT_OK(appended);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(asked, 3);
  EXPECT_OK(writer->Commit());
}

}  // namespace
}  // namespace longreach::store
