#include "worker/announced_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "worker/agent/abilities.h"
#include "worker/agent/log.h"

namespace longreach {

AnnouncedData::AnnouncedData(std::filesystem::path folder, std::shared_ptr<data::VerifiedData> verified)
    : folder_(std::move(folder)), verified_(std::move(verified)), read_at_(std::chrono::steady_clock::now()) {
  Take(verified_->Look(data::ListDataSets(folder_)));
}

void AnnouncedData::operator()(v1::Abilities& abilities) {
  constexpr std::chrono::seconds kBetween{4};  // Below the time between two calls of an idle worker.
  constexpr std::chrono::milliseconds kPatience{200};  // Most folders are read in less; then what is new goes with this very call.
  const auto now = std::chrono::steady_clock::now();
  if (!reading_.valid() && now - read_at_ >= kBetween) {
    read_at_ = now;
    reading_ = std::async(std::launch::async, [folder = folder_, verified = verified_] { return verified->Look(data::ListDataSets(folder)); }).share();
  }
  if (reading_.valid() && reading_.wait_for(kPatience) == std::future_status::ready) {
    Take(reading_.get());
    reading_ = {};
  }
  for (const v1::DataSet& data : data_sets_) {
    // The report of the attempt that found it goes with this call, and the next leases come with its answer.
    if (const std::string why = verified_->WhyRefused(data.name()); !why.empty()) agent::AddDamagedDataSet(data.name(), why, abilities);
    else *abilities.add_data_sets() = data;
  }
  for (const data::DamagedSet& damaged : damaged_) agent::AddDamagedDataSet(damaged.name, damaged.reason, abilities);
}

void AnnouncedData::Take(const data::Listing& listing) {
  data_sets_.clear();
  for (const data::Manifest& manifest : listing.data_sets) {
    v1::DataSet& data = data_sets_.emplace_back();
    data.set_name(manifest.name);
    data.set_sha256(manifest.Identity());
    data.set_bytes(static_cast<double>(manifest.bytes()));
  }
  damaged_.clear();
  std::vector<std::string> texts;
  for (const data::DamagedSet& damaged : told_.After(listing.damaged, std::chrono::steady_clock::now())) {
    // No job names a folder that could not be a data set's.
    if (data::CheckName(damaged.name).ok()) damaged_.push_back(damaged);
    const std::string& text = texts.emplace_back(damaged.Text());
    if (std::ranges::find(warned_, text) == warned_.end()) agent::LogWarning(fmt::format("a data set is not announced: {}", text));
  }
  warned_ = std::move(texts);
}

}  // namespace longreach
