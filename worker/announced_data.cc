#include "worker/announced_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "worker/agent/log.h"
#include "worker/data/data_folder.h"

namespace longreach {

std::vector<v1::DataSet> AnnouncedData::operator()() {
  constexpr std::chrono::seconds kBetween{4};  // Below the time between two calls of an idle worker.
  const auto now = std::chrono::steady_clock::now();
  if (read_ && now - read_at_ < kBetween) return data_sets_;
  read_ = true;
  read_at_ = now;
  data_sets_.clear();
  const data::Listing listing = data::ListDataSets(folder_);
  for (const data::Manifest& manifest : listing.data_sets) {
    v1::DataSet& data = data_sets_.emplace_back();
    data.set_name(manifest.name);
    data.set_sha256(manifest.Identity());
    data.set_bytes(static_cast<double>(manifest.bytes()));
  }
  for (const std::string& damaged : listing.damaged) {
    if (std::ranges::find(warned_, damaged) != warned_.end()) continue;
    warned_.push_back(damaged);
    agent::LogWarning(fmt::format("a data set is not announced: {}", damaged));
  }
  return data_sets_;
}

}  // namespace longreach
