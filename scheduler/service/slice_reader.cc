#include "scheduler/service/slice_reader.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "proto/types/words.h"
#include "store/loss_curves.h"

namespace longreach::service {

SliceReader::SliceReader(sql::Connection& db, ResultsTable& table) : db_(db), table_(table) {
  for (const std::string& axis : table.slice_axes()) {
    if (table.IsAxis(axis)) axes_.push_back(axis);
  }
}

absl::Status SliceReader::BinSteps(const TableSource& members) {
  if (table_.spec().step_bins() == 0 || table_.spec().metric() != kTrainingLoss) return absl::OkStatus();
  int64_t last = 0;
  RETURN_IF_ERROR(ForEachWanted(members, [&](int64_t job) -> absl::Status {
    ASSIGN_OR_RETURN(const int64_t newest, store::NewestStepOf(db_, job));
    last = std::max(last, newest);
    return absl::OkStatus();
  }));
  bins_.emplace(last, table_.spec().step_bins());
  return absl::OkStatus();
}

absl::StatusOr<std::set<SlicePlace>> SliceReader::PlacesOf(const TableSource& members) {
  std::set<SlicePlace> places;
  RETURN_IF_ERROR(Read(members, false, [&places](const TableJob&, const ValuesByPlace& values) {
    for (const auto& [place, some] : values) places.insert(place);
  }));
  return places;
}

std::set<SlicePlace> SliceReader::PublishedPlaces() const {
  std::vector<std::string> axes = axes_;
  if (table_.ByLength()) axes.emplace_back("length");
  std::set<SlicePlace> places;
  for (std::vector<std::string> keys : table_.PublishedOn(axes)) {
    SlicePlace place;
    if (table_.ByLength()) {
      place.length = static_cast<int>(ParseInteger(keys.back()).value_or(0));
      keys.pop_back();
    }
    place.keys = std::move(keys);
    places.insert(std::move(place));
  }
  return places;
}

absl::Status SliceReader::ReadAt(const std::set<SlicePlace>& places, const TableSource& source, bool extra,
                                 const std::function<void(const TableJob&)>& use) {
  return Read(source, extra, [&](TableJob& job, const ValuesByPlace& values) {
    if (!table_.IsWanted(job, extra)) return use(job);
    job.again = false;
    for (const SlicePlace& place : places) {
      job.length = place.length;
      for (size_t i = 0; i < place.keys.size(); ++i) job.slice[axes_[i]] = place.keys[i];
      job.more = false;
      const auto found = values.find(place);
      const size_t count = found == values.end() ? 0 : found->second.size();
      for (size_t i = 0; i == 0 || i < count; ++i) {
        job.value = i < count ? std::optional(found->second[i]) : std::nullopt;
        use(job);
        job.again = job.more = true;
      }
    }
  });
}

absl::StatusOr<std::set<int>> SliceReader::LengthsOfSlices(const TableSource& members) {
  std::set<int> lengths;
  RETURN_IF_ERROR(ForEachWanted(members, [&](int64_t job) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<store::SliceValue> values, store::ValuesInSlices(db_, job, table_.spec().metric()));
    for (const store::SliceValue& value : values) {
      if (!lengths.contains(value.length) && PlaceOf(value.slice).has_value()) lengths.insert(value.length);
    }
    return absl::OkStatus();
  }));
  return lengths;
}

std::string SliceReader::Axes() const {
  std::set<std::string> names;
  for (const auto& [slice, place] : places_) {
    if (slice.empty()) continue;
    std::vector<std::string> axes;
    for (const auto& [axis, key] : catalog::SliceKeys(slice)) axes.push_back(axis);
    names.insert(Join(axes, " and "));
  }
  if (names.empty()) return places_.empty() ? "" : "without slices";
  return fmt::format("by {}", Join({names.begin(), names.end()}, ", "));
}

absl::Status SliceReader::Read(const TableSource& source, bool extra, const std::function<void(TableJob&, const ValuesByPlace&)>& use) {
  return ForEachJobOf(db_, source, table_.spec(), 0, [&](TableJob& job, const store::MeasuredJob& measured) -> absl::Status {
    ValuesByPlace by_place;
    if (table_.IsWanted(job, extra)) {
      ASSIGN_OR_RETURN(const std::vector<store::SliceValue> values, store::ValuesInSlices(db_, measured.num, table_.spec().metric()));
      by_place = ByPlace(bins_.has_value() ? bins_->MeansOf(values) : table_.IsOverLengths() ? MeansOverLengths(values) : values);
    }
    use(job, by_place);
    return absl::OkStatus();
  });
}

absl::Status SliceReader::ForEachWanted(const TableSource& members, const std::function<absl::Status(int64_t job)>& use) {
  return ForEachJobOf(db_, members, table_.spec(), 0, [&](const TableJob& job, const store::MeasuredJob& measured) {
    return table_.IsWanted(job, false) ? use(measured.num) : absl::OkStatus();
  });
}

SliceReader::ValuesByPlace SliceReader::ByPlace(std::span<const store::SliceValue> values) {
  ValuesByPlace by_place;
  for (const store::SliceValue& value : values) {
    if (!table_.TakesLength(value.length)) continue;
    const std::optional<std::vector<std::string>>& keys = PlaceOf(value.slice);
    if (keys.has_value()) by_place[{.length = table_.ByLength() ? value.length : 0, .keys = *keys}].push_back(value.value);
  }
  return by_place;
}

std::vector<store::SliceValue> SliceReader::MeansOverLengths(std::span<const store::SliceValue> values) {
  std::map<std::string_view, std::vector<const store::SliceValue*>> by_slice;
  for (const store::SliceValue& value : values) {
    if (table_.TakesLength(value.length)) by_slice[value.slice].push_back(&value);
  }
  std::vector<store::SliceValue> means;
  for (const auto& [slice, of_slice] : by_slice) {
    double sum = 0;
    std::vector<int> lengths;
    for (const store::SliceValue* value : of_slice) {
      sum += value->value;
      lengths.push_back(value->length);
    }
    if (PlaceOf(std::string(slice)).has_value()) table_.SeeLengths(lengths);
    means.push_back({.length = of_slice.front()->length, .slice = std::string(slice), .value = sum / static_cast<double>(of_slice.size())});
  }
  return means;
}

const std::optional<std::vector<std::string>>& SliceReader::PlaceOf(const std::string& slice) {
  const auto [found, added] = places_.try_emplace(slice);
  if (!added) return found->second;
  TableJob at;
  at.slice = catalog::SliceKeys(slice);
  if (!table_.TakesSlice(at.slice)) return found->second;
  std::vector<std::string>& keys = found->second.emplace();
  for (const std::string& axis : axes_) keys.push_back(KeyOf(at, axis));
  return found->second;
}

}  // namespace longreach::service
