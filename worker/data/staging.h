// A data set in the making: a folder of its own beside its final place, which it takes by one rename when all is on disk.
// What a killed import leaves is found by the next one of that name; no reader ever sees it.
#pragma once

#include <filesystem>
#include <string>

#include "proto/base/status.h"
#include "worker/data/manifest.h"

namespace longreach::data {

class Staging {
 public:
  // Makes DATA/.importing-NAME and takes its lock, which ends with the process.
  // ALREADY_EXISTS: a data set of that name is there. FAILED_PRECONDITION: it is being imported by another process.
  static absl::StatusOr<Staging> Open(const std::filesystem::path& folder, const std::string& name);
  Staging(Staging&& other) noexcept;
  Staging& operator=(Staging&&) = delete;
  ~Staging();

  const std::filesystem::path& path() const { return path_; }

  // Removes all but the manifest's files, writes the manifest and gives the data set its name. All files must have been
  // closed (synced). The manifest's name, time and build are filled in.
  absl::Status Publish(Manifest manifest);

  // Removes what has been written; for an import that can never succeed.
  void Discard();

 private:
  Staging(std::filesystem::path folder, std::string name, int lock);

  std::filesystem::path folder_;
  std::string name_;
  std::filesystem::path path_;
  int lock_ = -1;
};

// Removes a data set, and what an interrupted import of that name left. Programs that have it open are not disturbed.
// NOT_FOUND: neither is there. FAILED_PRECONDITION: what has that name is no data set.
absl::Status RemoveDataSet(const std::filesystem::path& folder, const std::string& name);

}  // namespace longreach::data
