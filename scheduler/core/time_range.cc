#include "scheduler/core/time_range.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <numbers>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace longreach::core {
namespace {

constexpr size_t kFewest = 5;
constexpr int kPlays = 99;
constexpr int kCutOff = 4;  // Plays beyond each end of the range.
// Of more running packs some stand for all, with their part of the work. Of more open packs the first count by what they are in the mean: only the last
// say who waits for whom at the end.
constexpr size_t kMostPlayed = 128;
// A smaller part of a pack's time than this is no training that could be seen.
constexpr double kLeastTrained = 0.1;
// The share of a pack's time that is training is measured on packs that run, which may differ from those that are to come by more than they do from each
// other.
constexpr double kShareSpread = 1.5;
constexpr double kMostShares = 2;  // Of more of them the mean is not better known.
constexpr int kMostFreedom = 30;  // Beyond, Student's t is a normal distribution to the eye.

// What a number is drawn for: with the play and its place among those of its purpose it says which number that is.
enum class Purpose : uint64_t { kShare, kRest, kTest, kLast, kKind, kPart };

// Mixes bits (SplitMix64).
uint64_t Mixed(uint64_t bits) {
  bits += 0x9E3779B97F4A7C15;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
  return bits ^ (bits >> 31);
}

class Numbers {
 public:
  Numbers(int play, Purpose purpose, uint64_t place) : key_(Mixed(Mixed(Mixed(static_cast<uint64_t>(play)) ^ static_cast<uint64_t>(purpose)) ^ place)) {}

  double Uniform(uint64_t number) const { return (static_cast<double>(Mixed(key_ ^ number) >> 11) + 0.5) * 0x1p-53; }
  double Normal(uint64_t number) const {
    return std::sqrt(-2 * std::log(Uniform(2 * number))) * std::cos(2 * std::numbers::pi * Uniform(2 * number + 1));
  }
  double Of(const Guess& guess) const {
    const int freedom = std::min(guess.freedom, kMostFreedom);
    double wider = 1;
    if (freedom > 0) {
      double squares = 0;
      for (int i = 1; i <= freedom; ++i) squares += std::pow(Normal(static_cast<uint64_t>(i)), 2);
      wider = std::sqrt(freedom / squares);
    }
    return guess.mean + guess.spread * wider * Normal(0);
  }

 private:
  uint64_t key_;
};

// The place of a name among those that were asked for: its numbers are the same in each play.
class Places {
 public:
  template <typename Name>
  static uint64_t Of(std::map<Name, uint64_t>& places, const Name& name) {
    return places.try_emplace(name, places.size()).first->second;
  }
  std::array<std::map<std::string, uint64_t>, PackPaces::kParts> parts;
  std::map<PackKind, uint64_t> kinds;
};

// What one play takes for true.
class Truth {
 public:
  Truth(int play, const PackPaces& paces, Places& places) : play_(play), paces_(paces), places_(places) {}

  // The logarithm of seconds per job-step on a worker like the mean of all.
  double OfKind(const PackKind& kind) {
    const auto known = kinds_.find(kind);
    if (known != kinds_.end()) return known->second;
    const double sum = paces_.mean() + Part(PackPaces::kOfTask, kind.task) + Part(PackPaces::kOfEncoding, kind.encoding) +
                       Part(PackPaces::kOfSystem, kind.system) +
                       Numbers(play_, Purpose::kKind, Places::Of(places_.kinds, kind)).Of(paces_.OfKind(kind));
    return kinds_.emplace(kind, sum).first->second;
  }
  // How many times as long a worker takes as the mean of all.
  double OfWorker(const std::string& worker) { return std::exp(Part(PackPaces::kOfWorker, worker)); }

 private:
  double Part(PackPaces::Part part, const std::string& name) {
    const auto known = parts_[part].find(name);
    if (known != parts_[part].end()) return known->second;
    // A place for each part of its own: other parts may have the same number of names.
    const uint64_t place = Places::Of(places_.parts[part], name) * PackPaces::kParts + part;
    return parts_[part].emplace(name, Numbers(play_, Purpose::kPart, place).Of(paces_.Of(part, name))).first->second;
  }

  int play_;
  const PackPaces& paces_;
  Places& places_;
  std::array<std::map<std::string, double>, PackPaces::kParts> parts_;
  std::map<PackKind, double> kinds_;
};

// Packs of one kind that are as long.
struct OpenPacks {
  PackKind kind{};
  double job_steps = 0;  // Of each.
  int64_t packs = 0;
};

// Neighbours of one kind make packs together. `share`: of all that runs, that which is played.
std::vector<OpenPacks> AsPacks(std::span<const OpenJobs> open, double jobs_a_pack, double share) {
  std::vector<OpenJobs> kinds;
  for (const OpenJobs& jobs : open) {
    if (!kinds.empty() && kinds.back().kind == jobs.kind && kinds.back().steps == jobs.steps) kinds.back().jobs += jobs.jobs;
    else kinds.push_back(jobs);
  }
  std::vector<OpenPacks> packs;
  double all = 0;
  int64_t counted = 0;
  for (const OpenJobs& jobs : kinds) {
    if (jobs.jobs <= 0) continue;
    const double of_kind = std::max(1.0, std::round(jobs.jobs / jobs_a_pack));
    all += of_kind * share;
    const auto played = static_cast<int64_t>(all + 0.5) - counted;
    counted += played;
    if (played > 0) packs.push_back({.kind = jobs.kind, .job_steps = jobs.jobs * jobs.steps / of_kind, .packs = played});
  }
  return packs;
}

bool TellsItsSpeed(const RunningPack& pack) { return pack.phase == AttemptPhase::kTraining && pack.steps_per_second > 0; }

// Of the time of packs that run, the part that they train, ascending; the rest is their start and their tests.
std::vector<double> TrainedShares(const PackPaces& paces, std::span<const RunningPack> running) {
  std::vector<double> shares;
  for (const RunningPack& pack : running) {
    if (!TellsItsSpeed(pack) || !paces.Knows(pack.kind, pack.worker)) continue;
    const double whole = std::exp(paces.Usual(pack.kind, pack.worker)) * pack.steps * pack.members;
    shares.push_back(std::clamp(pack.steps / pack.steps_per_second / whole, kLeastTrained, 1.0));
  }
  std::ranges::sort(shares);
  return shares;
}

// All that is the same in each play.
struct Sweep {
  const PackPaces& paces;
  std::vector<RunningPack> running;
  std::vector<OpenPacks> open;
  std::vector<double> shares;
};

// A worker with as many packs at a time as it has.
struct Another {
  std::string worker{};
  size_t packs = 0;
};

// Nothing: none of them was measured.
Another LikeTheFastest(const PackPaces& paces, std::span<const RunningPack> running) {
  std::map<std::string, size_t> packs_of;
  for (const RunningPack& pack : running) ++packs_of[pack.worker];
  Another fastest;
  double most = 0;
  for (const auto& [worker, packs] : packs_of) {
    const Guess known = paces.Of(PackPaces::kOfWorker, worker);
    const double speed = static_cast<double>(packs) / std::exp(known.mean);
    if (known.freedom > 0 || speed <= most) continue;
    most = speed;
    fastest = {.worker = worker, .packs = packs};
  }
  return fastest;
}

// Seconds until the sweep is done, in one play, with another worker that has nothing to do yet.
double Played(int play, const Sweep& sweep, const Another& another, Places& places) {
  Truth truth(play, sweep.paces, places);
  const Numbers for_share(play, Purpose::kShare, 0);
  // Where no pack tells, anything from half to all.
  double share = 0.5 + 0.5 * for_share.Uniform(0);
  if (!sweep.shares.empty()) {
    const double spread = kShareSpread * sweep.paces.unexplained() / std::sqrt(std::min(static_cast<double>(sweep.shares.size()), kMostShares));
    share = std::clamp(sweep.shares[sweep.shares.size() / 2] * std::exp(spread * for_share.Normal(0)), kLeastTrained, 1.0);
  }

  // When each worker's pack is done, and how slow it is. The first that is free is on top.
  std::vector<std::pair<double, double>> slots;
  double speed = 0;
  for (size_t i = 0; i < sweep.running.size(); ++i) {
    const RunningPack& pack = sweep.running[i];
    const double slow = truth.OfWorker(pack.worker);
    const double own = sweep.paces.rest() * Numbers(play, Purpose::kRest, i).Normal(0);
    double whole = pack.steps * pack.members * slow * std::exp(truth.OfKind(pack.kind) + own);
    if (TellsItsSpeed(pack)) whole = pack.steps / pack.steps_per_second / share * std::exp(own / 2);
    const double trained = pack.steps > 0 ? std::clamp(static_cast<double>(pack.step) / pack.steps, 0.0, 1.0) : 0;
    const bool trains = pack.phase == AttemptPhase::kStarting || pack.phase == AttemptPhase::kTraining;
    slots.emplace_back(trains ? whole * (1 - share * trained) : whole * (1 - share) * Numbers(play, Purpose::kTest, i).Uniform(0), slow);
    speed += 1 / slow;
  }
  for (size_t i = 0; i < another.packs; ++i) {
    slots.emplace_back(0, truth.OfWorker(another.worker));
    speed += 1 / slots.back().second;
  }

  int64_t to_skip = -static_cast<int64_t>(kMostPlayed);
  for (const OpenPacks& packs : sweep.open) to_skip += packs.packs;
  double skipped = 0;
  std::vector<double> last;
  for (const OpenPacks& packs : sweep.open) {
    const double seconds = packs.job_steps * std::exp(truth.OfKind(packs.kind));
    const int64_t skips = std::clamp<int64_t>(to_skip, 0, packs.packs);
    to_skip -= skips;
    skipped += seconds * static_cast<double>(skips);
    last.insert(last.end(), static_cast<size_t>(packs.packs - skips), seconds);
  }
  double end = 0;
  for (auto& [free, slow] : slots) {
    free += skipped / speed;
    end = std::max(end, free);
  }
  std::priority_queue<std::pair<double, double>, std::vector<std::pair<double, double>>, std::greater<>> workers(std::greater<>(), std::move(slots));
  for (size_t i = 0; i < last.size(); ++i) {
    auto [free, slow] = workers.top();
    workers.pop();
    free += last[i] * slow * std::exp(sweep.paces.rest() * Numbers(play, Purpose::kLast, i).Normal(0));
    end = std::max(end, free);
    workers.emplace(free, slow);
  }
  return end;
}

// Ascending.
std::vector<double> AllPlayed(const Sweep& sweep, const Another& another, Places& places) {
  std::vector<double> ends;
  for (int play = 0; play < kPlays; ++play) ends.push_back(Played(play, sweep, another, places));
  std::ranges::sort(ends);
  return ends;
}

bool IsHandedIn(const RunningPack& pack) { return pack.phase == AttemptPhase::kUploading && pack.step >= pack.steps; }

// Without those whose results are on their way while their worker is at the next pack: it would count as a worker more.
std::vector<RunningPack> AtWork(std::span<const RunningPack> running) {
  std::set<std::string_view> workers;
  for (const RunningPack& pack : running) {
    if (!IsHandedIn(pack)) workers.insert(pack.worker);
  }
  std::vector<RunningPack> at_work;
  std::ranges::copy_if(running, std::back_inserter(at_work), [&workers](const RunningPack& pack) { return !IsHandedIn(pack) || !workers.contains(pack.worker); });
  return at_work;
}

// So many of them, from all over.
std::vector<RunningPack> SomeOf(std::span<const RunningPack> running, size_t most) {
  const size_t count = std::min(running.size(), most);
  std::vector<RunningPack> some;
  for (size_t i = 0; i < count; ++i) some.push_back(running[i * running.size() / count]);
  return some;
}

}  // namespace

TimeRange TimeRangeOf(std::span<const EndedPack> ended, std::span<const RunningPack> held, std::span<const OpenJobs> open, double jobs_a_pack) {
  if (ended.size() < kFewest || held.empty() || jobs_a_pack <= 0) return {};
  const std::vector<RunningPack> running = AtWork(held);
  const PackPaces paces(ended);
  Sweep sweep{.paces = paces, .running = SomeOf(running, kMostPlayed), .open = {}, .shares = TrainedShares(paces, running)};
  sweep.open = AsPacks(open, jobs_a_pack, static_cast<double>(sweep.running.size()) / static_cast<double>(running.size()));

  Places places;
  const std::vector<double> ends = AllPlayed(sweep, {}, places);
  TimeRange range{.usual = ends[kPlays / 2], .low = ends[kCutOff], .high = ends[kPlays - 1 - kCutOff]};
  // Among more workers than are played one is nothing.
  if (sweep.open.empty() || running.size() > kMostPlayed) return range;
  const Another another = LikeTheFastest(paces, running);
  if (another.packs == 0) return range;
  range.fastest = another.worker;
  range.usual_with_another = AllPlayed(sweep, another, places)[kPlays / 2];
  return range;
}

}  // namespace longreach::core
