// Which data sets a process has read to the end, so that no job of it reads bytes that are not those of the import.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "proto/base/clock.h"
#include "proto/base/status.h"
#include "proto/base/synchronized.h"
#include "worker/data/data_folder.h"
#include "worker/data/manifest.h"

namespace longreach::data {

// What a data set was found to be: all of its bytes are those of its import, as long as it has this stamp (data_stamp.h).
struct Verified {
  std::string stamp;
  int64_t bytes_read = 0;  // To find it out just now.
};

// Its functions may be called from any threads, Verify() from one at a time.
class VerifiedData {
 public:
  // What could not be read, as a disk had an error, is refused for so long, unless it has another stamp before: else each job that reads it would fail there, one soon after the other.
  static constexpr std::chrono::minutes kUnreadableFor{10};

  explicit VerifiedData(std::filesystem::path folder, std::shared_ptr<const Clock> clock = std::make_shared<SystemClock>()) : folder_(std::move(folder)), clock_(std::move(clock)) {}

  // Compares all bytes of a data set with the hashes of its import. It reads all of them the first time, and when the stamp is another one than it was then; else none. They are
  // counted up in `read` meanwhile.
  // Errors of ReadDataSet(). DATA_LOSS: a file has other bytes, or cannot be read. UNAVAILABLE: it was so at an earlier call, and has the stamp of then.
  // CANCELLED: `stop` asked.
  absl::StatusOr<Verified> Verify(const std::string& name, const std::stop_token& stop, std::atomic<int64_t>& read);

  // What was found whole is so no longer: the next Verify() reads it all, whatever its stamp.
  void Doubt(const std::string& name);

  // The error that the last Verify() has ended with, while no Look() since has found anything else there; empty: there is none.
  std::string WhyRefused(const std::string& name);

  // Of a listing of the folder: puts what is refused among the damaged. What has another stamp by now is refused no longer, and neither is what was missing and is there, nor after its time
  // what could not be read: the next Verify() says what it is.
  Listing Look(Listing listing);

 private:
  struct Found {
    std::optional<std::string> stamp;  // Nothing: it was not there as a whole.
    absl::Status status;
    std::optional<SteadyTime> until = std::nullopt;  // Nothing: for as long as the stamp is the same.
  };

  // Whether what was found still holds for a data set with this stamp.
  bool Holds(const Found& found, const std::string& stamp) const { return found.stamp == stamp && (!found.until || clock_->Steady() < *found.until); }
  absl::Status Refuse(const std::string& name, Found found);

  const std::filesystem::path folder_;
  const std::shared_ptr<const Clock> clock_;
  Synchronized<std::map<std::string, Found>> found_;  // By name.
};

}  // namespace longreach::data
