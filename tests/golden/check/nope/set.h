// A folder of that set, and which of its files the checks have read.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "proto/base/status.h"
#include "tests/golden/check/report.h"
#include "worker/trainer/checkpoint/safetensors.h"

namespace longreach::golden {

class NopeSet {
 public:
  NopeSet(std::filesystem::path folder, bool on_gpu) : folder_(std::move(folder)), on_gpu_(on_gpu) {}

  const std::filesystem::path& folder() const { return folder_; }
  // Models are computed there too.
  bool on_gpu() const { return on_gpu_; }
  bool Has(const std::string& file) const;
  // Says that `file`, relative to the folder, is compared.
  void Claim(const std::string& file) { claimed_.insert(file); }
  // Both claim the file. A JSON file that cannot be read is null.
  nlohmann::json Json(const std::string& file);
  absl::StatusOr<trainer::SafetensorsFile> Safetensors(const std::string& file);

  // Files that nobody has claimed; those that explain the set are not counted.
  std::vector<std::string> Unclaimed() const;

 private:
  std::filesystem::path folder_;
  bool on_gpu_ = false;
  std::set<std::string> claimed_;
};

// Runs one check per file, `check(json, file_check)`; reports the file as absent where it is.
template <typename Check>
void CheckJson(NopeSet& set, const std::string& file, Report& report, Check check) {
  if (!set.Has(file)) return report.Absent(file);
  FileCheck result(file);
  try {
    check(set.Json(file), result);
  } catch (const nlohmann::json::exception& error) {
    result.Require(false, std::string("is not laid out as expected: ") + error.what());
  }
  report.Add(result);
}

}  // namespace longreach::golden
