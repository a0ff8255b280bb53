// What is told of a mapped file that is cut off while it is read.
#include "worker/data/bus_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "tests/support/temporary_folder.h"
#include "tests/worker/data/support.h"
#include "worker/data/files.h"
#include "worker/data/mapped_file.h"

namespace longreach::data {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StrEq;

constexpr size_t kSomePages = 64 << 10;

class BusErrorTest : public ::testing::Test {
 protected:
  BusErrorTest() {
    // The tests' processes that end by a signal are started anew: a handler of theirs is no other test's.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
  // A file of some pages.
  MappedFile Map(const std::string& name) const {
    EXPECT_OK(WriteFile(folder_ / name, std::string(kSomePages, 'a')));
    absl::StatusOr<MappedFile> mapped = MappedFile::Open(folder_ / name);
    EXPECT_OK(mapped);
    return mapped.ok() ? *std::move(mapped) : MappedFile();
  }

  testing::TemporaryFolder folder_;
};

using BusErrorDeathTest = BusErrorTest;

TEST_F(BusErrorDeathTest, TheFileIsNamedThatIsCutOffWhereItIsRead) {
  const auto read_what_is_gone = [&] {
    TellBusErrors();
    const MappedFile other = Map("other.bin"), mapped = Map("corpus.bin");
    std::filesystem::resize_file(folder_ / "corpus.bin", 10);
    const volatile uint8_t* const last = &mapped.bytes().back();
    (void)*last;
  };

  EXPECT_DEATH(read_what_is_gone(), "a file was cut off while it was read, or its disk gives nothing of it: .*corpus\\.bin");
}

TEST_F(BusErrorDeathTest, ASignalThatIsSentIsOfNoFile) {
  const auto be_killed = [&] {
    TellBusErrors();
    const MappedFile mapped = Map("corpus.bin");
    std::raise(SIGBUS);
  };

  EXPECT_DEATH(be_killed(), Not(HasSubstr("a file was cut off")));
}

TEST_F(BusErrorTest, AFileIsKnownByItsBytesForAsLongAsItIsMapped) {
  const uint8_t* begin = nullptr;
  {
    MappedFile mapped = Map("corpus.bin");
    const MappedFile other = Map("other.bin"), moved = std::move(mapped);
    begin = moved.bytes().data();
    EXPECT_THAT(MappedFileAt(begin), StrEq((folder_ / "corpus.bin").string()));
    EXPECT_THAT(MappedFileAt(begin + kSomePages - 1), StrEq((folder_ / "corpus.bin").string()));
    EXPECT_THAT(MappedFileAt(other.bytes().data()), StrEq((folder_ / "other.bin").string()));
  }
  EXPECT_EQ(MappedFileAt(begin), nullptr);
  EXPECT_EQ(MappedFileAt(nullptr), nullptr);
}

TEST_F(BusErrorTest, ANameThatIsTooLongIsCutAndWhatATerminalWouldObeyIsShown) {
  const uint8_t bytes[2] = {};
  NoteMapped(bytes, std::string(1000, 'x'));
  EXPECT_THAT(MappedFileAt(bytes), StrEq(std::string(399, 'x')));
  NoteUnmapped(bytes);

  NoteMapped(bytes, "\x1b[31m");
  EXPECT_THAT(MappedFileAt(bytes + 1), StrEq("\\x1b[31m"));
  EXPECT_EQ(MappedFileAt(bytes + 2), nullptr);
  NoteUnmapped(bytes);
}

}  // namespace
}  // namespace longreach::data
