// The server from its start to its end.
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "longreach/v1/options.pb.h"
#include "proto/base/build_info.h"
#include "proto/base/sha256.h"
#include "store/file_lock.h"
#include "store/migrate.h"
#include "store/sql/connection.h"
#include "store/store.h"
#include "tests/scheduler/service/server_fixture.h"

namespace longreach::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

TEST_F(ServerTest, NoStoreIsMadeForOneThatCannotBeMerged) {
  ServerOptions other = Options();
  other.store = folder_ / "other.db";
  Start(other);
  Submit(Sweep());
  ServerOptions options = Options();
  options.listen = "unix:" + (folder_ / "own.sock").string();
  options.merges = other.store;
  const auto refusal = [&] {
    const absl::Status refused = Server::Start(options, clock_).status();
    EXPECT_FALSE(refused.ok());
    EXPECT_FALSE(std::filesystem::exists(options.store)) << refused;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "store.db.artifacts")) << refused;
    return std::string(refused.message());
  };
  EXPECT_THAT(refusal(), HasSubstr("other.db")) << "a scheduler has it open";
  server_.reset();

  const auto change = [&](const std::string& sql) {
    absl::StatusOr<sql::Connection> db = sql::Connection::Open(other.store, sql::Mode::kReadWrite);
    ASSERT_TRUE(db.ok()) << db.status();
    EXPECT_TRUE(db->Execute(sql).ok()) << sql;
  };
  change("PRAGMA user_version = 999");
  EXPECT_THAT(refusal(), HasSubstr("999"));
  change("PRAGMA user_version = " + std::to_string(store::SchemaVersion()));
  change("UPDATE sweeps SET jobs_queued = jobs_queued + 1");
  EXPECT_THAT(refusal(), HasSubstr("other.db' is not sound, nothing was merged: sweep ")) << "as the merge itself says it";
  change("UPDATE sweeps SET jobs_queued = jobs_queued - 1");
  std::stop_source gone;
  gone.request_stop();
  options.stop = gone.get_token();
  EXPECT_EQ(refusal(), sql::Stopped().message()) << "whoever wanted it is gone";
  options.stop = {};
  std::ofstream(folder_ / "notes.txt") << std::string(1000, 'x');
  options.merges = folder_ / "notes.txt";
  EXPECT_THAT(refusal(), HasSubstr("notes.txt' is no store: nothing was merged"));

  options.merges = other.store;
  Start(options);
  EXPECT_TRUE(std::filesystem::exists(options.store)) << "of one that can be merged";
  v1::MergeStoreRequest merge;
  merge.set_path(other.store);
  EXPECT_FALSE(store::Store::Open(other.store, {}).ok()) << "held since it was looked at";
  EXPECT_EQ(Call<v1::MergeStoreResponse>(&v1::Longreach::Stub::MergeStore, merge).jobs_added(), 4);
  EXPECT_TRUE(store::Store::Open(other.store, {}).ok()) << "and free again";
  EXPECT_EQ(Call<v1::MergeStoreResponse>(&v1::Longreach::Stub::MergeStore, merge).jobs_added(), 0) << "a second one opens it anew";
  // What it has already counts more than what was to come.
  server_.reset();
  options.merges = folder_ / "notes.txt";
  Start(options);
}

TEST_F(ServerTest, WhileAStoreThatIsToBeMergedIsHeldNoneIsOpenedForIt) {
  ServerOptions options = Options();
  Start(options);
  server_.reset();
  ServerOptions other = Options();
  other.store = folder_ / "other.db";
  other.held = StoreHeld::kSoonFree;
  Start(other);
  Submit(Sweep());
  options.listen = "unix:" + (folder_ / "own.sock").string();
  options.merges = other.store;

  const absl::Status refused = Server::Start(options, clock_).status();

  EXPECT_THAT(std::string(refused.message()), HasSubstr("other.db' is held by another scheduler"));
  for (const char* payload : {store::kHeldAt, store::kSoonFree, store::kIsMerged}) EXPECT_TRUE(refused.GetPayload(payload).has_value()) << payload;
  EXPECT_TRUE(store::Store::Open(options.store, {}).ok()) << "who waits does not hold it";
  server_.reset();
  Start(options);
  EXPECT_FALSE(store::Store::Open(other.store, {}).ok()) << "held until it is merged";
  EXPECT_EQ(store::Store::Open(options.store, {}).status().GetPayload(store::kHeldAt), absl::Cord(options.listen)) << "and whoever wants ours may ask here";
  v1::MergeStoreRequest merge;
  merge.set_path(other.store);
  EXPECT_EQ(Call<v1::MergeStoreResponse>(&v1::Longreach::Stub::MergeStore, merge).jobs_added(), 4);
  server_.reset();
  options.merges = options.store;
  Start(options);  // That it is the store itself the merge says.
}

// Of a large one that takes minutes, in which nobody would be told where this scheduler listens.
TEST_F(ServerTest, AStoreThatIsToBeMergedIntoOneThatIsThereIsReadByTheMerge) {
  ServerOptions options = Options();
  Start(options);
  server_.reset();
  ServerOptions other = Options();
  other.store = folder_ / "other.db";
  Start(other);
  Submit(Sweep());
  server_.reset();
  {
    absl::StatusOr<sql::Connection> db = sql::Connection::Open(other.store, sql::Mode::kReadWrite);
    ASSERT_TRUE(db.ok()) << db.status();
    ASSERT_TRUE(db->Execute("UPDATE sweeps SET jobs_queued = jobs_queued + 1").ok());
  }
  options.merges = other.store;
  Start(options);
  EXPECT_FALSE(store::Store::Open(other.store, {}).ok()) << "it is held";
  v1::MergeStoreRequest merge;
  merge.set_path(other.store);
  grpc::ClientContext context;
  v1::MergeStoreResponse response;

  const grpc::Status refused = client_->MergeStore(&context, merge, &response);

  EXPECT_EQ(refused.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_THAT(refused.error_message(), HasSubstr("other.db' is not sound, nothing was merged: sweep "));
  EXPECT_TRUE(store::Store::Open(other.store, {}).ok()) << "and free again";
}

TEST_F(ServerTest, AStoreIsMendedByASchedulerThatWasStartedForItAlone) {
  Start(Options());
  Submit(Sweep());
  {
    grpc::ClientContext context;
    v1::RepairStoreResponse response;
    const grpc::Status refused = client_->RepairStore(&context, v1::RepairStoreRequest(), &response);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(refused.error_message(), HasSubstr("is not mended while a scheduler works on it; stop that one first, then 'longreach store check --repair' mends it"));
  }
  server_.reset();
  ServerOptions options = Options();
  options.repairs = true;
  Start(options);

  const v1::RepairStoreResponse repair = Call<v1::RepairStoreResponse>(&v1::Longreach::Stub::RepairStore, v1::RepairStoreRequest());

  EXPECT_EQ(repair.done_size(), 0);
  EXPECT_EQ(repair.check().violations_size(), 0);
  EXPECT_EQ(repair.check().sweeps(), 1);
}

// All would be done by any other scheduler: by rows, or through an index, that may be the ones which are wrong.
TEST_F(ServerTest, WhileAStoreIsMendedNothingElseChangesIt) {
  Start(Options());
  Submit(Sweep());
  server_.reset();
  const std::string hash = Sha256Of("to be removed");
  const std::filesystem::path file = folder_ / "store.db.artifacts" / hash.substr(0, 2) / hash;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << "to be removed";
  {
    absl::StatusOr<sql::Connection> db = sql::Connection::Open(folder_ / "store.db", sql::Mode::kReadWrite);
    ASSERT_TRUE(db.ok()) << db.status();
    ASSERT_TRUE(db->Execute("INSERT INTO unused_files VALUES ('" + hash + "'); UPDATE sweeps SET unsettled_from = 0, jobs_failed = 7").ok());
  }
  ServerOptions options = Options();
  options.repairs = true;
  Start(options);

  // As a command that has waited in vain for this one asks.
  v1::SteerSweepRequest steer;
  steer.set_sweep("s");
  steer.set_action(v1::SteerSweepRequest::ACTION_CANCEL);
  v1::SubmitSweepRequest submit;
  *submit.mutable_spec() = Sweep();
  v1::Sweep steered;
  v1::WorkerInfo drained;
  v1::SubmitSweepResponse submitted;
  grpc::ClientContext steering, draining, submitting;
  for (const grpc::Status& refused : {client_->SteerSweep(&steering, steer, &steered), client_->SteerWorker(&draining, v1::SteerWorkerRequest(), &drained),
                                      client_->SubmitSweep(&submitting, submit, &submitted)}) {
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(refused.error_message(), HasSubstr("is being mended, and nothing else changes it meanwhile; ask again when that has ended"));
  }
  const v1::RepairStoreResponse repair = Call<v1::RepairStoreResponse>(&v1::Longreach::Stub::RepairStore, v1::RepairStoreRequest());
  server_.reset();

  EXPECT_THAT(repair.done(), ElementsAre(HasSubstr("was counted anew")));
  EXPECT_TRUE(std::filesystem::exists(file));
  absl::StatusOr<sql::Connection> db = sql::Connection::Open(folder_ / "store.db", sql::Mode::kReadOnly);
  ASSERT_TRUE(db.ok()) << db.status();
  EXPECT_EQ(*db->One<int>("SELECT count(*) FROM unused_files"), 1);
  EXPECT_EQ(*db->One<int>("SELECT unsettled_from FROM sweeps"), 0);
}

TEST_F(ServerTest, WhoeverWantsTheStoreIsToldToAskOrToWait) {
  for (const StoreHeld held : {StoreHeld::kKept, StoreHeld::kSoonFree, StoreHeld::kMoment}) {
    ServerOptions options = Options();
    options.held = held;
    Start(options);

    const absl::Status refused = store::Store::Open(options.store, {}).status();

    ASSERT_TRUE(refused.GetPayload(store::kHeldAt).has_value()) << refused;
    EXPECT_EQ(refused.GetPayload(store::kHeldAt)->empty(), held == StoreHeld::kMoment);
    EXPECT_EQ(refused.GetPayload(store::kSoonFree).has_value(), held == StoreHeld::kSoonFree);
    server_.reset();
  }
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

// While one ends, which may take a while, another takes its socket for that of one that is gone.
TEST_F(ServerTest, ASocketThatIsAnothersByNowStays) {
  const std::filesystem::path path = folder_ / "s.sock";
  Start(Options());
  std::filesystem::remove(path);
  std::ofstream(path) << "another's";
  server_.reset();
  EXPECT_TRUE(std::filesystem::exists(path));
  std::filesystem::remove(path);
  Start(Options());
  EXPECT_TRUE(std::filesystem::exists(path));
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(path)) << "its own goes with it";
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
