#include "client/commands/repeated_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "client/commands/measurement_pages.h"
#include "client/data_fit.h"
#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/types/artifact_kind.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

using Key = std::tuple<std::string, int, std::string>;

std::map<Key, double> ByKey(const std::vector<v1::Measurement>& values) {
  std::map<Key, double> by_key;
  for (const v1::Measurement& one : values) by_key.emplace(Key(one.metric(), one.length(), one.slice()), one.value());
  return by_key;
}

// The same bits: NaN is NaN, and -0 is not 0.
bool SameBits(double left, double right) { return std::bit_cast<uint64_t>(left) == std::bit_cast<uint64_t>(right); }

DifferentValue Different(const Key& key, std::optional<double> recorded, std::optional<double> again) {
  return {.metric = std::get<0>(key), .length = std::get<1>(key), .slice = std::get<2>(key), .recorded = recorded, .again = again};
}

void CompareMeasurements(const JobRecord& recorded, const JobRecord& again, RepeatedJob& out) {
  const std::map<Key, double> first = ByKey(recorded.measurements);
  const std::map<Key, double> second = ByKey(again.measurements);
  for (const auto& [key, value] : first) {
    ++out.measurements;
    const auto other = second.find(key);
    if (other == second.end()) {
      out.different.push_back(Different(key, value, std::nullopt));
      continue;
    }
    if (!SameBits(value, other->second)) out.different.push_back(Different(key, value, other->second));
  }
  for (const auto& [key, value] : second) {
    if (first.contains(key)) continue;
    ++out.measurements;
    out.different.push_back(Different(key, std::nullopt, value));
  }
}

// By step, as they come. A repetition has all of them; of what was recorded some may never have come.
void CompareLosses(const JobRecord& recorded, const JobRecord& again, RepeatedJob& out) {
  const std::map<Key, double> second = ByKey(again.losses);
  for (const v1::Measurement& one : recorded.losses) {
    const Key key(one.metric(), one.length(), one.slice());
    const auto other = second.find(key);
    const std::optional<double> again_value = other == second.end() ? std::nullopt : std::optional<double>(other->second);
    ++out.losses;
    if (again_value && SameBits(one.value(), *again_value)) continue;
    if (out.losses_different++ == 0) out.different.push_back(Different(key, one.value(), again_value));
  }
}

// Of a metric; "": of all but losses of training.
absl::StatusOr<std::vector<v1::Measurement>> ReadValues(Connection& connection, const std::string& job, std::string_view metric) {
  v1::ListMeasurementsRequest question;
  question.set_job(job);
  question.set_metric(std::string(metric));
  std::vector<v1::Measurement> values;
  RETURN_IF_ERROR(ForEachMeasurementPage(connection, std::move(question), [&values](const v1::ListMeasurementsResponse& page) {
    for (const v1::JobMeasurements& of_job : page.jobs()) values.insert(values.end(), of_job.measurements().begin(), of_job.measurements().end());
    return true;
  }));
  return values;
}

// Of a processor's name its instruction set follows; a GPU's stands alone (worker/trainer/train.h).
bool IsGpu(const std::string& device) { return device.find(", ") == device.npos; }

std::set<std::string> SeriesOf(const JobRecord& record) {
  std::set<std::string> hashes;
  for (const v1::ArtifactInfo& one : record.job.artifacts()) {
    if (one.kind() == Word(ArtifactKind::kSeries)) hashes.insert(one.sha256());
  }
  return hashes;
}

}  // namespace

const v1::AttemptInfo* JobRecord::Accepted() const {
  const auto accepted = std::find_if(job.attempts().rbegin(), job.attempts().rend(), [](const v1::AttemptInfo& one) { return one.outcome() == "succeeded"; });
  return accepted == job.attempts().rend() ? nullptr : &*accepted;
}

absl::StatusOr<JobRecord> ReadRecord(Connection& connection, const std::string& job) {
  v1::GetJobRequest request;
  request.set_job(job);
  ASSIGN_OR_RETURN(v1::GetJobResponse found, connection.Call(&Connection::Stub::GetJob, request));
  ASSIGN_OR_RETURN(const v1::ListDataSetsResponse sets, connection.Call(&Connection::Stub::ListDataSets, v1::ListDataSetsRequest()));
  ASSIGN_OR_RETURN(std::vector<v1::Measurement> measurements, ReadValues(connection, found.job().id(), ""));
  ASSIGN_OR_RETURN(std::vector<v1::Measurement> losses, ReadValues(connection, found.job().id(), kTrainingLoss));
  return RecordOf(std::move(found), std::move(measurements), std::move(losses), sets);
}

JobRecord RecordOf(v1::GetJobResponse job, std::vector<v1::Measurement> measurements, std::vector<v1::Measurement> losses, const v1::ListDataSetsResponse& sets) {
  JobRecord record{.job = std::move(job), .measurements = std::move(measurements), .losses = std::move(losses)};
  std::vector<std::string> read = DataSetsOf(record.job.spec());
  if (record.job.spec().data().empty()) read.push_back(record.job.spec().task());  // Then its data have the task's name.
  for (const v1::DataSet& one : sets.data_sets()) {
    if (std::ranges::find(read, one.name()) != read.end()) record.data_sets.emplace(one.name(), one.sha256());
  }
  return record;
}

RepeatedJob Compare(const JobRecord& recorded, const JobRecord& again) {
  RepeatedJob out;
  CompareMeasurements(recorded, again, out);
  CompareLosses(recorded, again, out);
  out.series_differ = SeriesOf(recorded) != SeriesOf(again);
  out.diverged_differs = recorded.job.job().diverged() != again.job.job().diverged();
  return out;
}

std::vector<std::string> WhyDifferent(const JobRecord& recorded, const JobRecord& again) {
  std::vector<std::string> reasons;
  for (const auto& [name, sha256] : recorded.data_sets) {
    const auto here = again.data_sets.find(name);
    if (here != again.data_sets.end() && here->second != sha256) {
      reasons.push_back(fmt::format("the data set '{}' has other bytes here: {} instead of {}", name, ShortId(here->second), ShortId(sha256)));
    }
  }
  const v1::AttemptInfo* first = recorded.Accepted();
  const v1::AttemptInfo* second = again.Accepted();
  if (first == nullptr || second == nullptr) return reasons;
  if (first->engine() != second->engine()) reasons.push_back(fmt::format("other engines ({} and {}) add in other orders", first->engine(), second->engine()));
  if (first->device() != second->device()) reasons.push_back(fmt::format("other devices ({} and {}) may round otherwise", first->device(), second->device()));
  if (first->build() != second->build()) reasons.push_back(fmt::format("other builds ({} and {})", first->build(), second->build()));
  if (reasons.empty() && first->members() != second->members() && IsGpu(first->device()) && IsGpu(second->device())) {
    reasons.push_back(fmt::format("on a GPU a job's bits depend on its pack, and these were trained in packs of {} and {}", first->members(), second->members()));
  }
  std::set<std::string> others;
  for (const v1::AttemptInfo& one : recorded.job.attempts()) {
    if (one.outcome() != "dropped" && !one.engine().empty() && one.engine() != first->engine()) others.insert(one.engine());
  }
  if (!others.empty()) reasons.push_back(fmt::format("of the recorded one {} may have trained a part", Join({others.begin(), others.end()}, ", ")));
  return reasons;
}

std::string ComputedBy(const JobRecord& record) {
  const v1::AttemptInfo* by = record.Accepted();
  if (by == nullptr) return "not recorded";
  std::string text = fmt::format("{} on {}", by->engine(), by->device());
  if (by->threads() > 0) text += ", " + Count(by->threads(), "thread");
  return fmt::format("{}; {}", text, by->build());
}

}  // namespace longreach::client
