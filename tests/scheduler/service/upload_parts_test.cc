#include "scheduler/service/upload_parts.h"

#include "tests/store/fixture.h"

namespace longreach::service {
namespace {

using longreach::testing::TemporaryFolder;
using store::TestStore;

class UploadPartsTest : public ::testing::Test {
 protected:
  UploadPartsTest() : test_(folder_ / "s.db") {
    test_.AddWorker("w1");
    for (int i = 0; i < 3; ++i) {
      const int64_t job = test_.AddSweep("sweep " + std::to_string(i), {store::MakeJob("even_pairs", "rope", false, 0.001, static_cast<uint32_t>(i))}).at(0);
      jobs_.push_back(job);
      attempts_.push_back(test_.Start("w1", {job}));
    }
  }

  static v1::UploadHeader HeaderOf(int64_t attempt, int step = 1, const std::string& kind = "checkpoint") {
    v1::UploadHeader header;
    header.set_attempt(static_cast<uint64_t>(attempt));
    header.set_worker("w1");
    header.set_kind(kind);
    header.set_step(step);
    header.set_sha256(Sha256Of("a file"));
    header.set_bytes(6);
    header.add_jobs("a job");
    return header;
  }
  static v1::UploadHeader From(v1::UploadHeader header, double from) {
    header.set_from(from);
    return header;
  }
  std::shared_ptr<UploadParts::File> Begin(const v1::UploadHeader& header) {
    absl::StatusOr<std::shared_ptr<UploadParts::File>> file = parts_.Begin(header);
    EXPECT_OK(file);
    return file.ok() ? *std::move(file) : nullptr;
  }
  static void Append(UploadParts::File& file, std::string_view bytes) { EXPECT_OK(file.Lock()->writer->Append(bytes)); }
  // So much of a file comes.
  void Leave(const v1::UploadHeader& header, std::string_view bytes) {
    const std::shared_ptr<UploadParts::File> file = Begin(header);
    Append(*file, bytes);
    parts_.Keep(file);
  }
  int64_t FilesInMaking() const {
    return std::distance(std::filesystem::directory_iterator(test_.store->artifacts().folder() / "tmp"), std::filesystem::directory_iterator());
  }

  TemporaryFolder folder_;
  TestStore test_;
  std::vector<int64_t> jobs_;
  std::vector<int64_t> attempts_;  // Of a job each.
  UploadParts parts_{test_.store->artifacts()};
};

TEST_F(UploadPartsTest, WhatCameIsThereForTheNextTryAndForItAlone) {
  const v1::UploadHeader header = HeaderOf(attempts_[0]);
  EXPECT_EQ(parts_.Find(header), 0);
  Leave(header, "a fi");
  EXPECT_EQ(parts_.Find(header), 4);
  EXPECT_EQ(parts_.bytes(), 4);
  for (const char* other : {"attempt", "worker", "kind", "step", "sha256", "bytes", "jobs"}) {
    v1::UploadHeader of_another = header;
    const std::string field = other;
    if (field == "attempt") of_another.set_attempt(header.attempt() + 1);
    if (field == "worker") of_another.set_worker("w2");
    if (field == "kind") of_another.set_kind("weights");
    if (field == "step") of_another.set_step(2);
    if (field == "sha256") of_another.set_sha256(Sha256Of("another"));
    if (field == "bytes") of_another.set_bytes(7);
    if (field == "jobs") of_another.add_jobs("another job");
    EXPECT_EQ(parts_.Find(of_another), 0) << other;
  }

  EXPECT_EQ(parts_.Begin(From(header, 5)).status().code(), absl::StatusCode::kOutOfRange);
  const std::shared_ptr<UploadParts::File> next = Begin(From(header, 3));
  EXPECT_TRUE(parts_.empty());
  EXPECT_TRUE(*next->Lock()->writer->ReadBack(100));
  Append(*next, "ile");
  EXPECT_OK(next->Lock()->writer->Commit());
}

TEST_F(UploadPartsTest, WhoeverAsksTakesOverWhatIsStillUnderWay) {
  const v1::UploadHeader header = HeaderOf(attempts_[0]);
  const std::shared_ptr<UploadParts::File> stuck = Begin(header);
  Append(*stuck, "a fi");

  EXPECT_EQ(parts_.Find(header), 4);
  EXPECT_FALSE(stuck->Lock()->writer.has_value());
  const std::shared_ptr<UploadParts::File> second = Begin(From(header, 4));
  parts_.Keep(stuck);  // Its connection ends at last.
  EXPECT_TRUE(second->Lock()->writer.has_value());

  // The same without a question.
  const std::shared_ptr<UploadParts::File> third = Begin(From(header, 2));
  EXPECT_FALSE(second->Lock()->writer.has_value());
  EXPECT_EQ(FilesInMaking(), 1);
}

TEST_F(UploadPartsTest, AnUploadFromTheBeginningHasAFileOfItsOwnAndItsFormersPartGoes) {
  const v1::UploadHeader header = HeaderOf(attempts_[0]);
  const std::shared_ptr<UploadParts::File> former = Begin(header);
  Append(*former, "a fi");
  const std::shared_ptr<UploadParts::File> latter = Begin(header);
  Append(*latter, "a");
  EXPECT_TRUE(former->Lock()->writer.has_value()) << "it may come to its end";

  parts_.Keep(former);
  EXPECT_TRUE(parts_.empty());
  parts_.Keep(latter);
  EXPECT_EQ(parts_.Find(header), 1);
  const std::shared_ptr<UploadParts::File> anew = Begin(header);

  EXPECT_TRUE(parts_.empty());
  EXPECT_EQ(FilesInMaking(), 1);
}

TEST_F(UploadPartsTest, AFileWithoutABytesIsNoPart) {
  Leave(HeaderOf(attempts_[0]), "");
  EXPECT_TRUE(parts_.empty());
  EXPECT_EQ(FilesInMaking(), 0);
}

TEST_F(UploadPartsTest, OfAnAttemptTheNewestStay) {
  for (const int step : {1, 2, 3}) Leave(HeaderOf(attempts_[0], step), "a fi");
  Leave(HeaderOf(attempts_[1]), "a f");

  EXPECT_EQ(parts_.Find(HeaderOf(attempts_[0], 1)), 0);
  for (const int step : {2, 3}) EXPECT_EQ(parts_.Find(HeaderOf(attempts_[0], step)), 4) << step;
  EXPECT_EQ(parts_.Find(HeaderOf(attempts_[1])), 3);
  EXPECT_EQ(FilesInMaking(), 3);
}

TEST_F(UploadPartsTest, InAllTheyHaveALimit) {
  constexpr auto kMost = static_cast<int64_t>(UploadParts::kMost);
  for (int64_t attempt = 1; attempt <= kMost + 2; ++attempt) Leave(HeaderOf(attempt), "a fi");

  for (const int64_t attempt : {1, 2}) EXPECT_EQ(parts_.Find(HeaderOf(attempt)), 0) << attempt;
  EXPECT_EQ(parts_.Find(HeaderOf(3)), 4);
  EXPECT_EQ(FilesInMaking(), kMost);
}

TEST_F(UploadPartsTest, ThoseOfAttemptsThatHaveEndedGo) {
  for (const int step : {1, 2}) Leave(HeaderOf(attempts_[0], step), "a fi");
  Leave(HeaderOf(attempts_[1]), "a fi");
  Leave(HeaderOf(1'000'000), "a fi");
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(store::RequeueJob(tx, jobs_[0], attempts_[0], {}));
    return store::EndAttempt(tx, attempts_[0], Outcome::kLost, "", "", store::At(30));
  }));

  ASSERT_OK(parts_.DropEnded(test_.db()));

  for (const int step : {1, 2}) EXPECT_EQ(parts_.Find(HeaderOf(attempts_[0], step)), 0) << step;
  EXPECT_EQ(parts_.Find(HeaderOf(1'000'000)), 0) << "no attempt of this store";
  EXPECT_EQ(parts_.Find(HeaderOf(attempts_[1])), 4);
}

TEST_F(UploadPartsTest, WhereRoomIsNeededTheOldestGo) {
  Leave(HeaderOf(attempts_[0], 1, "weights"), "a file");
  Leave(HeaderOf(attempts_[0], 2), "a");
  Leave(HeaderOf(attempts_[1]), "a fi");
  Leave(HeaderOf(attempts_[2]), "a f");
  EXPECT_EQ(parts_.bytes(), 14);

  parts_.KeepAtMost(8);
  EXPECT_EQ(parts_.bytes(), 14) << "what a finished job hands in is taken whatever is there";
  parts_.KeepAtMost(7);
  EXPECT_EQ(parts_.Find(HeaderOf(attempts_[0], 2)), 0);
  parts_.KeepAtMost(-1);
  EXPECT_EQ(parts_.bytes(), 6);

  EXPECT_TRUE(parts_.DropOldest());
  EXPECT_FALSE(parts_.DropOldest());
  EXPECT_EQ(FilesInMaking(), 0);
}

}  // namespace
}  // namespace longreach::service
