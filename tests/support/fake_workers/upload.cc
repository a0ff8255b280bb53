#include "tests/support/fake_workers/upload.h"

#include <chrono>
#include <utility>

namespace longreach::fake {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;
// As long as a worker has patience: files that fail and are sent again would be a load of their own.
std::chrono::seconds Patience(size_t bytes) { return std::chrono::seconds(120 + bytes / (16 << 10)); }

class UploadCall final : public grpc::ClientWriteReactor<v1::UploadRequest> {
 public:
  UploadCall(v1::Artifacts::Stub& stub, v1::UploadHeader header, std::string content, std::function<void(grpc::Status)> done)
      : content_(std::move(content)), done_(std::move(done)) {
    context_.set_deadline(std::chrono::system_clock::now() + Patience(content_.size()));
    *request_.mutable_header() = std::move(header);
    stub.async()->Upload(&context_, &response_, this);
    StartWrite(&request_);
    StartCall();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return;  // The call has ended; OnDone says how.
    if (sent_ == content_.size()) return StartWritesDone();
    request_.set_chunk(content_.substr(sent_, kChunkBytes));
    sent_ += request_.chunk().size();
    StartWrite(&request_);
  }

  void OnDone(const grpc::Status& status) override {
    done_(status);
    delete this;
  }

 private:
  const std::string content_;
  const std::function<void(grpc::Status)> done_;
  grpc::ClientContext context_;
  v1::UploadRequest request_;
  v1::UploadResponse response_;
  size_t sent_ = 0;
};

}  // namespace

void Upload(v1::Artifacts::Stub& stub, v1::UploadHeader header, std::string content, std::function<void(grpc::Status)> done) {
  new UploadCall(stub, std::move(header), std::move(content), std::move(done));
}

}  // namespace longreach::fake
