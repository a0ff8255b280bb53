// A worker's certificate that is renewed while it works, before a server that asks for certificates.
#include "worker/agent/channels.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <fstream>
#include <future>
#include <mutex>
#include <vector>

#include "proto/access/certificates.h"
#include "proto/base/sha256.h"
#include "tests/support/temporary_folder.h"
#include "worker/agent/synchronizer.h"
#include "worker/agent/transfers.h"

namespace longreach::agent {
namespace {

using ::testing::ElementsAre;

// Notes who calls, by the name in the certificate, and takes files from one of them only.
class Doorman final : public v1::Worker::Service, public v1::Artifacts::Service {
 public:
  Doorman(const access::KeyAndCertificate& own, const std::string& authority) {
    grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    tls.pem_root_certs = authority;
    tls.pem_key_cert_pairs.push_back({.private_key = own.key, .cert_chain = own.certificate});
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(tls), &port_);
    builder.RegisterService(static_cast<v1::Worker::Service*>(this));
    builder.RegisterService(static_cast<v1::Artifacts::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  ~Doorman() override {
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
  }

  bool listens() const { return server_ != nullptr; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  void TakeFilesFrom(const std::string& name) { *takes_from_.Lock() = name; }
  std::vector<std::string> callers() { return *callers_.Lock(); }
  // Those who tried to hand in a file, once there is one at least.
  std::vector<std::string> WaitForFile() {
    auto files = files_.Lock();
    changed_.wait(files.lock(), [&files] { return !files->empty(); });
    return *files;
  }
  // The next call is answered when Release() is called. Once.
  void HoldOne() {
    auto callers = callers_.Lock();
    held_ = hold_.get_future();
  }
  void WaitForHeld() { arrived_.get_future().wait(); }
  void Release() { hold_.set_value(); }

  grpc::Status Synchronize(grpc::ServerContext* context, const v1::SynchronizeRequest*, v1::SynchronizeResponse*) override {
    std::future<void> held;
    {
      auto callers = callers_.Lock();
      callers->push_back(NameOf(*context));
      held = std::move(held_);
    }
    if (held.valid()) {
      arrived_.set_value();
      held.wait();
    }
    return grpc::Status::OK;
  }

  grpc::Status Upload(grpc::ServerContext* context, grpc::ServerReader<v1::UploadRequest>* reader, v1::UploadResponse* response) override {
    const std::string name = NameOf(*context);
    files_.Lock()->push_back(name);
    changed_.notify_all();
    if (name != *takes_from_.Lock()) return {grpc::StatusCode::PERMISSION_DENIED, "not from " + name};
    v1::UploadRequest request;
    std::string bytes;
    while (reader->Read(&request)) bytes += request.chunk();
    response->set_sha256(Sha256Of(bytes));
    return grpc::Status::OK;
  }

 private:
  static std::string NameOf(const grpc::ServerContext& context) {
    const std::vector<grpc::string_ref> names = context.auth_context()->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
    return names.empty() ? "nobody" : std::string(names.front().data(), names.front().size());
  }

  int port_ = 0;
  Synchronized<std::vector<std::string>> callers_, files_;
  std::condition_variable changed_;
  Synchronized<std::string> takes_from_;
  std::promise<void> hold_, arrived_;
  std::future<void> held_;  // Reached with the lock of callers_.
  std::unique_ptr<grpc::Server> server_;  // Last: its calls use the rest.
};

class ChannelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write(files_.ca, authority_.certificate);
    Renew("before");
    ASSERT_TRUE(scheduler_.listens());
    absl::StatusOr<std::unique_ptr<Channels>> opened = Channels::Open(scheduler_.address(), files_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    channels_ = *std::move(opened);
  }

  static void Write(const std::string& path, const std::string& text) {
    const std::string beside = path + ".new";
    std::ofstream(beside) << text;
    std::filesystem::permissions(beside, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    std::filesystem::rename(beside, path);
  }
  void Renew(const std::string& name) {
    const access::KeyAndCertificate made = *access::Issue(authority_, {.name = name, .role = v1::ROLE_WORKER});
    Write(files_.key, made.key);
    Write(files_.certificate, made.certificate);
  }
  static grpc::Status Call(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    v1::SynchronizeResponse response;
    return v1::Worker::NewStub(channel)->Synchronize(&context, {}, &response);
  }

  testing::TemporaryFolder folder_;
  const access::CredentialFiles files_{.ca = folder_ / "ca.crt", .certificate = folder_ / "own.crt", .key = folder_ / "own.key"};
  const access::KeyAndCertificate authority_ = *access::MakeAuthority("authority", 10);
  Doorman scheduler_{*access::Issue(authority_, {.name = "scheduler", .hosts = {"127.0.0.1"}}), authority_.certificate};
  std::unique_ptr<Channels> channels_;
};

TEST_F(ChannelsTest, TheNextCallShowsTheRenewedCertificateAndOneUnderWayGoesOn) {
  EXPECT_TRUE(Call(channels_->ForCall()).ok());
  const std::shared_ptr<grpc::Channel> same = channels_->ForCall();
  EXPECT_EQ(channels_->ForCall(), same) << "one connection as long as nothing changes";
  scheduler_.HoldOne();
  std::future<grpc::Status> under_way = std::async(std::launch::async, [this] { return Call(channels_->ForCall()); });
  scheduler_.WaitForHeld();

  Renew("after");
  channels_->Look();
  const grpc::Status next = Call(channels_->ForCall());
  scheduler_.Release();

  EXPECT_TRUE(next.ok()) << next.error_message();
  const grpc::Status finished = under_way.get();
  EXPECT_TRUE(finished.ok()) << finished.error_message();
  EXPECT_THAT(scheduler_.callers(), ElementsAre("before", "before", "after"));
}

TEST_F(ChannelsTest, AKeyWithoutItsCertificateLeavesTheChannelsAsTheyWere) {
  const std::shared_ptr<grpc::Channel> calls = channels_->ForCall(), files = channels_->ForFile();
  EXPECT_NE(calls, files);
  Write(files_.key, access::Issue(authority_, {.name = "after"})->key);
  channels_->Look();
  EXPECT_EQ(channels_->ForCall(), calls);
  EXPECT_EQ(channels_->ForFile(), files);
  EXPECT_TRUE(Call(channels_->ForCall()).ok());
}

// What was computed is handed in once there is a certificate that is admitted.
TEST_F(ChannelsTest, AnUploadThatIsRefusedGoesOnWithTheRenewedCertificate) {
  scheduler_.TakeFilesFrom("after");
  std::ofstream(folder_ / "weights") << "weights";
  Transfers transfers([this] { return channels_->ForFile(); }, "worker", 1);
  v1::UploadHeader header;
  header.set_kind("weights");
  std::future<absl::StatusOr<std::string>> upload =
      std::async(std::launch::async, [&] { return transfers.Upload(header, folder_ / "weights", {}); });
  EXPECT_EQ(scheduler_.WaitForFile().front(), "before");

  Renew("after");
  channels_->Look();

  const absl::StatusOr<std::string> sha256 = upload.get();
  ASSERT_TRUE(sha256.ok()) << sha256.status();
  EXPECT_EQ(*sha256, Sha256Of("weights"));
  EXPECT_EQ(scheduler_.WaitForFile().back(), "after");
}

TEST_F(ChannelsTest, TheWorkersControlCallsShowTheRenewedCertificate) {
  boost::asio::io_context io;
  std::unique_ptr<Synchronizer> synchronizer;
  int answers = 0;
  Synchronizer::Handlers handlers;
  handlers.make_request = [] { return v1::SynchronizeRequest(); };
  handlers.on_response = [&](const v1::SynchronizeRequest&, const v1::SynchronizeResponse&) {
    if (++answers == 3) {
      Renew("after");
      channels_->Look();
    }
    if (answers == 5) synchronizer->Stop();
    return Synchronizer::Next::kAtOnce;
  };
  handlers.on_refused = [&](const absl::Status& status) { ADD_FAILURE() << status; };
  synchronizer = std::make_unique<Synchronizer>(io, [this] { return channels_->ForCall(); }, scheduler_.address(), std::move(handlers));
  synchronizer->News();
  io.run();

  EXPECT_THAT(scheduler_.callers(), ElementsAre("before", "before", "before", "after", "after"));
}

}  // namespace
}  // namespace longreach::agent
