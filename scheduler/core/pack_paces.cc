#include "scheduler/core/pack_paces.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <vector>

namespace longreach::core {
namespace {

// What is believed before anything was measured, and for how many measurements that counts. One task, encoding, system or worker takes up to twice as
// long as another in nine of ten cases (ln 2 / 1.645); packs that are alike in these differ by a tenth.
constexpr double kBetween = 0.42;
constexpr int kBetweenCounts = 4;
constexpr double kAlike = 0.1;
constexpr int kAlikeCounts = 2;
// The parts are found by turns, each from what the others leave: they have settled long before.
constexpr int kTurns = 20;

const std::string& NameOf(PackPaces::Part part, const PackKind& kind, const std::string& worker) {
  switch (part) {
    case PackPaces::kOfTask: return kind.task;
    case PackPaces::kOfEncoding: return kind.encoding;
    case PackPaces::kOfSystem: return kind.system;
    case PackPaces::kOfWorker: break;
  }
  return worker;
}

double Squared(double value) { return value * value; }

}  // namespace

PackPaces::PackPaces(std::span<const EndedPack> ended) {
  const std::vector<Measured> packs = Measure(ended);
  FindParts(packs);
  FindRest(ended, packs);
  GuessUnmeasured(ended);
}

double PackPaces::Measured::Beside(double mean, size_t part) const {
  double rest = log - mean;
  for (size_t other = 0; other < kParts; ++other) {
    if (other != part) rest -= levels[other]->mean;
  }
  return rest;
}

// The mean of all of them, and which level of each part each pack has.
std::vector<PackPaces::Measured> PackPaces::Measure(std::span<const EndedPack> ended) {
  const auto count = static_cast<double>(ended.size());
  std::vector<Measured> packs;
  for (const EndedPack& pack : ended) {
    Measured& measured = packs.emplace_back();
    measured.log = std::log(pack.seconds / pack.job_steps);
    mean_ += measured.log / count;
    for (size_t part = 0; part < kParts; ++part) {
      measured.levels[part] = &levels_[part][NameOf(static_cast<Part>(part), pack.kind, pack.worker)];
      ++measured.levels[part]->packs;
    }
  }
  return packs;
}

void PackPaces::FindParts(std::span<const Measured> packs) {
  const auto count = static_cast<double>(packs.size());
  for (int turn = 0; turn < kTurns; ++turn) {
    for (size_t part = 0; part < kParts; ++part) {
      for (auto& [name, level] : levels_[part]) level.sum = 0;
      double centre = 0;
      for (const Measured& pack : packs) {
        const double of_part = pack.Beside(mean_, part);
        pack.levels[part]->sum += of_part;
        centre += of_part / count;
      }
      for (auto& [name, level] : levels_[part]) level.mean = level.sum / level.packs - centre;
      mean_ += centre;
    }
  }
}

// How much the parts leave unexplained, and how much of that packs of one kind have in common.
void PackPaces::FindRest(std::span<const EndedPack> ended, std::span<const Measured> packs) {
  double all = 0;
  for (size_t pack = 0; pack < packs.size(); ++pack) {
    const double rest = packs[pack].Beside(mean_, kParts);
    all += Squared(rest);
    Cell& cell = cells_[ended[pack].kind];
    cell.sum += rest;
    ++cell.packs;
  }
  double within = 0;
  for (size_t pack = 0; pack < packs.size(); ++pack) {
    const Cell& cell = cells_.at(ended[pack].kind);
    within += Squared(packs[pack].Beside(mean_, kParts) - cell.sum / cell.packs);
  }
  int found = 1;  // Numbers that were made of the measurements.
  for (const auto& levels : levels_) found += static_cast<int>(levels.size()) - 1;
  const int freedom = std::max(0, static_cast<int>(packs.size()) - found);
  const double unexplained = (all + kAlikeCounts * Squared(kAlike)) / (freedom + kAlikeCounts);
  const double rest = (within + kAlikeCounts * Squared(kAlike)) / (static_cast<double>(packs.size()) - static_cast<double>(cells_.size()) + kAlikeCounts);
  unexplained_ = std::sqrt(unexplained);
  rest_ = std::sqrt(rest);
  of_kinds_ = std::max(0.0, unexplained - rest);
}

// What Of() goes by: how many kinds each level was seen in, and how far those of a part are from each other.
void PackPaces::GuessUnmeasured(std::span<const EndedPack> ended) {
  std::set<std::tuple<PackKind, std::string>> trained;
  for (const EndedPack& pack : ended) trained.emplace(pack.kind, pack.worker);
  for (const auto& [kind, cell] : cells_) {
    for (const Part part : {kOfTask, kOfEncoding, kOfSystem}) ++levels_[part].at(NameOf(part, kind, "")).kinds;
  }
  for (const auto& [kind, worker] : trained) ++levels_[kOfWorker].at(worker).kinds;
  for (size_t part = 0; part < kParts; ++part) {
    const auto count = static_cast<double>(levels_[part].size());
    double middle = 0;
    for (const auto& [name, level] : levels_[part]) middle += level.mean / count;
    double apart = kBetweenCounts * Squared(kBetween);
    for (const auto& [name, level] : levels_[part]) apart += Squared(level.mean - middle);
    const int counts = static_cast<int>(levels_[part].size()) - 1 + kBetweenCounts;
    unmeasured_[part] = {.mean = middle, .spread = std::sqrt(apart / counts), .freedom = counts};
  }
}

Guess PackPaces::Of(Part part, const std::string& name) const {
  const auto level = levels_[part].find(name);
  if (level == levels_[part].end()) return unmeasured_[part];
  // Of a kind's own part its many packs tell no more than one.
  return {.mean = level->second.mean, .spread = std::sqrt(of_kinds_ / level->second.kinds + Squared(rest_) / level->second.packs)};
}

Guess PackPaces::OfKind(const PackKind& kind) const {
  const auto found = cells_.find(kind);
  if (found == cells_.end() || of_kinds_ <= 0) return {.mean = 0, .spread = std::sqrt(of_kinds_)};
  const Cell& cell = found->second;
  // Of what its packs have in common a part is the chance of so few of them.
  const double of_chance = Squared(rest_) / cell.packs;
  const double share = of_kinds_ / (of_kinds_ + of_chance);
  return {.mean = share * cell.sum / cell.packs, .spread = std::sqrt(share * of_chance)};
}

bool PackPaces::Knows(const PackKind& kind, const std::string& worker) const {
  for (const Part part : {kOfTask, kOfEncoding, kOfSystem, kOfWorker}) {
    if (!levels_[part].contains(NameOf(part, kind, worker))) return false;
  }
  return true;
}

double PackPaces::Usual(const PackKind& kind, const std::string& worker) const {
  double sum = mean_ + OfKind(kind).mean;
  for (const Part part : {kOfTask, kOfEncoding, kOfSystem, kOfWorker}) sum += Of(part, NameOf(part, kind, worker)).mean;
  return sum;
}

}  // namespace longreach::core
