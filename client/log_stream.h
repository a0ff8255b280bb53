// What the running attempt of a job prints, part by part as the scheduler sends it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "client/connection.h"
#include "client/interrupt.h"
#include "longreach/v1/api.pb.h"

namespace longreach::client {

class LogStream {
 public:
  // A signal ends the stream, and so does the end of whoever reads from `out_fd` (ReaderIsGone()). `patience`: so does this time; nothing: none does.
  LogStream(Connection& connection, const std::string& job, const InterruptScope* interrupt, std::optional<std::chrono::seconds> patience = {}, int out_fd = -1);
  ~LogStream();
  LogStream(const LogStream&) = delete;
  LogStream& operator=(const LogStream&) = delete;

  // Waits for the next part. False: there is none any more.
  bool Read(v1::LogPart& part) {
    read_all_ = !reader_->Read(&part);
    return !read_all_;
  }
  // Ends the stream, whether or not all of it was read. How it ended; asked once.
  grpc::Status Finish();

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::LogPart>> reader_;
  bool read_all_ = false;
  bool finished_ = false;
  int done_fd_;  // Readable once nobody reads any further.
  std::jthread watch_;
};

}  // namespace longreach::client
