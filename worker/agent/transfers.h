// Artifact files to and from the scheduler. The calls block and retry; they run on threads of their own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <istream>
#include <memory>
#include <stop_token>
#include <string>

#include "longreach/v1/worker.grpc.pb.h"
#include "proto/base/status.h"
#include "worker/agent/channels.h"
#include "worker/agent/inbox.h"

namespace longreach::agent {

// INVALID_ARGUMENT with the next step: neither "host:port" nor "unix:PATH".
absl::Status CheckAddress(const std::string& address);

absl::Status FromGrpc(const grpc::Status& status);

class Transfers {
 public:
  // `channel` is asked before each try of a file, on its thread.
  Transfers(ChannelNow channel, const std::string& worker, uint64_t incarnation);

  // Where the scheduler takes files on its own disk.
  Inbox& inbox() { return inbox_; }

  // Hands `file` in under `header`, whose hash and size are filled in here: by a link where there can be one, which nobody may write to any
  // more. While the scheduler is away, or has no space for a result's file, it tries again, without end; what came of a try that broke off need not be
  // sent once more where the scheduler has kept it. Returns the hash.
  // ABORTED: the attempt has lost its lease. CANCELLED: `stop` asked. Others: refused for good; FAILED_PRECONDITION: there is no
  // space for what work can go on without.
  absl::StatusOr<std::string> Upload(v1::UploadHeader header, const std::filesystem::path& file, std::stop_token stop);

  // How many bytes of files went further than in any try before: it grows while an upload makes progress, and not when one only begins anew.
  int64_t uploaded() const { return uploaded_; }
  // Until when a file may be read, here or by the scheduler, of which nothing is sent meanwhile: the time that a slow disk takes.
  std::chrono::steady_clock::time_point reading_until() const { return std::chrono::steady_clock::time_point(reading_until_.load()); }

  // Fetches a file into `destination` and checks its hash. While the scheduler is away, it tries again, without end.
  // NOT_FOUND, DATA_LOSS: the scheduler says that there is no such file any more (IsGone). CANCELLED: `stop` asked.
  // FAILED_PRECONDITION: it cannot be written here (IsOfThisDisk). Others: it does not arrive here, and may elsewhere.
  absl::Status Download(const std::string& sha256, double bytes, const std::filesystem::path& destination,
                        std::stop_token stop);

 private:
  // Of the tries of a file: where the next one begins, and how far they have come.
  struct Tries {
    bool may_go_on = false;  // The scheduler may have a part of it.
    int64_t found = 0;       // Bytes of the largest.
    int64_t furthest = 0;    // Bytes of the file that were sent at most.
  };
  // Both fill in the header's hash.
  absl::Status UploadOnce(v1::UploadHeader& header, const std::filesystem::path& file, Tries& tries, std::stop_token stop);
  absl::Status LinkOnce(v1::UploadHeader& header, const InboxLink& link, std::stop_token stop);
  // Bytes from the file's beginning that the scheduler has. An error: it cannot be reached, and neither could the file go there.
  absl::StatusOr<int64_t> FindPart(const v1::UploadHeader& header, std::stop_token stop);
  // One call: the header, and what follows it (null: nothing). The hash that the scheduler found.
  absl::StatusOr<std::string> Send(const v1::UploadHeader& header, std::istream* bytes, int64_t& furthest, std::stop_token stop);
  void MayRead(double bytes);
  absl::Status DownloadOnce(const std::string& sha256, double bytes, const std::filesystem::path& destination,
                            std::stop_token stop);

  const ChannelNow channel_;
  Inbox inbox_;
  std::atomic<int64_t> uploaded_ = 0;
  std::atomic<std::chrono::steady_clock::duration> reading_until_{};
};

inline bool IsOfThisDisk(const absl::Status& download) { return download.code() == absl::StatusCode::kFailedPrecondition; }
inline bool IsGone(const absl::Status& download) {
  return download.code() == absl::StatusCode::kNotFound || download.code() == absl::StatusCode::kDataLoss;
}

}  // namespace longreach::agent
