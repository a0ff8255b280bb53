#include "scheduler/service/test_lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "proto/base/text.h"
#include "scheduler/service/replies.h"

namespace longreach::service {
namespace {

constexpr std::string_view kPasskeys = "passkey_accuracy";
constexpr std::array<std::string_view, 7> kOfEachTest = {"accuracy", "bits_per_byte", "cross_entropy", "exact_match", "loss", kPasskeys, "perplexity"};

// A list that is longer is nothing to be typed, or read.
constexpr size_t kMostRanges = 60;

// As --only takes them: "11,13,20..22".
std::string AsRanges(const std::set<int>& lengths) {
  std::vector<std::pair<int, int>> runs;
  for (const int length : lengths) {
    if (!runs.empty() && runs.back().second == length - 1) runs.back().second = length;
    else runs.emplace_back(length, length);
  }
  std::vector<std::string> words;
  for (const auto& [first, last] : runs) words.push_back(first == last ? fmt::format("{}", first) : fmt::format("{}..{}", first, last));
  return Join(words, ",");
}

// The first so many characters of "11..13,20,25", at a comma.
std::string Shortened(const std::string& ranges) {
  if (ranges.size() <= kMostRanges) return ranges;
  return ranges.substr(0, ranges.rfind(',', kMostRanges)) + ",...";
}

}  // namespace

absl::StatusOr<std::map<std::string, std::set<int>>> TestLengthsOfSystems(const v1::SweepSpec& sweep, std::string_view metric) {
  std::map<std::string, std::set<int>> by_system;
  for (const v1::System& system : sweep.systems()) {
    if (metric == kPasskeys) {
      const auto &own = system.with().evaluation().passkey_lengths(), &of_sweep = sweep.evaluation().passkey_lengths();
      const auto& lengths = own.empty() ? of_sweep : own;
      by_system[system.name()].insert(lengths.begin(), lengths.end());
      continue;
    }
    v1::SweepSpec own;
    own.set_experiment(sweep.experiment());
    const auto& said = system.with().evaluation().lengths();
    *own.mutable_evaluation()->mutable_lengths() = said.empty() ? sweep.evaluation().lengths() : said;
    ASSIGN_OR_RETURN(const std::vector<int> lengths, TestLengthsOfSweep(own));
    by_system[system.name()].insert(lengths.begin(), lengths.end());
  }
  return by_system;
}

bool IsOfEachTest(std::string_view metric) { return std::ranges::find(kOfEachTest, metric) != kOfEachTest.end(); }

std::string NoteOnTestLengths(const std::map<std::string, std::set<int>>& by_system) {
  std::map<std::set<int>, std::vector<std::string>> systems_at;
  for (const auto& [system, lengths] : by_system) systems_at[lengths].push_back(system);
  if (systems_at.size() < 2) return "";
  std::set<int> common = systems_at.begin()->first;
  std::vector<std::string> tests;
  for (const auto& [lengths, systems] : systems_at) {
    std::set<int> both;
    std::ranges::set_intersection(common, lengths, std::inserter(both, both.end()));
    common = std::move(both);
    tests.push_back(fmt::format("{} at {}", JoinSome(systems, 3), Shortened(AsRanges(lengths))));
  }
  const std::string ranges = AsRanges(common);
  return fmt::format("values over all lengths are of different tests, as systems were tested at different lengths ({}){}", Join(tests, "; "),
                     ranges.empty() || ranges.size() > kMostRanges ? "" : fmt::format("; --only length={} compares them", ranges));
}

}  // namespace longreach::service
