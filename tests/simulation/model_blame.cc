// Of the reference model (model.h): whether the machine or a sweep is to blame for what fails on a worker.
#include <algorithm>
#include <set>

#include "tests/simulation/model.h"

namespace longreach::simulation {
namespace {

constexpr size_t kFailuresToPutAside = 3;
constexpr size_t kFailuresKept = 16;
constexpr size_t kAloneKept = 64;
constexpr size_t kKindsToBlame = 3;

}  // namespace

void Model::NoteFailure(const std::vector<int>& own, Worker& worker) {
  const std::set<int> jobs(own.begin(), own.end());
  if (jobs.empty()) return;
  if (jobs.size() == 1) {
    const bool again = std::erase(worker.alone, own.front()) > 0;
    worker.alone.push_back(own.front());
    if (again) return;
    if (worker.alone.size() > kAloneKept) worker.alone.erase(worker.alone.begin());
  }
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

uint32_t Model::ClaimsOnAll(const std::set<int>& jobs) const {
  uint32_t sweeps = ~0u;
  for (const int job : jobs) sweeps &= ClaimsOn(job);
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
    const auto count = std::ranges::count_if(worker.failed, [&](const Worker::Failed& failed) { return (ClaimsOnAll(failed.jobs) >> sweep & 1) != 0; });
    if (count >= static_cast<std::ptrdiff_t>(kFailuresToPutAside)) blamed |= 1u << sweep;
  }
  return blamed;
}

void Model::Succeeded(const std::set<int>& jobs, Worker& worker) {
  uint32_t sweeps = 0;
  for (const int job : jobs) sweeps |= ClaimsElseSweepsOf(job);
  sweeps = LiveOf(sweeps);
  std::erase_if(worker.failed, [&](const Worker::Failed& failed) {
    return std::ranges::any_of(failed.jobs, [&](int job) { return (ClaimsElseSweepsOf(job) & sweeps) != 0; });
  });
  for (Worker::Failed& failed : worker.failed) failed.old = true;
  // Nothing is old and in a row, so the machine is not to blame.
  if (worker.state == "put_aside" && BlamedSweeps(worker) == 0) worker.state = "active";
}

std::vector<Model::Offer> Model::OffersFor(const Worker& worker) const {
  if (IsAside(worker)) return {};
  const auto first_time = [&worker](int job) { return std::ranges::find(worker.alone, job) == worker.alone.end(); };
  const uint32_t blamed = BlamedSweeps(worker), kept = LiveOf(blamed);
  std::vector<Offer> offers;
  if (blamed == 0) {
    if (!worker.alone.empty()) offers.push_back({.has = first_time});
    offers.push_back({.has = [](int) { return true; }, .all = true});
    return offers;
  }
  std::set<std::string> kinds;
  for (const Worker::Failed& failed : worker.failed) {
    if ((ClaimsOnAll(failed.jobs) & blamed) == 0) continue;
    for (const int job : failed.jobs) kinds.insert(Spec(job).pack_key);
  }
  const auto other_kind = [this, kinds](int job) { return !kinds.contains(Spec(job).pack_key); };
  const auto other_sweep = [this, kept, other_kind](int job) { return (ClaimsOn(job) & kept) == 0 && other_kind(job); };
  if (!worker.alone.empty()) offers.push_back({.has = [=](int job) { return other_sweep(job) && first_time(job); }});
  offers.push_back({.has = other_sweep});
  if (kinds.size() < kKindsToBlame) offers.push_back({.has = [=](int job) { return other_kind(job) && first_time(job); }});
  return offers;
}

}  // namespace longreach::simulation
