#include "client/commands/device_time.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "client/commands/paired_values.h"

namespace longreach::client {
namespace {

struct TurnOfAttempt {
  double at_s;
  bool begins;
  uint64_t attempt;
};

bool IsEarlier(const TurnOfAttempt& a, const TurnOfAttempt& b) { return std::tie(a.at_s, a.begins, a.attempt) < std::tie(b.at_s, b.begins, b.attempt); }

}  // namespace

double SecondsOf(const google::protobuf::Timestamp& time) { return static_cast<double>(time.seconds()) + time.nanos() * 1e-9; }

std::map<uint64_t, double> DeviceSeconds(const std::map<uint64_t, AttemptTime>& attempts) {
  std::map<uint64_t, double> seconds;
  std::map<std::string, std::vector<TurnOfAttempt>> by_device;
  for (const auto& [attempt, time] : attempts) {
    seconds[attempt] = 0;
    if (time.end_s <= time.start_s) continue;  // A clock was set back.
    std::vector<TurnOfAttempt>& turns = by_device[time.device];
    turns.push_back({time.start_s, true, attempt});
    turns.push_back({time.end_s, false, attempt});
  }
  for (auto& [device, turns] : by_device) {
    std::ranges::sort(turns, IsEarlier);
    double part = 0;  // Of an attempt that had been there from the device's first one on.
    double before = turns.front().at_s;
    std::map<uint64_t, double> part_at_begin;
    for (const TurnOfAttempt& turn : turns) {
      if (!part_at_begin.empty()) part += (turn.at_s - before) / static_cast<double>(part_at_begin.size());
      before = turn.at_s;
      if (turn.begins) {
        part_at_begin.emplace(turn.attempt, part);
      } else {
        seconds[turn.attempt] = part - part_at_begin.at(turn.attempt);
        part_at_begin.erase(turn.attempt);
      }
    }
  }
  return seconds;
}

void DeviceTime::Add(std::vector<std::string> values, const google::protobuf::RepeatedPtrField<v1::AttemptInfo>& attempts) {
  for (const v1::AttemptInfo& one : attempts) {
    parts_.push_back({.job = values_.size(), .attempt = one.attempt(), .is_accepted = one.outcome() == "succeeded"});
    const auto [at, is_new] = attempts_.try_emplace(one.attempt());
    if (!is_new) continue;  // It has several jobs.
    running_ += one.has_ended_at() ? 0 : 1;
    at->second = AttemptOf(one);
  }
  values_.push_back(std::move(values));
}

DeviceTime::Attempt DeviceTime::AttemptOf(const v1::AttemptInfo& attempt) const {
  // A worker's id is no device's: of one that does not say which it has, it stands for a device that no other has.
  Attempt known{.time = {.device = attempt.device_id().empty() ? "worker " + attempt.worker() : attempt.device_id(), .start_s = SecondsOf(attempt.started_at()), .end_s = now_s_},
                .worker = attempt.worker(),
                .device = attempt.device(),
                .is_known = !attempt.device_id().empty(),
                .members = std::max(1, attempt.members())};
  const bool is_lost = attempt.outcome() == "lost";
  if (attempt.has_ended_at()) known.time.end_s = SecondsOf(attempt.ended_at());
  if (attempt.has_ended_at() && !is_lost) return known;
  const auto seen = seen_s_.find(attempt.worker());
  const bool fell_silent = seen != seen_s_.end() && seen->second < known.time.end_s;
  if (fell_silent) known.time.end_s = seen->second;
  known.is_unsure = is_lost && !fell_silent;
  return known;
}

std::vector<SpentTime> DeviceTime::Rows() const {
  std::vector<SpentTime> rows = Sums([this](const Part& part) {
    std::vector<std::string> row = values_[part.job];
    row.push_back(attempts_.at(part.attempt).device);
    return row;
  });
  std::ranges::sort(rows, [](const SpentTime& a, const SpentTime& b) { return std::ranges::lexicographical_compare(a.values, b.values, IsValueBefore); });
  return rows;
}

SpentTime DeviceTime::Total() const {
  const std::vector<SpentTime> all = Sums([](const Part&) { return std::vector<std::string>(); });
  return all.empty() ? SpentTime() : all.front();
}

SpentTime DeviceTime::Unsure() const {
  const std::vector<SpentTime> both = Sums([this](const Part& part) { return std::vector<std::string>{attempts_.at(part.attempt).is_unsure ? "unsure" : ""}; });
  const auto unsure = std::ranges::find_if(both, [](const SpentTime& one) { return one.values.front() == "unsure"; });
  return unsure == both.end() ? SpentTime() : *unsure;
}

int64_t DeviceTime::OnUnknownDevices() const {
  std::set<std::string> workers;
  int64_t unknown = 0;
  for (const auto& [number, attempt] : attempts_) {
    workers.insert(attempt.worker);
    if (!attempt.is_known) ++unknown;
  }
  return workers.size() > 1 ? unknown : 0;
}

std::vector<SpentTime> DeviceTime::Sums(const std::function<std::vector<std::string>(const Part&)>& row_of) const {
  std::map<uint64_t, AttemptTime> times;
  for (const auto& [attempt, one] : attempts_) times.emplace(attempt, one.time);
  const std::map<uint64_t, double> seconds = DeviceSeconds(times);
  struct Sum {
    SpentTime spent;
    std::set<size_t> jobs;
    std::set<uint64_t> attempts;
  };
  std::map<std::vector<std::string>, Sum> sums;
  for (const Part& part : parts_) {
    Sum& sum = sums[row_of(part)];
    const double own = seconds.at(part.attempt) / attempts_.at(part.attempt).members;
    sum.jobs.insert(part.job);
    sum.attempts.insert(part.attempt);
    sum.spent.seconds += own;
    if (!part.is_accepted) continue;
    sum.spent.result_seconds += own;
    ++sum.spent.results;
  }
  std::vector<SpentTime> rows;
  for (auto& [values, sum] : sums) {
    sum.spent.values = values;
    sum.spent.jobs = static_cast<int64_t>(sum.jobs.size());
    sum.spent.attempts = static_cast<int64_t>(sum.attempts.size());
    rows.push_back(std::move(sum.spent));
  }
  return rows;
}

}  // namespace longreach::client
