#include "worker/announced_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "proto/types/wire_limits.h"
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
  // What was in a folder that cannot be read now is not gone, and whoever asks why its jobs do not begin is told of the folder.
  std::vector<data::DamagedSet> out_of_reach;
  const auto is_listed = [&listing](const std::string& name) {
    return std::ranges::find(listing.data_sets, name, &data::Manifest::name) != listing.data_sets.end() ||
           std::ranges::find(listing.damaged, name, &data::DamagedSet::name) != listing.damaged.end();
  };
  if (!listing.status.ok()) {
    std::vector<std::string> known;
    for (const v1::DataSet& data : data_sets_) known.push_back(data.name());
    for (const data::DamagedSet& damaged : damaged_) known.push_back(damaged.name);
    for (const std::string& name : known) {
      if (!is_listed(name)) out_of_reach.push_back({.name = name, .reason = std::string(listing.status.message())});
    }
  }
  data_sets_.clear();
  for (const data::Manifest& manifest : listing.data_sets) {
    if (data_sets_.size() == static_cast<size_t>(kMaxDataSetsOfWorker)) break;
    v1::DataSet& data = data_sets_.emplace_back();
    data.set_name(manifest.name);
    data.set_sha256(manifest.Identity());
    data.set_bytes(static_cast<double>(manifest.bytes()));
  }
  damaged_ = std::move(out_of_reach);
  std::vector<std::string> texts;
  const auto warn = [this, &texts](const std::string& text) {
    if (std::ranges::find(warned_, text) == warned_.end()) agent::LogWarning(text);
    texts.push_back(text);
  };
  if (!listing.status.ok()) warn(fmt::format("data sets are not announced: {}", std::string(listing.status.message())));
  if (listing.data_sets.size() > data_sets_.size()) {
    warn(fmt::format("data sets are not announced: {} of the {} in {}, since a scheduler takes {} of a worker; put those that its jobs need into a folder of their own",
                     listing.data_sets.size() - data_sets_.size(), listing.data_sets.size(), folder_.string(), kMaxDataSetsOfWorker));
  }
  for (const data::DamagedSet& damaged : told_.After(listing.damaged, std::chrono::steady_clock::now())) {
    // No job names a folder that could not be a data set's.
    if (data::CheckName(damaged.name).ok()) damaged_.push_back(damaged);
    warn(fmt::format("a data set is not announced: {}", damaged.Text()));
  }
  warned_ = std::move(texts);
}

}  // namespace longreach
