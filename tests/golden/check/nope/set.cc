#include "tests/golden/check/nope/set.h"

#include <algorithm>
#include <fstream>

namespace longreach::golden {

bool NopeSet::Has(const std::string& file) const {
  std::error_code error;
  return std::filesystem::exists(folder_ / file, error);
}

nlohmann::json NopeSet::Json(const std::string& file) {
  Claim(file);
  std::ifstream in(folder_ / file);
  nlohmann::json json = nlohmann::json::parse(in, nullptr, false);
  return json.is_discarded() ? nlohmann::json() : json;
}

absl::StatusOr<trainer::SafetensorsFile> NopeSet::Safetensors(const std::string& file) {
  Claim(file);
  return trainer::SafetensorsFile::Open(folder_ / file);
}

std::vector<std::string> NopeSet::Unclaimed() const {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_, error)) {
    const std::string name = std::filesystem::relative(entry.path(), folder_, error).string();
    if (entry.is_regular_file(error) && entry.path().extension() != ".md" && !claimed_.contains(name)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace longreach::golden
