#include "client/log_stream.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace longreach::client {

LogStream::LogStream(Connection& connection, const std::string& job, const InterruptScope* interrupt, std::optional<std::chrono::seconds> patience, int out_fd)
    : done_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (patience) context_.set_deadline(std::chrono::system_clock::now() + *patience);
  v1::GetJobRequest request;
  request.set_job(job);
  reader_ = connection.stub().FollowLog(&context_, request);
  if (interrupt == nullptr) return;
  watch_ = std::jthread([this, interrupt, out_fd] {
    // Nothing is asked of the last one, so that only errors wake; where it is -1 none does.
    pollfd waiting[3] = {
        {.fd = interrupt->fd(), .events = POLLIN, .revents = 0}, {.fd = done_fd_, .events = POLLIN, .revents = 0}, {.fd = out_fd, .events = 0, .revents = 0}};
    while (poll(waiting, 3, -1) < 0) continue;  // A signal came to this thread.
    if (waiting[0].revents != 0 || waiting[2].revents != 0) context_.TryCancel();
  });
}

LogStream::~LogStream() {
  if (!finished_) Finish();
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(done_fd_, &one, sizeof one);
  if (watch_.joinable()) watch_.join();
  close(done_fd_);
}

grpc::Status LogStream::Finish() {
  finished_ = true;
  if (!read_all_) context_.TryCancel();
  return NotCalledOff(reader_->Finish());
}

}  // namespace longreach::client
