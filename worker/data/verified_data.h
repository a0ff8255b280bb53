// Which data sets a process has read to the end, so that no job of it reads bytes that are not those of the import.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "proto/base/status.h"
#include "proto/base/synchronized.h"
#include "worker/data/data_folder.h"
#include "worker/data/manifest.h"

namespace longreach::data {

// A data set as the file system tells of it without reading it: its manifest, and of each file what is another number once its bytes were written or another
// file has its name. That a disk gives other bytes than were written changes none of it.
struct DataSetStamp {
  struct File {
    uint64_t device = 0, inode = 0;
    int64_t bytes = 0;
    int64_t modified_ns = 0, changed_ns = 0;
    bool operator==(const File&) const = default;
  };
  std::string sha256;
  std::vector<File> files;
  bool operator==(const DataSetStamp&) const = default;
};

// Its functions may be called from any threads, Verify() from one at a time.
class VerifiedData {
 public:
  explicit VerifiedData(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Compares all bytes of a data set with the hashes of its import, and returns how many it has read for that: all of them the first time, and when the stamp is
  // another one than it was then; else none. They are counted up in `read` meanwhile.
  // Errors of ReadDataSet(). DATA_LOSS: a file has other bytes, or cannot be read. UNAVAILABLE: it had other bytes at an earlier call, and has the stamp of then.
  // CANCELLED: `stop` asked.
  absl::StatusOr<int64_t> Verify(const std::string& name, const std::stop_token& stop, std::atomic<int64_t>& read);

  // The last Verify() has ended with an error, and no Look() since has found anything else there.
  bool Refuses(const std::string& name);

  // Of a listing of the folder: puts what is refused among the damaged. What has another stamp by now is refused no longer, and neither is what was missing or could not be read: the
  // next Verify() says what it is.
  Listing Look(Listing listing);

 private:
  struct Found {
    std::optional<DataSetStamp> stamp;  // Nothing: it could not be read to the end.
    absl::Status status;
  };

  absl::Status Refuse(const std::string& name, std::optional<DataSetStamp> stamp, absl::Status why);

  const std::filesystem::path folder_;
  Synchronized<std::map<std::string, Found>> found_;  // By name.
};

}  // namespace longreach::data
