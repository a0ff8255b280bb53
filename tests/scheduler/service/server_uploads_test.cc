// Uploads that break off, and those that go on with what came of them.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <sys/resource.h>

#include "proto/base/sha256.h"
#include "store/store.h"
#include "tests/scheduler/service/server_fixture.h"

namespace longreach::service {
namespace {

using ::testing::HasSubstr;

class ServerUploadsTest : public ServerTest {
 protected:
  static constexpr size_t kBytes = 1'000'000;
  static constexpr size_t kSent = 600'000;

  ServerUploadsTest() {
    bytes_.reserve(kBytes);
    for (size_t i = 0; i < kBytes; ++i) bytes_ += static_cast<char>('a' + i % 23 + i / 100'000 % 3);
  }

  void Begin(const ServerOptions& options) {
    Start(options);
    Submit(Sweep());
    leased_ = Synchronize(WorkerCall());
    ASSERT_EQ(leased_.leases_size(), 2);
  }
  void Begin() { Begin(Options()); }
  // Of one of the two leases.
  v1::UploadHeader HeaderOf(const std::string& bytes, int lease = 0) const {
    v1::UploadHeader header;
    header.set_attempt(leased_.leases(lease).attempt());
    header.set_worker("w");
    header.set_kind("checkpoint");
    header.set_step(5);
    header.set_sha256(Sha256Of(bytes));
    header.set_bytes(static_cast<double>(bytes.size()));
    for (const v1::LeasedJob& job : leased_.leases(lease).jobs()) header.add_jobs(job.id());
    return header;
  }
  static v1::UploadHeader From(v1::UploadHeader header, size_t from) {
    header.set_from(static_cast<double>(from));
    return header;
  }
  grpc::Status GoOn(const v1::UploadHeader& header, size_t from) { return Upload(From(header, from), bytes_.substr(from)); }

  // An upload that has come so far, and stays there.
  struct UnderWay {
    grpc::ClientContext context;
    v1::UploadResponse response;
    std::unique_ptr<grpc::ClientWriter<v1::UploadRequest>> writer;

    void Write(const std::string& chunk) {
      v1::UploadRequest request;
      request.set_chunk(chunk);
      writer->Write(request);
    }
    grpc::Status BreakOff() {
      context.TryCancel();
      return writer->Finish();
    }
  };
  std::unique_ptr<UnderWay> SendPart(const v1::UploadHeader& header, size_t until = kSent) {
    auto upload = std::make_unique<UnderWay>();
    upload->writer = artifacts_->Upload(&upload->context, &upload->response);
    v1::UploadRequest request;
    *request.mutable_header() = header;
    EXPECT_TRUE(upload->writer->Write(request));
    for (auto at = static_cast<size_t>(header.from()); at < until; at += 10'000) upload->Write(bytes_.substr(at, 10'000));
    while (!IsInMaking(until)) std::this_thread::yield();
    return upload;
  }
  std::filesystem::path InMaking() const { return folder_ / "store.db.artifacts" / "tmp"; }
  // A file of so many bytes is written.
  bool IsInMaking(size_t bytes) const {
    std::error_code gone;
    for (const auto& file : std::filesystem::directory_iterator(InMaking(), gone)) {
      if (file.file_size(gone) == bytes) return true;
    }
    return false;
  }
  std::pair<grpc::Status, size_t> Ask(const v1::UploadHeader& header) {
    grpc::ClientContext context;
    v1::FindUploadResponse found;
    grpc::Status status = artifacts_->FindUpload(&context, header, &found);
    return {std::move(status), static_cast<size_t>(found.bytes())};
  }
  size_t Find(const v1::UploadHeader& header) {
    const auto [status, bytes] = Ask(header);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return bytes;
  }
  // An upload breaks off, and what came of it is kept: when the server has heard of it.
  void LeavePart(const v1::UploadHeader& header, size_t until = kSent) {
    SendPart(header, until)->BreakOff();
    v1::UploadHeader question = header;
    question.clear_from();
    while (Find(question) != until) std::this_thread::yield();
  }

  std::string bytes_;
  v1::SynchronizeResponse leased_;
};

TEST_F(ServerUploadsTest, AnUploadThatBrokeOffGoesOnFromWhereItWas) {
  Begin();
  const v1::UploadHeader header = HeaderOf(bytes_);
  EXPECT_EQ(Find(header), 0u);
  LeavePart(header);

  EXPECT_EQ(GoOn(header, kSent + 1).error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(Find(header), kSent);
  EXPECT_TRUE(GoOn(header, kSent - 1000).ok());  // Before its end: it is cut.

  const std::unique_ptr<store::ArtifactFiles> files = store::ArtifactFiles::OfOtherStore(folder_ / "store.db.artifacts");
  EXPECT_TRUE(files->Verify(header.sha256()).ok());
  EXPECT_TRUE(std::filesystem::is_empty(InMaking()));
  // Its answer was lost: it is there as a whole.
  EXPECT_EQ(Find(header), kBytes);
  EXPECT_TRUE(GoOn(header, kBytes).ok());
}

TEST_F(ServerUploadsTest, AFileWhoseLastByteCameBeforeItBrokeOffNeedsNoMore) {
  Begin();
  const v1::UploadHeader header = HeaderOf(bytes_.substr(0, kSent));
  LeavePart(header);

  EXPECT_TRUE(Upload(From(header, kSent), "").ok());

  EXPECT_TRUE(store::ArtifactFiles::OfOtherStore(folder_ / "store.db.artifacts")->Verify(header.sha256()).ok());
}

TEST_F(ServerUploadsTest, APartThatTheDiskHasDamagedIsGoneAndTheWholeFileIsTaken) {
  Begin();
  const v1::UploadHeader header = HeaderOf(bytes_);
  LeavePart(header);
  const std::filesystem::path part = std::filesystem::directory_iterator(InMaking())->path();
  std::fstream(part, std::ios::in | std::ios::out | std::ios::binary).seekp(1000) << '#';

  EXPECT_EQ(GoOn(header, kSent).error_code(), grpc::StatusCode::DATA_LOSS);

  EXPECT_EQ(Find(header), 0u);
  EXPECT_TRUE(std::filesystem::is_empty(InMaking()));
  EXPECT_TRUE(Upload(header, bytes_).ok());
}

TEST_F(ServerUploadsTest, AnUploadThatHangsGivesWayToTheNextTry) {
  Begin();
  const v1::UploadHeader header = HeaderOf(bytes_);
  const std::unique_ptr<UnderWay> hanging = SendPart(header);

  EXPECT_EQ(Find(header), kSent);
  EXPECT_TRUE(GoOn(header, kSent).ok());

  hanging->Write(bytes_.substr(kSent));
  hanging->writer->WritesDone();
  EXPECT_EQ(hanging->writer->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(store::ArtifactFiles::OfOtherStore(folder_ / "store.db.artifacts")->Verify(header.sha256()).ok());
}

TEST_F(ServerUploadsTest, WhoIsTakenForGoneByAQuestionThatCameLateGoesOn) {
  Begin();
  const v1::UploadHeader header = HeaderOf(bytes_);
  const std::unique_ptr<UnderWay> upload = SendPart(header);
  EXPECT_EQ(Find(header), kSent);

  upload->Write(bytes_.substr(kSent));
  upload->writer->WritesDone();
  // ABORTED would say that the attempt has lost its lease.
  EXPECT_EQ(upload->writer->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);

  EXPECT_EQ(Find(header), kSent);
  EXPECT_TRUE(GoOn(header, kSent).ok());
}

TEST_F(ServerUploadsTest, WhoeverMayNotHandTheFileInIsToldNothing) {
  Begin();
  const v1::UploadHeader header = HeaderOf(bytes_);
  LeavePart(header);

  v1::UploadHeader wrong = header;
  wrong.set_worker("v");
  EXPECT_EQ(Ask(wrong).first.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(GoOn(wrong, kSent).error_code(), grpc::StatusCode::ABORTED);
  wrong = header;
  wrong.set_attempt(header.attempt() + 100);
  EXPECT_EQ(Ask(wrong).first.error_code(), grpc::StatusCode::ABORTED);
  wrong = header;
  wrong.set_store("another");
  EXPECT_EQ(Ask(wrong).first.error_code(), grpc::StatusCode::UNAVAILABLE);
  wrong = header;
  wrong.set_linked("a-link");
  EXPECT_EQ(Ask(wrong).first.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  wrong.set_from(1);
  EXPECT_EQ(Upload(wrong, "").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  for (const double from : {-1.0, 0.5, std::numeric_limits<double>::quiet_NaN()}) {
    wrong = header;
    wrong.set_from(from);
    EXPECT_EQ(Upload(wrong, "").error_code(), grpc::StatusCode::INVALID_ARGUMENT) << from;
  }
  wrong = header;
  wrong.set_from(std::numeric_limits<double>::infinity());
  EXPECT_EQ(Upload(wrong, "").error_code(), grpc::StatusCode::OUT_OF_RANGE);

  EXPECT_EQ(Find(header), kSent);
}

TEST_F(ServerUploadsTest, PartsGoWithTheirAttempt) {
  Begin();
  const v1::UploadHeader header = HeaderOf(bytes_);
  LeavePart(header);

  v1::SynchronizeRequest leaving = WorkerCall();
  leaving.set_free_slots(0);
  leaving.set_leaving(true);
  Synchronize(leaving);

  EXPECT_EQ(Ask(header).first.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(GoOn(header, kSent).error_code(), grpc::StatusCode::ABORTED);
  while (!std::filesystem::is_empty(InMaking())) std::this_thread::yield();
}

TEST_F(ServerUploadsTest, PartsGoWithTheProcess) {
  Begin();
  const v1::UploadHeader header = HeaderOf(bytes_);
  LeavePart(header);
  server_.reset();
  EXPECT_TRUE(std::filesystem::is_empty(InMaking()));
  std::ofstream(InMaking() / "1-1") << "of one that was killed";
  Start(Options());

  EXPECT_TRUE(std::filesystem::is_empty(InMaking()));
  EXPECT_EQ(Find(header), 0u);
  EXPECT_EQ(GoOn(header, kSent).error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_TRUE(Upload(header, bytes_).ok());
}

TEST_F(ServerUploadsTest, APartIsInNobodysWayWhereAllFilesHaveALimit) {
  ServerOptions options = Options();
  options.artifact_limits.all_bytes = 1.5 * kBytes;
  Begin(options);
  const v1::UploadHeader header = HeaderOf(bytes_);
  // The file counts once, in however many tries it comes.
  LeavePart(header);
  LeavePart(From(header, kSent), kSent + 100'000);
  const std::string others(kBytes, 'x');

  EXPECT_TRUE(Upload(HeaderOf(others, 1), others).ok());

  EXPECT_EQ(Find(header), 0u);
  const grpc::Status refused = Upload(header, bytes_);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("--max-artifact-bytes"));
  EXPECT_TRUE(std::filesystem::is_empty(InMaking()));
}

TEST_F(ServerUploadsTest, OnAFullDiskPartsGoBeforeAFileIsRefused) {
  Begin();
  const v1::UploadHeader header = HeaderOf(bytes_);
  LeavePart(header);
  const std::string large(9'000'000, 'x');
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  void (*const handler)(int) = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 8'000'000, .rlim_max = before.rlim_max};  // The store needs less.
  setrlimit(RLIMIT_FSIZE, &small);

  const grpc::Status refused = Upload(HeaderOf(large, 1), large);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);

  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Find(header), 0u);
  EXPECT_TRUE(std::filesystem::is_empty(InMaking()));
}

}  // namespace
}  // namespace longreach::service
