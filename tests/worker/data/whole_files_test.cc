#include "worker/data/whole_files.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "tests/worker/data/support.h"
#include "worker/data/data_folder.h"

namespace longreach::data {
namespace {

// Cuts a file off once a part of it has been read.
class CutsOff final : public Progress {
 public:
  explicit CutsOff(std::filesystem::path file) : file_(std::move(file)) {}
  void Start(int64_t, int64_t, const std::string&) override {}
  void Advance(int64_t) override { std::filesystem::resize_file(file_, 10); }
  void Finish() override {}

 private:
  const std::filesystem::path file_;
};

TEST(ImportWholeFilesTest, AFileThatIsCutOffWhileItIsReadIsAnErrorAndLeavesNothing) {
  testing::TemporaryFolder home;
  for (const bool link : {false, true}) {
    const std::filesystem::path source = home / "source";
    std::ofstream(source, std::ios::binary | std::ios::trunc) << std::string(size_t{3} << 20, 'x');
    Manifest manifest;
    CutsOff progress(source);

    const absl::Status status =
        ImportWholeFiles(home / "data", "bench", {{source, "source"}}, link, [](size_t) { return absl::OkStatus(); }, manifest, progress).status();

    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_NE(status.message().find("it was cut off meanwhile"), std::string::npos) << status;
    EXPECT_FALSE(std::filesystem::exists(home / "data/.importing-bench")) << link;
    EXPECT_TRUE(ListDataSets(home / "data").data_sets.empty());
  }
}

}  // namespace
}  // namespace longreach::data
