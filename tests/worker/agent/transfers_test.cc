// Files on their way to a scheduler that breaks off.
#include "worker/agent/transfers.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "proto/base/sha256.h"
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

}  // namespace
}  // namespace longreach::agent
