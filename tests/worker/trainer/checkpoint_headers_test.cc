// Headers of checkpoints, which anybody may have written, and how their files are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/temporary_folder.h"
#include "worker/trainer/checkpoint/member_checkpoint.h"
#include "worker/trainer/checkpoint/safetensors.h"

namespace longreach::trainer {
namespace {

class SafetensorsHeaderTest : public ::testing::Test {
 protected:
  absl::StatusOr<SafetensorsFile> Read(std::string_view header, std::string_view payload = {}) {
    std::string bytes(8, '\0');
    for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
    bytes += header;
    bytes += payload;
    std::ofstream(folder_ / "x.safetensors", std::ios::binary) << bytes;
    return SafetensorsFile::Open(folder_ / "x.safetensors");
  }

  longreach::testing::TemporaryFolder folder_;
};

TEST_F(SafetensorsHeaderTest, CountsTheElementsOfAnEmptyTensorWhateverItsOtherSizes) {
  // The product of the first two does not fit into 63 bits; the last makes it nothing.
  const absl::StatusOr<SafetensorsFile> file =
      Read(R"({"x":{"dtype":"U8","shape":[9223372036854775807,2,0],"data_offsets":[0,0]}})");

  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->Find("x")->count(), 0);
}

TEST_F(SafetensorsHeaderTest, ReadsATensorWithoutElements) {
  const absl::StatusOr<SafetensorsFile> file = Read(R"({"x":{"dtype":"F64","shape":[3,0],"data_offsets":[0,0]}})");

  ASSERT_TRUE(file.ok()) << file.status();
  const absl::StatusOr<std::vector<double>> values = file->Doubles("x");
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_TRUE(values->empty());
}

TEST_F(SafetensorsHeaderTest, RefusesAMemberWhoseTensorsDoNotFitEachOther) {
  // Flags of one member for two jobs.
  const absl::StatusOr<SafetensorsFile> file =
      Read(R"({"__metadata__":{"kind":"checkpoint","settings":"s","jobs":"a\nb","step":"1","loss_updates":"0"},)"
           R"("member/curve":{"dtype":"F64","shape":[0],"data_offsets":[0,0]},)"
           R"("member/flags":{"dtype":"I32","shape":[1,5],"data_offsets":[0,20]},)"
           R"("member/loss_sum":{"dtype":"F64","shape":[0],"data_offsets":[20,20]},)"
           R"("test/accuracy":{"dtype":"F64","shape":[0],"data_offsets":[20,20]},)"
           R"("test/loss":{"dtype":"F64","shape":[0],"data_offsets":[20,20]}})",
           std::string(20, '\0'));
  ASSERT_TRUE(file.ok()) << file.status();

  const absl::StatusOr<MemberCheckpoint> member = ReadMemberCheckpoint(*file, 1, "b", "s");

  EXPECT_EQ(member.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(member.status().message(), "its tensors do not fit each other");
}

class SafetensorsPiecesTest : public ::testing::Test {
 protected:
  // Of so many bytes by its own account, which come as these pieces.
  static SafetensorsPart Announcing(uint64_t bytes, const std::vector<std::string>& pieces) {
    return {.name = "x", .dtype = "U8", .shape = {static_cast<int64_t>(bytes)},
            .bytes = {bytes, [pieces](const TakeBytes& take) -> absl::Status {
                        for (const std::string& piece : pieces) RETURN_IF_ERROR(take(piece));
                        return absl::OkStatus();
                      }}};
  }
  // Writes it behind another one, over an older file.
  absl::Status Write(const SafetensorsPart& part) {
    std::ofstream(file_) << "older";
    const std::vector<SafetensorsPart> parts = {{.name = "before", .dtype = "U8", .shape = {3}, .bytes = std::string_view("abc")}, part};
    return WriteSafetensors(file_, {{"key", "value"}}, parts);
  }
  std::string Written() const {
    std::ifstream in(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  bool NothingIsLeftBeside() const { return !std::filesystem::exists(file_.string() + ".part"); }

  longreach::testing::TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_ / "x.safetensors";
};

TEST_F(SafetensorsPiecesTest, PiecesMakeTheSameFileAsAllBytesTogether) {
  ASSERT_TRUE(Write({.name = "x", .dtype = "U8", .shape = {8}, .bytes = std::string_view("12345678")}).ok());
  const std::string together = Written();
  for (const std::vector<std::string>& pieces : {std::vector<std::string>{"12345678"}, {"1", "", "2345", "678"}, {"", "1234567", "8", ""}}) {
    ASSERT_TRUE(Write(Announcing(8, pieces)).ok());

    EXPECT_EQ(Written(), together);
    EXPECT_TRUE(NothingIsLeftBeside());
  }
}

TEST_F(SafetensorsPiecesTest, PiecesThatAreNotAsManyBytesAsAnnouncedAreRefused) {
  for (const std::vector<std::string>& pieces : {std::vector<std::string>{}, {"1234567"}, {"1234", "56789"}, {"12345678", "9"}}) {
    const absl::Status written = Write(Announcing(8, pieces));

    EXPECT_EQ(written.code(), absl::StatusCode::kInternal);
    EXPECT_TRUE(std::string(written.message()).starts_with("tensor 'x' of 8 bytes: its pieces are ")) << written;
    EXPECT_EQ(Written(), "older");
    EXPECT_TRUE(NothingIsLeftBeside());
  }
  EXPECT_TRUE(Write(Announcing(0, {})).ok());
}

TEST_F(SafetensorsPiecesTest, APieceThatCannotBeHadLeavesTheOlderFile) {
  const auto part_that = [](TensorBytes::Give give) { return SafetensorsPart{.name = "x", .dtype = "U8", .shape = {8}, .bytes = {8, std::move(give)}}; };

  const absl::Status written = Write(part_that([](const TakeBytes& take) -> absl::Status {
    RETURN_IF_ERROR(take("1234"));
    return absl::ResourceExhaustedError("no more of them");
  }));

  EXPECT_EQ(written.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Written(), "older");
  EXPECT_TRUE(NothingIsLeftBeside());
  // As LibTorch does.
  EXPECT_THROW(Write(part_that([](const TakeBytes&) -> absl::Status { throw std::runtime_error("no memory"); })).IgnoreError(), std::runtime_error);
  EXPECT_EQ(Written(), "older");
  EXPECT_TRUE(NothingIsLeftBeside());
}

TEST_F(SafetensorsPiecesTest, AFileThatEndsEarlyIsRefused) {
  ASSERT_TRUE(Write(Announcing(8, {"12345678"})).ok());
  const std::string whole = Written();
  ASSERT_TRUE(SafetensorsFile::Open(file_).ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    std::ofstream(file_, std::ios::binary) << whole.substr(0, size);

    EXPECT_EQ(SafetensorsFile::Open(file_).status().code(), absl::StatusCode::kDataLoss) << size << " bytes";
  }
}

TEST_F(SafetensorsPiecesTest, GivesAPartOfThePayloadInPieces) {
  const std::string large = std::string(3'000'000, 'a') + std::string(100, 'b');
  ASSERT_TRUE(Write({.name = "x", .dtype = "U8", .shape = {3'000'100}, .bytes = std::string_view(large)}).ok());
  const SafetensorsFile file = *SafetensorsFile::Open(file_);
  std::string given;
  size_t most = 0;
  const auto add = [&](std::string_view piece) {
    given += piece;
    most = std::max(most, piece.size());
    return absl::OkStatus();
  };

  ASSERT_TRUE(file.Give(1, file.payload_bytes() - 1, add).ok());

  const std::string all = "abc" + large;
  EXPECT_EQ(file.payload_bytes(), all.size());
  EXPECT_TRUE(given == all.substr(1, all.size() - 2));
  EXPECT_LT(most, all.size() / 2);
}

// By another process, or as a disk that fails says it. Were it mapped, the first byte behind the end would end this process.
TEST_F(SafetensorsPiecesTest, WhatCannotBeReadAnyMoreIsAnError) {
  const std::string large(1'000'000, 'a');
  ASSERT_TRUE(Write({.name = "x", .dtype = "U8", .shape = {1'000'000}, .bytes = std::string_view(large)}).ok());
  const SafetensorsFile file = *SafetensorsFile::Open(file_);
  std::vector<char> bytes(3);
  const auto ignore = [](std::string_view) { return absl::OkStatus(); };

  std::filesystem::resize_file(file_, std::filesystem::file_size(file_) - 500'000);

  EXPECT_EQ(file.Read(file.payload_bytes() - 3, bytes).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(file.Give(0, file.payload_bytes(), ignore).code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(file.Read(0, bytes).ok());
  std::filesystem::remove(file_);
  EXPECT_EQ(file.Read(0, bytes).code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace longreach::trainer
