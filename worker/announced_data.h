// What a worker says of its data sets.
#pragma once

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "longreach/v1/worker.pb.h"
#include "worker/data/data_folder.h"
#include "worker/data/told_damage.h"
#include "worker/data/verified_data.h"

namespace longreach {

// Reads the manifests of a data folder, at most every few seconds, and not in the caller's time: on a slow disk that may take longer than
// leases last. What `verified` refuses is among the damaged at once.
class AnnouncedData {
 public:
  // Reads them for the first time.
  AnnouncedData(std::filesystem::path folder, std::shared_ptr<data::VerifiedData> verified);

  // Adds them as last read, and those that have been found damaged, by then or since.
  void operator()(v1::Abilities& abilities);

 private:
  void Take(const data::Listing& listing);

  std::filesystem::path folder_;
  std::shared_ptr<data::VerifiedData> verified_;
  std::shared_future<data::Listing> reading_;  // Invalid: nothing is read now.
  std::chrono::steady_clock::time_point read_at_;
  std::vector<v1::DataSet> data_sets_;
  data::ToldDamage told_;
  std::vector<data::DamagedSet> damaged_;
  std::vector<std::string> warned_;  // Of damaged ones and of their folder, once for as long as they stay so.
};

}  // namespace longreach
