#include "client/doctor/data.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "client/doctor/json_members.h"
#include "client/output/text.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

constexpr const char* kDataFolder = "data_folder";
constexpr const char* kDataSets = "data_sets";

Check JudgeDataFolder(const FolderSeen& folder) {
  Findings findings(kDataFolder);
  const std::string path = folder.path.string();
  if (!folder.exists && !folder.can_be_made) {  // Not all sweeps have data.
    findings.Add(CheckState::kWarning, fmt::format("there is no {}, and this user may not make it", path), "name a folder of your own with LONGREACH_DATA before data sets are imported");
    return findings.check();
  }
  if (!folder.exists) {
    findings.Add(CheckState::kOk, fmt::format("{} is not there yet; the first 'longreach data import' makes it", path));
    return findings.check();
  }
  if (!folder.readable) {
    findings.Add(CheckState::kFailed, fmt::format("{} may not be read by this user", path), "have its owner let others read it (chmod -R a+rX), or name another with LONGREACH_DATA");
    return findings.check();
  }
  findings.Add(CheckState::kOk, folder.writable ? path : fmt::format("{}, which this user may read and not write", path));
  if (folder.writable) AddRoom(folder, "data sets are imported", findings);
  return findings.check();
}

Check JudgeDataSets(const DataSeen& seen) {
  Findings findings(kDataSets);
  findings.Add(CheckState::kOk, Count(seen.data_sets, "data set"));
  if (!seen.damaged.empty()) {
    findings.Add(CheckState::kFailed, fmt::format("damaged: {}", Join(seen.damaged, "; ")), "remove and import them anew; 'longreach data check' reads all bytes of those that look well");
  }
  return findings.check();
}

}  // namespace

absl::StatusOr<DataSeen> ParseDataList(const std::string& document) {
  const nlohmann::json parsed = ParsedObject(document);
  const nlohmann::json sets = Member(parsed, "data_sets"), damaged = Member(parsed, "damaged");
  DataSeen seen{.folder = TextOf(parsed, "folder"), .data_sets = static_cast<int>(sets.size()), .damaged = {}};
  if (seen.folder.empty() || !sets.is_array() || !damaged.is_array()) return absl::InternalError("'longreach-worker data list' does not say what there is");
  for (const nlohmann::json& one : damaged) {
    if (one.is_string()) seen.damaged.push_back(one.get<std::string>());
  }
  return seen;
}

std::vector<Check> JudgeData(const absl::StatusOr<DataSeen>& seen, const FolderSeen& folder) {
  if (seen.ok()) return {JudgeDataFolder(folder), JudgeDataSets(*seen)};
  const std::string why(seen.status().message());
  // An error of its own, and not that there is nobody to ask.
  if (absl::IsUnavailable(seen.status())) return {NotAsked(kDataFolder, why), NotAsked(kDataSets, why)};
  Findings findings(kDataFolder);
  findings.Add(CheckState::kFailed, why, "'longreach data list' says the same");
  return {findings.check(), NotAsked(kDataSets, "the data folder cannot be looked into")};
}

}  // namespace longreach::client
