#include "worker/agent/file_cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "proto/base/sha256.h"
#include "tests/support/temporary_folder.h"

namespace longreach::agent {
namespace {

class FileCacheTest : public ::testing::Test {
 protected:
  FileCacheTest() : cache_(folder_.path() / "cache") { std::filesystem::create_directory(folder_.path() / "cache"); }

  // Keeps a file of this content and returns its hash.
  std::string Keep(const std::string& content) {
    std::ofstream(folder_.path() / "original") << content;
    const std::string sha256 = Sha256Of(content);
    cache_.Keep(folder_.path() / "original", sha256);
    std::filesystem::remove(folder_.path() / "original");
    return sha256;
  }

  testing::TemporaryFolder folder_;
  FileCache cache_;
};

TEST_F(FileCacheTest, GivesBackWhatItKept) {
  const std::string sha256 = Keep("parameters");

  ASSERT_TRUE(cache_.Take(sha256, folder_.path() / "taken").ok());

  std::ifstream taken(folder_.path() / "taken");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(taken), {}), "parameters");
}

TEST_F(FileCacheTest, DoesNotGiveDamagedBytes) {
  const std::string sha256 = Keep("parameters");
  std::ofstream(folder_.path() / "cache" / sha256) << "parameterz";

  EXPECT_EQ(cache_.Take(sha256, folder_.path() / "taken").code(), absl::StatusCode::kNotFound);

  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "taken"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "cache" / sha256));
}

TEST_F(FileCacheTest, RefusesAHashThatIsAPath) {
  std::ofstream(folder_.path() / "secret") << "x";

  EXPECT_EQ(cache_.Take("../secret", folder_.path() / "taken").code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(FileCacheTest, LetsGoOfTheOldest) {
  std::vector<std::string> kept;
  for (size_t i = 0; i < FileCache::kFiles + 3; ++i) {
    kept.push_back(Keep(fmt::format("file {}", i)));
    // File systems may stamp two files alike; the test says which is older.
    std::filesystem::last_write_time(folder_.path() / "cache" / kept.back(),
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(100 - i));
  }
  kept.push_back(Keep("the newest"));

  EXPECT_FALSE(cache_.Take(kept.front(), folder_.path() / "taken").ok());
  EXPECT_TRUE(cache_.Take(kept.back(), folder_.path() / "taken").ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path() / "cache"), {}),
            static_cast<std::ptrdiff_t>(FileCache::kFiles));
}

TEST_F(FileCacheTest, KeepsNoMoreBytesThanItIsAllowed) {
  const FileCache small(folder_.path() / "cache", /*most_bytes=*/10);
  const auto keep = [&](const std::string& content, int age_h) {
    std::ofstream(folder_.path() / "original") << content;
    small.Keep(folder_.path() / "original", Sha256Of(content));
    std::filesystem::remove(folder_.path() / "original");
    std::error_code not_kept;
    std::filesystem::last_write_time(folder_.path() / "cache" / Sha256Of(content), std::filesystem::file_time_type::clock::now() - std::chrono::hours(age_h),
                                     not_kept);
  };
  const auto has = [&](const std::string& content) { return small.Take(Sha256Of(content), folder_.path() / "taken").ok(); };

  keep("oldest", 3);
  keep("four", 2);
  keep("twelve bytes", 0);  // It alone is too large.

  EXPECT_FALSE(has("twelve bytes"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "cache" / Sha256Of("oldest")));
  keep("5more", 1);
  EXPECT_FALSE(has("oldest"));
  EXPECT_TRUE(has("four"));
  EXPECT_TRUE(has("5more"));
}

TEST_F(FileCacheTest, HasOneNameForAFileThatIsKeptAgain) {
  std::ofstream(folder_.path() / "original") << "weights";
  cache_.Keep(folder_.path() / "original", Sha256Of("weights"));

  cache_.Keep(folder_.path() / "original", Sha256Of("weights"));  // The same file under the same name.

  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "cache" / (Sha256Of("weights") + ".new")));
  std::filesystem::remove(folder_.path() / "original");
  EXPECT_TRUE(cache_.MakeRoom());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path() / "cache"));
}

TEST_F(FileCacheTest, MakesRoomByWhatNoAttemptUses) {
  const std::string used = Keep("in use"), unused = Keep("kept for later");
  ASSERT_TRUE(cache_.Take(used, folder_.path() / "of an attempt").ok());

  EXPECT_TRUE(cache_.MakeRoom());

  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "cache" / unused));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "cache" / used));
  EXPECT_FALSE(cache_.MakeRoom()) << "nothing is left that takes space here alone";
}

}  // namespace
}  // namespace longreach::agent
