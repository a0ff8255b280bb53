// A real server on a Unix socket, driven over gRPC.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "longreach/v1/api.grpc.pb.h"
#include "longreach/v1/worker.grpc.pb.h"
#include "proto/base/build_info.h"
#include "proto/catalog/catalog.h"
#include "scheduler/service/server.h"

namespace longreach::service {

class ServerTest : public ::testing::Test {
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

inline v1::AttemptReport SuccessOf(const v1::Lease& lease) {
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

}  // namespace longreach::service
