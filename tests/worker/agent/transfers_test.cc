// Files on their way to a scheduler that breaks off.
#include "worker/agent/transfers.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proto/base/sha256.h"
#include "proto/types/wire_limits.h"
#include "tests/support/temporary_folder.h"

namespace longreach::agent {
namespace {

// Takes the whole file at its last try only; before, it reads so many messages and hangs up. It sends other bytes than it is asked for.
class Fickle final : public v1::Artifacts::Service {
 public:
  static constexpr int kTries = 3;

  explicit Fickle(const std::filesystem::path& socket) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket.string(), grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Fickle() override { server_->Shutdown(); }

  int tries() const { return tries_; }

 private:
  grpc::Status Upload(grpc::ServerContext*, grpc::ServerReader<v1::UploadRequest>* reader, v1::UploadResponse* response) override {
    v1::UploadRequest request;
    const bool last = ++tries_ >= kTries;
    std::string bytes;
    for (int message = 0; (last || message < 3) && reader->Read(&request); ++message) bytes += request.chunk();
    if (!last) return {grpc::StatusCode::UNAVAILABLE, "not now"};
    response->set_sha256(Sha256Of(bytes));
    return grpc::Status::OK;
  }
  grpc::Status Download(grpc::ServerContext*, const v1::DownloadRequest*, grpc::ServerWriter<v1::DownloadResponse>* writer) override {
    ++tries_;
    v1::DownloadResponse response;
    response.set_chunk("Checkpoint");
    writer->Write(response);
    return grpc::Status::OK;
  }

  std::unique_ptr<grpc::Server> server_;
  std::atomic<int> tries_ = 0;
};

// Keeps what came of a file, as a scheduler does, whose uploads break off behind so many chunks each.
class Keeping final : public v1::Artifacts::Service {
 public:
  // What it answers to an upload that has come as far as it lets it; OK: it goes by the hash.
  using AnswerTo = std::function<grpc::Status(double from, const std::string& file)>;

  Keeping(const std::filesystem::path& socket, int chunks) : chunks_(chunks) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket.string(), grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Keeping() override { server_->Shutdown(); }

  // Before any call.
  void Have(std::string part) { part_ = std::move(part); }
  void AnswerBy(AnswerTo answer) { answer_ = std::move(answer); }
  void AnswerQuestions(std::vector<grpc::Status> first_ones) { refusals_ = std::move(first_ones); }
  void SayThatThereAre(double bytes) { said_ = bytes; }

  std::vector<double> begun() {
    const std::lock_guard lock(mutex_);
    return begun_;
  }
  std::string whole() {
    const std::lock_guard lock(mutex_);
    return whole_;
  }

 private:
  grpc::Status FindUpload(grpc::ServerContext*, const v1::UploadHeader* header, v1::FindUploadResponse* response) override {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(header->from(), 0);
    EXPECT_EQ(header->sha256().size(), 64u);
    if (asked_ < refusals_.size()) return refusals_[asked_++];
    response->set_bytes(said_.value_or(static_cast<double>(part_.size())));
    return grpc::Status::OK;
  }
  grpc::Status Upload(grpc::ServerContext*, grpc::ServerReader<v1::UploadRequest>* reader, v1::UploadResponse* response) override {
    v1::UploadRequest request;
    if (!reader->Read(&request)) return {grpc::StatusCode::INVALID_ARGUMENT, "no header"};
    const v1::UploadHeader header = request.header();
    const std::lock_guard lock(mutex_);
    begun_.push_back(header.from());
    if (static_cast<double>(part_.size()) < header.from()) return {grpc::StatusCode::OUT_OF_RANGE, "there is less"};
    part_.resize(static_cast<size_t>(header.from()));
    for (int chunk = 0; chunk < chunks_ && reader->Read(&request); ++chunk) part_ += request.chunk();
    if (answer_) {
      if (grpc::Status status = answer_(header.from(), part_); !status.ok()) return status;
    }
    if (static_cast<double>(part_.size()) < header.bytes()) return {grpc::StatusCode::UNAVAILABLE, "the line broke"};
    whole_ = std::exchange(part_, "");
    if (Sha256Of(whole_) != header.sha256()) return {grpc::StatusCode::DATA_LOSS, "other bytes"};
    response->set_sha256(header.sha256());
    return grpc::Status::OK;
  }

  const int chunks_;
  std::mutex mutex_;
  std::string part_;
  std::string whole_;
  std::vector<double> begun_;  // The `from` of each upload.
  std::vector<grpc::Status> refusals_;
  size_t asked_ = 0;
  std::optional<double> said_;
  AnswerTo answer_;
  std::unique_ptr<grpc::Server> server_;
};

// A file of so many chunks, no two of which are the same.
class UploadTriesTest : public ::testing::Test {
 protected:
  static constexpr int kChunks = 8;

  UploadTriesTest() {
    for (int chunk = 0; chunk < kChunks; ++chunk) bytes_ += std::string(kChunkBytes, static_cast<char>('a' + chunk));
    std::ofstream(folder_ / "file") << bytes_;
  }

  absl::StatusOr<std::string> Upload() {
    absl::StatusOr<std::unique_ptr<Channels>> channels = Channels::Open("unix:" + (folder_ / "s").string(), {});
    if (!channels.ok()) return channels.status();
    Transfers transfers([&channels] { return (*channels)->ForFile(); }, "worker", 1);
    v1::UploadHeader header;
    header.set_kind("weights");
    absl::StatusOr<std::string> sha256 = transfers.Upload(header, folder_ / "file", {});
    uploaded_ = transfers.uploaded();
    return sha256;
  }
  static double Chunks(int number) { return static_cast<double>(number * static_cast<int>(kChunkBytes)); }

  const testing::TemporaryFolder folder_;
  std::string bytes_;
  int64_t uploaded_ = 0;
};

TEST(TransfersTest, WhatIsDamagedOnItsWayIsAskedForOnceMoreAndIsNotGone) {
  const testing::TemporaryFolder folder;
  const Fickle scheduler(folder.path() / "s");
  const absl::StatusOr<std::unique_ptr<Channels>> channels = Channels::Open("unix:" + (folder.path() / "s").string(), {});
  ASSERT_TRUE(channels.ok()) << channels.status();
  Transfers transfers([&channels] { return (*channels)->ForFile(); }, "worker", 1);

  const absl::Status status = transfers.Download(Sha256Of("checkpoint"), 10, folder.path() / "file", {});

  EXPECT_FALSE(status.ok());
  EXPECT_FALSE(IsGone(status)) << status;
  EXPECT_EQ(scheduler.tries(), 2);
}

// Their size is that of no file, and would make the time infinite that a scheduler may take to read them.
TEST(TransfersTest, WhatIsNoFileIsRefusedBeforeAnythingIsSent) {
  const testing::TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(folder.path() / "folder");
  const Fickle scheduler(folder.path() / "s");
  const absl::StatusOr<std::unique_ptr<Channels>> channels = Channels::Open("unix:" + (folder.path() / "s").string(), {});
  ASSERT_TRUE(channels.ok()) << channels.status();
  Transfers transfers([&channels] { return (*channels)->ForFile(); }, "worker", 1);
  v1::UploadHeader header;
  header.set_kind("weights");
  header.set_sha256(Sha256Of("known from a try before"));

  for (const char* name : {"pipe", "folder", "none"}) {
    const absl::Status refused = transfers.Upload(header, folder.path() / name, {}).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << name << ": " << refused;
    EXPECT_NE(std::string(refused.message()).find((folder.path() / name).string()), std::string::npos) << refused;
  }

  EXPECT_EQ(scheduler.tries(), 0);
  EXPECT_EQ(transfers.reading_until().time_since_epoch().count(), 0);
}

TEST(TransfersTest, WhatIsSentAgainIsNoProgress) {
  const testing::TemporaryFolder folder;
  const std::string bytes(5 << 20, 'b');  // Eighty messages.
  std::ofstream(folder.path() / "file") << bytes;
  const Fickle scheduler(folder.path() / "s");
  const absl::StatusOr<std::unique_ptr<Channels>> channels = Channels::Open("unix:" + (folder.path() / "s").string(), {});
  ASSERT_TRUE(channels.ok()) << channels.status();
  Transfers transfers([&channels] { return (*channels)->ForFile(); }, "worker", 1);
  v1::UploadHeader header;
  header.set_kind("weights");
  EXPECT_EQ(transfers.uploaded(), 0);

  const absl::StatusOr<std::string> sha256 = transfers.Upload(header, folder.path() / "file", {});

  ASSERT_TRUE(sha256.ok()) << sha256.status();
  EXPECT_EQ(*sha256, Sha256Of(bytes));
  EXPECT_EQ(scheduler.tries(), Fickle::kTries);
  EXPECT_EQ(transfers.uploaded(), static_cast<int64_t>(bytes.size()));

  // Another file is.
  ASSERT_TRUE(transfers.Upload(header, folder.path() / "file", {}).ok());
  EXPECT_EQ(transfers.uploaded(), 2 * static_cast<int64_t>(bytes.size()));
}

TEST_F(UploadTriesTest, AFileThatNeverArrivesInOneTryArrivesInSeveral) {
  Keeping scheduler(folder_ / "s", /*chunks=*/3);

  const absl::StatusOr<std::string> sha256 = Upload();

  ASSERT_TRUE(sha256.ok()) << sha256.status();
  EXPECT_EQ(*sha256, Sha256Of(bytes_));
  EXPECT_TRUE(scheduler.whole() == bytes_);
  EXPECT_EQ(scheduler.begun(), (std::vector<double>{0, Chunks(3), Chunks(6)}));
  EXPECT_EQ(uploaded_, std::ssize(bytes_));
}

TEST_F(UploadTriesTest, TheFirstTryAsksNothingAndSendsAll) {
  Keeping scheduler(folder_ / "s", /*chunks=*/100);
  scheduler.Have(bytes_.substr(0, 1000));

  ASSERT_TRUE(Upload().ok());

  EXPECT_EQ(scheduler.begun(), std::vector<double>{0});
}

TEST_F(UploadTriesTest, OfAFileThatIsThereAsAWholeNothingIsSentAgain) {
  Keeping scheduler(folder_ / "s", /*chunks=*/100);
  bool answered = false;
  scheduler.AnswerBy([&answered](double, const std::string&) {
    return std::exchange(answered, true) ? grpc::Status::OK : grpc::Status(grpc::StatusCode::UNAVAILABLE, "the answer was lost");
  });

  ASSERT_TRUE(Upload().ok());

  EXPECT_EQ(scheduler.begun(), (std::vector<double>{0, Chunks(kChunks)}));
  EXPECT_TRUE(scheduler.whole() == bytes_);
}

// On a line that breaks, the question does not arrive either. The whole file in its place would begin anew.
TEST_F(UploadTriesTest, AQuestionThatDoesNotArriveIsAskedAgain) {
  Keeping scheduler(folder_ / "s", /*chunks=*/5);
  scheduler.AnswerQuestions({{grpc::StatusCode::UNAVAILABLE, "the line broke"}, {grpc::StatusCode::UNAVAILABLE, "the line broke"}});

  ASSERT_TRUE(Upload().ok());

  EXPECT_EQ(scheduler.begun(), (std::vector<double>{0, Chunks(5)}));
}

TEST_F(UploadTriesTest, WhereTheQuestionIsNotAnsweredTheWholeFileGoes) {
  for (const grpc::StatusCode refusal : {grpc::StatusCode::UNIMPLEMENTED, grpc::StatusCode::PERMISSION_DENIED, grpc::StatusCode::INTERNAL}) {
    Keeping scheduler(folder_ / "s", /*chunks=*/100);
    scheduler.AnswerQuestions({{refusal, "no"}});
    bool answered = false;
    scheduler.AnswerBy([&answered](double, const std::string&) {
      return std::exchange(answered, true) ? grpc::Status::OK : grpc::Status(grpc::StatusCode::UNAVAILABLE, "the answer was lost");
    });

    ASSERT_TRUE(Upload().ok());

    EXPECT_EQ(scheduler.begun(), (std::vector<double>{0, 0})) << refusal;
    EXPECT_TRUE(scheduler.whole() == bytes_);
  }
}

TEST_F(UploadTriesTest, AnAnswerThatCannotBeIsNone) {
  for (const double bytes : {-1.0, 0.5, Chunks(kChunks) + 1, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    Keeping scheduler(folder_ / "s", /*chunks=*/100);
    scheduler.SayThatThereAre(bytes);
    bool answered = false;
    scheduler.AnswerBy([&answered](double, const std::string&) {
      return std::exchange(answered, true) ? grpc::Status::OK : grpc::Status(grpc::StatusCode::UNAVAILABLE, "the answer was lost");
    });

    ASSERT_TRUE(Upload().ok());

    EXPECT_EQ(scheduler.begun(), (std::vector<double>{0, 0})) << bytes;
  }
}

// Its scheduler needed the room, say, between the question and the upload.
TEST_F(UploadTriesTest, APartThatIsGoneIsNoReasonToGiveUp) {
  for (const grpc::StatusCode answer : {grpc::StatusCode::OUT_OF_RANGE, grpc::StatusCode::DATA_LOSS}) {
    Keeping scheduler(folder_ / "s", /*chunks=*/5);
    bool gone = false;
    scheduler.AnswerBy([&](double from, const std::string&) { return from > 0 && !std::exchange(gone, true) ? grpc::Status(answer, "not that") : grpc::Status::OK; });

    ASSERT_TRUE(Upload().ok());

    EXPECT_EQ(scheduler.begun(), (std::vector<double>{0, Chunks(5), 0, Chunks(5)})) << answer;
    EXPECT_TRUE(scheduler.whole() == bytes_);
  }
}

TEST_F(UploadTriesTest, OutOfRangeOfTheWholeFileIsFinal) {
  Keeping scheduler(folder_ / "s", /*chunks=*/100);
  scheduler.AnswerBy([](double, const std::string&) { return grpc::Status(grpc::StatusCode::OUT_OF_RANGE, "whatever comes"); });

  EXPECT_EQ(Upload().status().code(), absl::StatusCode::kOutOfRange);

  EXPECT_EQ(scheduler.begun(), std::vector<double>{0});
}

}  // namespace
}  // namespace longreach::agent
