// Of the reference model (model.h): whether the machine or a sweep is to blame for what fails on a worker.
#include <algorithm>
#include <set>

#include "tests/simulation/model.h"

namespace longreach::simulation {
namespace {

constexpr size_t kFailuresToPutAside = 3;
constexpr size_t kFailuresKept = 16;

}  // namespace

void Model::NoteFailure(const std::vector<int>& own, Worker& worker) {
  const std::set<int> jobs(own.begin(), own.end());
  if (jobs.empty()) return;
  const auto shares = std::ranges::find_if(worker.failed, [&](const Worker::Failed& earlier) {
    return std::ranges::any_of(jobs, [&](int job) { return earlier.jobs.contains(job); });
  });
  const bool is_new = shares == worker.failed.end();
  if (is_new || std::ranges::includes(shares->jobs, jobs)) {
    if (!is_new) worker.failed.erase(shares);  // A part of it says more.
    worker.failed.push_back({.jobs = jobs});
    if (worker.failed.size() > kFailuresKept) worker.failed.erase(worker.failed.begin());
  }
  if (worker.state != "active" || (!IsAside(worker) && BlamedSweeps(worker) == 0)) return;
  worker.state = "put_aside";
  ++refusals_.put_aside;
  if (!IsAside(worker)) ++refusals_.aside_for_sweeps;
}

uint32_t Model::OfAll(const std::set<int>& jobs) const {
  uint32_t sweeps = ~0u;
  for (const int job : jobs) sweeps &= SweepsOf(job);
  return sweeps;
}

uint32_t Model::LiveOf(uint32_t some) const {
  uint32_t live = 0;
  for (size_t sweep = 0; sweep < sweeps_.size(); ++sweep) live |= sweeps_[sweep].state == SweepState::kLive ? 1u << sweep : 0;
  return (some & live) != 0 ? some & live : some;
}

bool Model::IsAside(const Worker& worker) const {
  size_t row = 0;
  uint32_t common = ~0u;
  for (const Worker::Failed& failed : worker.failed) {
    if (failed.old) continue;
    ++row;
    common &= OfAll(failed.jobs);
  }
  return row >= kFailuresToPutAside && common == 0;
}

uint32_t Model::BlamedSweeps(const Worker& worker) const {
  uint32_t blamed = 0;
  for (size_t sweep = 0; sweep < sweeps_.size(); ++sweep) {
    const auto count = std::ranges::count_if(worker.failed, [&](const Worker::Failed& failed) { return (OfAll(failed.jobs) >> sweep & 1) != 0; });
    if (count >= static_cast<std::ptrdiff_t>(kFailuresToPutAside)) blamed |= 1u << sweep;
  }
  return blamed;
}

void Model::Succeeded(const std::set<int>& jobs, Worker& worker) {
  uint32_t sweeps = 0;
  for (const int job : jobs) sweeps |= SweepsOf(job);
  sweeps = LiveOf(sweeps);
  std::erase_if(worker.failed, [&](const Worker::Failed& failed) {
    return std::ranges::any_of(failed.jobs, [&](int job) { return (SweepsOf(job) & sweeps) != 0; });
  });
  for (Worker::Failed& failed : worker.failed) failed.old = true;
  // Nothing is old and in a row, so the machine is not to blame.
  if (worker.state == "put_aside" && BlamedSweeps(worker) == 0) worker.state = "active";
}

int Model::Grade(int job, const Worker& worker) const {
  if (IsAside(worker)) return 0;
  const uint32_t blamed = BlamedSweeps(worker), kept = LiveOf(blamed);
  if ((SweepsOf(job) & kept) != 0) return 0;
  for (const Worker::Failed& failed : worker.failed) {
    for (const int other : failed.jobs) {
      if ((OfAll(failed.jobs) & blamed) != 0 && Spec(other).pack_key == Spec(job).pack_key) return 0;
    }
    if (blamed == 0 && failed.jobs == std::set<int>{job}) return 1;
  }
  return 2;
}

}  // namespace longreach::simulation
