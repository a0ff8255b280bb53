// A real server on a Unix socket, driven over gRPC.
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "longreach/v1/api.grpc.pb.h"
#include "longreach/v1/options.pb.h"
#include "longreach/v1/worker.grpc.pb.h"
#include "proto/base/build_info.h"
#include "proto/base/sha256.h"
#include "proto/catalog/catalog.h"
#include "scheduler/service/server.h"
#include "store/artifacts.h"
#include "store/store.h"

namespace longreach::service {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    std::string name = (std::filesystem::temp_directory_path() / "lr-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no folder";
    folder_ = name;
  }
  ~ServerTest() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  ServerOptions Options() const {
    ServerOptions options;
    options.store = folder_ / "store.db";
    options.listen = "unix:" + (folder_ / "s.sock").string();
    return options;
  }
  void Start(const ServerOptions& options) {
    absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(options, clock_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
    client_ = v1::Longreach::NewStub(channel_);
    worker_ = v1::Worker::NewStub(channel_);
    artifacts_ = v1::Artifacts::NewStub(channel_);
  }

  static v1::SweepSpec Sweep() {
    v1::SweepSpec spec;
    spec.set_name("s");
    spec.set_experiment("algorithmic");
    spec.mutable_axes()->add_task("even_pairs");
    spec.mutable_axes()->add_encoding("rope");
    spec.mutable_axes()->add_encoding("rope:randomized");
    spec.mutable_axes()->add_learning_rate(1e-3);
    for (const uint32_t seed : {0u, 1u}) spec.mutable_axes()->add_seed(seed);
    spec.mutable_training()->set_steps(10);
    return spec;
  }
  v1::SubmitSweepResponse Submit(const v1::SweepSpec& spec) {
    v1::SubmitSweepRequest request;
    *request.mutable_spec() = spec;
    return Call<v1::SubmitSweepResponse>(&v1::Longreach::Stub::SubmitSweep, request);
  }
  v1::SynchronizeRequest WorkerCall() {
    v1::SynchronizeRequest request;
    request.set_protocol(kProtocolVersion);
    request.set_worker("w");
    request.set_incarnation(1);
    request.set_sequence(++sequence_);
    request.set_free_slots(2);
    v1::Abilities& abilities = *request.mutable_abilities();
    abilities.set_name("worker");
    abilities.set_build("1.0");
    abilities.set_pack_limit(9);
    abilities.add_experiments("algorithmic");
    abilities.set_model_revision(catalog::kModelRevision);
    abilities.add_tasks()->set_name("even_pairs");
    abilities.mutable_tasks(0)->set_revision(1);
    abilities.add_encodings()->set_name("rope");
    abilities.mutable_encodings(0)->set_revision(1);
    return request;
  }
  v1::SynchronizeResponse Synchronize(const v1::SynchronizeRequest& request) {
    grpc::ClientContext context;
    v1::SynchronizeResponse response;
    const grpc::Status status = worker_->Synchronize(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  template <typename Reply, typename Method, typename Request>
  Reply Call(Method method, const Request& request) {
    grpc::ClientContext context;
    Reply reply;
    const grpc::Status status = (client_.get()->*method)(&context, request, &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return reply;
  }

  grpc::Status Upload(const v1::UploadHeader& header, const std::string& bytes) {
    grpc::ClientContext context;
    v1::UploadResponse response;
    const auto writer = artifacts_->Upload(&context, &response);
    v1::UploadRequest request;
    *request.mutable_header() = header;
    bool open = writer->Write(request);
    for (size_t at = 0; at < bytes.size() && open; at += 1000) {
      request.set_chunk(bytes.substr(at, 1000));
      open = writer->Write(request);
    }
    writer->WritesDone();
    return writer->Finish();
  }

  SystemClock clock_;
  std::filesystem::path folder_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Longreach::Stub> client_;
  std::unique_ptr<v1::Worker::Stub> worker_;
  std::unique_ptr<v1::Artifacts::Stub> artifacts_;
  uint64_t sequence_ = 0;
};

v1::AttemptReport SuccessOf(const v1::Lease& lease) {
  v1::AttemptReport report;
  report.set_attempt(lease.attempt());
  report.set_outcome(v1::AttemptReport::OUTCOME_SUCCEEDED);
  for (const v1::LeasedJob& job : lease.jobs()) {
    v1::MemberResult* result = report.add_results();
    result->set_job(job.id());
    v1::Measurement* measurement = result->add_measurements();
    measurement->set_metric("accuracy");
    measurement->set_value(job.spec().randomized() ? 0.9 : 0.5);
  }
  return report;
}

TEST_F(ServerTest, ASweepGoesFromSubmissionToTable) {
  Start(Options());
  EXPECT_EQ(Submit(Sweep()).plan().packs(), 2);
  const v1::SynchronizeResponse leased = Synchronize(WorkerCall());
  ASSERT_EQ(leased.leases_size(), 2);

  // A watcher sees the end.
  grpc::ClientContext context;
  v1::GetSweepRequest sweep;
  sweep.set_sweep("s");
  const auto watch = client_->WatchSweep(&context, sweep);
  v1::SweepUpdate update;
  ASSERT_TRUE(watch->Read(&update));
  EXPECT_EQ(update.sweep().counts().leased(), 4);
  EXPECT_FALSE(update.finished());

  v1::SynchronizeRequest call = WorkerCall();
  for (const v1::Lease& lease : leased.leases()) *call.add_finished() = SuccessOf(lease);
  EXPECT_EQ(Synchronize(call).acknowledged_size(), 2);

  while (watch->Read(&update)) {
  }
  EXPECT_TRUE(watch->Finish().ok());
  EXPECT_TRUE(update.finished());
  EXPECT_EQ(update.sweep().counts().succeeded(), 4);

  v1::GetTableRequest request;
  request.set_sweep("last");
  request.mutable_table()->set_rows("task");
  request.mutable_table()->set_columns("encoding");
  request.mutable_table()->set_metric("accuracy");
  request.mutable_table()->set_aggregate("max");
  const v1::Table table = Call<v1::Table>(&v1::Longreach::Stub::GetTable, request);
  ASSERT_EQ(table.cells_size(), 2);
  EXPECT_DOUBLE_EQ(table.cells(0).measured() + table.cells(1).measured(), 140);

  const v1::CheckStoreResponse check = Call<v1::CheckStoreResponse>(&v1::Longreach::Stub::CheckStore, v1::CheckStoreRequest());
  EXPECT_THAT(check.violations(), ElementsAre());
  EXPECT_EQ(check.jobs(), 4);
}

TEST_F(ServerTest, AFileGoesUpAndComesBackByItsHash) {
  Start(Options());
  Submit(Sweep());
  const v1::SynchronizeResponse leased = Synchronize(WorkerCall());
  const v1::Lease& lease = leased.leases(0);
  const std::string bytes(2'500'000, 'x');
  v1::UploadHeader header;
  header.set_attempt(lease.attempt());
  header.set_worker("w");
  header.set_kind("checkpoint");
  header.set_step(5);
  header.set_sha256(Sha256Of(bytes));
  header.set_bytes(static_cast<double>(bytes.size()));
  for (const v1::LeasedJob& job : lease.jobs()) header.add_jobs(job.id());

  v1::UploadHeader wrong = header;
  wrong.set_sha256(std::string(64, 'a'));
  EXPECT_EQ(Upload(wrong, bytes).error_code(), grpc::StatusCode::DATA_LOSS);
  wrong = header;
  wrong.set_kind("virus");
  EXPECT_EQ(Upload(wrong, bytes).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  wrong = header;
  wrong.set_worker("v");
  EXPECT_EQ(Upload(wrong, bytes).error_code(), grpc::StatusCode::ABORTED);
  wrong = header;
  wrong.add_jobs("not of this attempt");
  wrong.set_bytes(1e10);  // None of them is waited for.
  EXPECT_EQ(Upload(wrong, "").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(Upload(header, bytes).ok());
  EXPECT_TRUE(Upload(header, bytes).ok());  // The answer was lost.

  grpc::ClientContext context;
  v1::DownloadRequest request;
  request.set_sha256(header.sha256());
  const auto reader = artifacts_->Download(&context, request);
  std::string back;
  v1::DownloadResponse chunk;
  while (reader->Read(&chunk)) {
    EXPECT_LE(chunk.chunk().size(), size_t{1} << 20);
    back += chunk.chunk();
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_TRUE(back == bytes);

  grpc::ClientContext other;
  request.set_sha256(std::string(64, 'b'));
  const auto none = artifacts_->Download(&other, request);
  EXPECT_FALSE(none->Read(&chunk));
  EXPECT_EQ(none->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(ServerTest, EverythingSurvivesARestart) {
  Start(Options());
  Submit(Sweep());
  const v1::SynchronizeResponse leased = Synchronize(WorkerCall());
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "s.sock"));
  Start(Options());

  v1::SynchronizeRequest call = WorkerCall();
  *call.add_finished() = SuccessOf(leased.leases(0));
  call.add_held()->set_attempt(leased.leases(1).attempt());
  const v1::SynchronizeResponse answer = Synchronize(call);

  EXPECT_EQ(answer.acknowledged_size(), 1);
  EXPECT_EQ(answer.directives(0).action(), v1::Directive::ACTION_CONTINUE);
  v1::GetSweepRequest request;
  request.set_sweep("s");
  const v1::Sweep sweep = Call<v1::Sweep>(&v1::Longreach::Stub::GetSweep, request);
  EXPECT_EQ(sweep.counts().succeeded(), 2);
  EXPECT_EQ(sweep.counts().leased(), 2);
}

TEST_F(ServerTest, ErrorsCarryCodeAndText) {
  Start(Options());
  grpc::ClientContext context;
  v1::SubmitSweepRequest request;
  *request.mutable_spec() = Sweep();
  request.mutable_spec()->mutable_axes()->set_encoding(0, "roep");
  v1::SubmitSweepResponse response;
  const grpc::Status status = client_->SubmitSweep(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("did you mean 'rope'?"));
}

TEST_F(ServerTest, AHeldCallEndsWithTheServer) {
  ServerOptions options = Options();
  options.engine.hold = std::chrono::hours(24);
  Start(options);
  v1::SynchronizeRequest request = WorkerCall();
  request.set_may_wait(true);
  grpc::ClientContext context;
  v1::SynchronizeResponse response;
  grpc::CompletionQueue queue;
  auto call = worker_->AsyncSynchronize(&context, request, &queue);
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  Call<v1::GetInfoResponse>(&v1::Longreach::Stub::GetInfo, v1::GetInfoRequest());
  server_.reset();
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  // OK: it was just being decided on.
  EXPECT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::UNAVAILABLE) << status.error_message();
  queue.Shutdown();
}

// What a client sees that knows nothing of our protocol: bytes of the standard messages, made by hand.
std::string AskByName(const std::shared_ptr<grpc::Channel>& channel, const std::string& method, const std::string& bytes) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto next = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = stub.PrepareCall(&context, method, &queue);
  call->StartCall(nullptr);
  EXPECT_TRUE(next());
  const grpc::Slice slice(bytes);
  call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
  EXPECT_TRUE(next());
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  EXPECT_TRUE(next()) << method;
  grpc::Status status;
  call->Finish(&status, nullptr);
  EXPECT_TRUE(next());
  EXPECT_TRUE(status.ok()) << status.error_message();
  queue.Shutdown();
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(answer.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& part : slices) text.append(reinterpret_cast<const char*>(part.begin()), part.size());
  return text;
}

TEST_F(ServerTest, HealthAndReflectionAnswerWhoeverAsks) {
  Start(Options());
  const std::string serving("\x08\x01");  // status: SERVING
  EXPECT_EQ(AskByName(channel_, "/grpc.health.v1.Health/Check", ""), serving);
  EXPECT_EQ(AskByName(channel_, "/grpc.health.v1.Health/Check", std::string("\x0a\x13longreach.v1.Worker")), serving);

  const std::string list("\x3a\x00", 2);  // list_services: ""
  const std::string services = AskByName(channel_, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", list);
  for (const char* name : {"longreach.v1.Longreach", "longreach.v1.Worker", "longreach.v1.Artifacts", "grpc.health.v1.Health"}) {
    EXPECT_THAT(services, HasSubstr(name));
  }
  // file_containing_symbol: the health service can be described, though gRPC serves it without a description.
  EXPECT_THAT(AskByName(channel_, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                        std::string("\x22\x15grpc.health.v1.Health")),
              HasSubstr("HealthCheckRequest"));
}

TEST_F(ServerTest, ASecondServerIsRefusedByTheStoreAndByTheAddress) {
  Start(Options());
  const absl::Status same = Server::Start(Options(), clock_).status();
  EXPECT_EQ(same.code(), absl::StatusCode::kFailedPrecondition) << same;

  ServerOptions other = Options();
  other.store = folder_ / "other.db";
  const absl::Status address = Server::Start(other, clock_).status();
  EXPECT_EQ(address.code(), absl::StatusCode::kFailedPrecondition) << address;
  EXPECT_THAT(std::string(address.message()), HasSubstr("another process listens there"));
  Call<v1::GetInfoResponse>(&v1::Longreach::Stub::GetInfo, v1::GetInfoRequest());  // The first is unharmed.
}

TEST_F(ServerTest, APortInUseIsRefused) {
  ServerOptions first = Options();
  first.listen = "127.0.0.1:0";
  Start(first);
  ServerOptions second = first;
  second.store = ":memory:";
  second.listen = server_->address();
  const absl::Status refused = Server::Start(second, clock_).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("the port is in use"));
}

TEST_F(ServerTest, AddressesThatCannotBeAreRefused) {
  for (const std::string listen : {"nowhere", "localhost:99999", "localhost:x", ":7070", "unix:", "unix:/nowhere/at/all.sock"}) {
    ServerOptions options = Options();
    options.listen = listen;
    const absl::Status refused = Server::Start(options, clock_).status();
    EXPECT_FALSE(refused.ok()) << listen;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(listen));
  }
  // A file that is no socket is left alone.
  std::ofstream(folder_ / "precious") << "data";
  ServerOptions options = Options();
  options.listen = "unix:" + (folder_ / "precious").string();
  EXPECT_EQ(Server::Start(options, clock_).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::filesystem::file_size(folder_ / "precious"), 4u);
}

TEST_F(ServerTest, TheSocketOfAKilledSchedulerIsReplaced) {
  // A socket that nobody listens on, as kill -9 leaves it.
  const std::filesystem::path path = folder_ / "s.sock";
  Start(Options());
  std::filesystem::rename(path, folder_ / "kept.sock");
  server_.reset();
  std::filesystem::rename(folder_ / "kept.sock", path);
  Start(Options());
  Call<v1::GetInfoResponse>(&v1::Longreach::Stub::GetInfo, v1::GetInfoRequest());
}

TEST_F(ServerTest, ItsEndBreaksOffACheckThatReadsForLong) {
  Start(Options());
  Submit(Sweep());
  const v1::SynchronizeResponse leased = Synchronize(WorkerCall());
  const std::string bytes = "weights";
  v1::UploadHeader header;
  header.set_attempt(leased.leases(0).attempt());
  header.set_worker("w");
  header.set_kind("weights");
  header.set_step(10);
  header.set_sha256(Sha256Of(bytes));
  header.set_bytes(static_cast<double>(bytes.size()));
  header.add_jobs(leased.leases(0).jobs(0).id());
  ASSERT_TRUE(Upload(header, bytes).ok());
  server_.reset();
  {
    // A file that takes minutes to read, and no space.
    constexpr int64_t kLarge = int64_t{64} << 30;
    absl::StatusOr<std::unique_ptr<store::Store>> store = store::Store::Open(Options().store);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->writer_connection().Run("UPDATE artifacts SET bytes = ?", kLarge).ok());
    std::filesystem::resize_file((*store)->artifacts().PathOf(header.sha256()), kLarge);
  }
  Start(Options());
  grpc::Status status;
  std::thread check([&] {
    grpc::ClientContext context;
    v1::CheckStoreRequest request;
    request.set_artifacts(true);
    v1::CheckStoreResponse response;
    status = client_->CheckStore(&context, request, &response);
  });
  Call<v1::GetInfoResponse>(&v1::Longreach::Stub::GetInfo, v1::GetInfoRequest());

  server_.reset();

  check.join();
  EXPECT_FALSE(status.ok()) << "it cannot have come to its end";
}

TEST_F(ServerTest, ManyFilesThatNobodyNeedsGoAlthoughNobodyCalls) {
  {
    absl::StatusOr<std::unique_ptr<store::Store>> store = store::Store::Open(Options().store);
    ASSERT_TRUE(store.ok()) << store.status();
    absl::StatusOr<sql::Transaction> tx = sql::Transaction::Begin((*store)->writer_connection());
    ASSERT_TRUE(tx.ok());
    for (int file = 0; file < 100; ++file) {
      const std::string bytes = "checkpoint " + std::to_string(file);
      absl::StatusOr<store::ArtifactWriter> writer = (*store)->artifacts().Create(Sha256Of(bytes), static_cast<int64_t>(bytes.size()));
      ASSERT_TRUE(writer.ok() && writer->Append(bytes).ok());
      absl::StatusOr<store::Pin> pin = writer->Commit();
      ASSERT_TRUE(pin.ok());
      pin->Settle();
      ASSERT_TRUE(store::NoteUnnamed(*tx, Sha256Of(bytes)).ok());
    }
    ASSERT_TRUE(tx->Commit().ok());
  }
  const std::unique_ptr<store::ArtifactFiles> files = store::ArtifactFiles::OfOtherStore(folder_ / "store.db.artifacts");
  ASSERT_EQ(files->List().size(), 100u);
  Start(Options());

  Submit(Sweep());  // A few go with each group of events; no other call follows.

  while (files->HasAny()) std::this_thread::yield();
}

TEST(RolesTest, EveryCallHasARole) {
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  int calls = 0;
  for (const char* name : {"longreach.v1.Longreach", "longreach.v1.Worker", "longreach.v1.Artifacts"}) {
    const google::protobuf::ServiceDescriptor* service = pool->FindServiceByName(name);
    ASSERT_NE(service, nullptr) << name;
    for (int i = 0; i < service->method_count(); ++i, ++calls) {
      EXPECT_NE(service->method(i)->options().GetExtension(v1::role), v1::ROLE_UNSPECIFIED) << service->method(i)->full_name();
    }
  }
  EXPECT_GE(calls, 20);
}

}  // namespace
}  // namespace longreach::service
