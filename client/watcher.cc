#include "client/watcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "client/absence.h"

namespace longreach::client {

SweepWatcher::SweepWatcher(Connection& connection, std::string sweep, std::chrono::seconds patience)
    : connection_(connection),
      sweep_(std::move(sweep)),
      patience_(patience),
      event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { Read(); }) {}

SweepWatcher::~SweepWatcher() {
  {
    auto shared = shared_.Lock();
    shared->stopping = true;
    if (shared->context != nullptr) shared->context->TryCancel();
  }
  stop_.notify_all();
  thread_.join();
  close(event_fd_);
}

SweepWatcher::Event SweepWatcher::Next(InterruptScope& interrupt, std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (true) {
    if (pollfd signal{.fd = interrupt.fd(), .events = POLLIN, .revents = 0}; poll(&signal, 1, 0) > 0) {
      interrupt.Clear();
      return {.kind = Event::Kind::kInterrupt};
    }
    {
      auto shared = shared_.Lock();
      if (shared->update.has_value()) {
        Event event{.kind = Event::Kind::kUpdate, .update = *std::move(shared->update), .back = std::exchange(told_lost_, false)};
        shared->update.reset();
        return event;
      }
      if (shared->ended) return {.kind = Event::Kind::kEnded, .status = shared->status};
      if (std::exchange(shared->lost, false)) {
        told_lost_ = true;
        return {.kind = Event::Kind::kLost};
      }
    }
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0) return {};
    pollfd waiting[2] = {{.fd = interrupt.fd(), .events = POLLIN, .revents = 0},
                         {.fd = event_fd_, .events = POLLIN, .revents = 0}};
    poll(waiting, 2, static_cast<int>(std::min<int64_t>(left, 1 << 30)));
    uint64_t value = 0;
    [[maybe_unused]] const ssize_t got = read(event_fd_, &value, sizeof value);
  }
}

void SweepWatcher::Notify() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event_fd_, &one, sizeof one);
}

bool SweepWatcher::Sleep(std::chrono::milliseconds time) {
  auto shared = shared_.Lock();
  return !stop_.wait_for(shared.lock(), time, [&shared] { return shared->stopping; });
}

grpc::Status SweepWatcher::ReadOnce(bool& got_update, bool& finished) {
  grpc::ClientContext context;
  {
    auto shared = shared_.Lock();
    if (shared->stopping) return grpc::Status::CANCELLED;
    shared->context = &context;
  }
  v1::GetSweepRequest request;
  request.set_sweep(sweep_);
  const std::unique_ptr<grpc::ClientReader<v1::SweepUpdate>> reader =
      connection_.stub().WatchSweep(&context, request);
  v1::SweepUpdate update;
  while (reader->Read(&update)) {
    got_update = true;
    finished = update.finished();
    // What 'last' or a name stands for may change before the stream is opened again.
    if (!update.sweep().id().empty()) sweep_ = update.sweep().id();
    shared_.Lock()->update = update;
    Notify();
  }
  const grpc::Status status = NotCalledOff(reader->Finish());
  shared_.Lock()->context = nullptr;
  return status;
}

void SweepWatcher::Read() {
  Absence absence(patience_);
  while (true) {
    bool got_update = false;
    bool finished = false;
    grpc::Status status = ReadOnce(got_update, finished);
    if (got_update) absence.End();
    // A stream that ends in order before the sweep does: the scheduler shuts down.
    if (status.ok() && !finished) {
      status = grpc::Status(grpc::StatusCode::UNAVAILABLE, "the scheduler ended the stream");
    }
    const bool is_known = absence.lasts();
    std::optional<std::chrono::milliseconds> pause;  // Nothing: it is not tried again.
    if (!finished && status.error_code() == grpc::StatusCode::UNAVAILABLE) pause = absence.Miss(std::chrono::steady_clock::now());
    {
      auto shared = shared_.Lock();
      if (!pause) {
        shared->ended = true;
        shared->status = finished ? absl::OkStatus() : connection_.Translate(status);
      } else if (!is_known) {
        shared->lost = true;
      }
    }
    Notify();
    if (!pause || !Sleep(*pause)) return;
  }
}

bool AllSucceeded(const v1::Sweep& sweep) { return sweep.counts().succeeded() == sweep.jobs(); }

}  // namespace longreach::client
