// What a worker says of its data sets.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "longreach/v1/worker.pb.h"

namespace longreach {

// Reads the manifests of a data folder, at most every few seconds. Ascending by name.
class AnnouncedData {
 public:
  explicit AnnouncedData(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::vector<v1::DataSet> operator()();

 private:
  std::filesystem::path folder_;
  std::chrono::steady_clock::time_point read_at_;
  bool read_ = false;
  std::vector<v1::DataSet> data_sets_;
  std::vector<std::string> warned_;  // Of damaged ones, once each.
};

}  // namespace longreach
