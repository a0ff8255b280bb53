// Sweeps with systems: each is expanded as a sweep of its own.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "proto/base/names.h"
#include "proto/base/text.h"
#include "proto/catalog/encoding_name.h"
#include "proto/types/canonical.h"
#include "proto/types/sweep_parts.h"
#include "scheduler/experiments/expansion.h"

namespace longreach::experiments {
namespace {

std::vector<const v1::System*> InOrder(const v1::SweepSpec& sweep) {
  std::vector<const v1::System*> systems;
  for (const v1::System& system : sweep.systems()) systems.push_back(&system);
  std::ranges::sort(systems, {}, [](const v1::System* system) -> const std::string& { return system->name(); });
  return systems;
}

absl::Status CheckSystem(const v1::System& system) {
  if (system.name().size() > kMaxNameBytes || !IsOfNameCharacters(system.name())) {
    return absl::InvalidArgumentError(
        fmt::format("systems.name: '{}' is not a word of letters, digits, '-', '_' and '.'", system.name()));
  }
  const v1::SweepSpec& with = system.with();
  for (const auto& [field, is_set] : {std::pair("name", !with.name().empty()), std::pair("experiment", !with.experiment().empty()),
                                      std::pair("systems", !with.systems().empty())}) {
    if (!is_set) continue;
    return absl::InvalidArgumentError(fmt::format("systems.{}.with.{}: belongs to the sweep, not to a system\n  take it out", system.name(), field));
  }
  return absl::OkStatus();
}

// Of what trains behind the inputs, none leaves out its learning rate.
absl::Status CheckRatesOfInputs(const v1::SweepSpec& sweep, const std::string& path, const google::protobuf::RepeatedPtrField<v1::Input>& inputs) {
  for (const v1::Input& input : inputs) {
    const v1::SweepSpec& from = input.from();
    if (!from.axes().learning_rate().empty()) continue;
    const std::string own = fmt::format("{}.{}.from", path, input.name());
    const v1::Training& training = from.has_training() ? from.training() : sweep.training();
    if (!training.has_steps() || training.steps() > 0) {
      return absl::InvalidArgumentError(
          fmt::format("{}.axes.learning_rate: is to be said, as the system has a learning rate of its own and the sweep has several: which of them trains this input?\n"
                      "  under the input: from: {{axes: {{learning_rate: {}}}}}; or give the sweep one, and the others to systems",
                      own, ShortestNumber(sweep.axes().learning_rate(0))));
    }
    RETURN_IF_ERROR(CheckRatesOfInputs(sweep, own + ".inputs", from.inputs()));
  }
  return absl::OkStatus();
}

// A system that is tuned at a rate of its own begins with weights of the sweep's (FillFrom). Where the sweep has several, they would be those of a
// training at the rate of tuning, that nobody asked for and no table shows.
absl::Status CheckRates(const v1::SweepSpec& sweep, const v1::System& system) {
  const auto& rates = sweep.axes().learning_rate();
  const auto is_the_sweeps = [&rates](double rate) { return std::ranges::find(rates, rate) != rates.end(); };
  if (rates.size() < 2 || std::ranges::all_of(system.with().axes().learning_rate(), is_the_sweeps)) return absl::OkStatus();
  const bool own = !system.with().inputs().empty();
  return CheckRatesOfInputs(sweep, own ? fmt::format("systems.{}.with.inputs", system.name()) : "inputs", own ? system.with().inputs() : sweep.inputs());
}

// Two systems with the same job would be one row of a table in two places. It is named: whoever wrote a grid over a setting sees only by it that
// this setting means nothing to some of the encodings.
absl::Status CheckDistinct(std::vector<Expansion>& expansions, const std::vector<const v1::System*>& systems) {
  std::unordered_map<std::string, size_t> seen;
  for (size_t s = 0; s < systems.size(); ++s) {
    for (int64_t i = 0; i < expansions[s].size(); ++i) {
      const ExpandedJob job = expansions[s].At(i);
      const auto [found, added] = seen.emplace(job.id.value, s);
      if (added) continue;
      const std::string encoding = catalog::ToText({.name = job.spec.encoding(), .randomized = job.spec.randomized()});
      return absl::InvalidArgumentError(
          fmt::format("systems.{}: has a job that the system '{}' has too, whatever they differ in: {} {}, learning rate {}, seed {}\n"
                      "  take one of the two out, let them differ in a setting that this job has, or leave '{}' to a sweep of its own",
                      systems[s]->name(), systems[found->second]->name(), job.spec.task(), encoding, ShortestNumber(job.spec.learning_rate()), job.spec.seed(),
                      encoding));
    }
  }
  return absl::OkStatus();
}

// What its systems have in common. Copied for each of them, a sweep of a thousand systems would be a million.
v1::SweepSpec WithoutSystems(const v1::SweepSpec& sweep) {
  v1::SweepSpec plain = sweep;
  plain.clear_systems();
  return plain;
}

// What `of` says for each task and encoding of a sweep.
template <typename Of>
SettingsByJob ByJob(const v1::Axes& axes, const Of& of) {
  SettingsByJob all;
  for (const std::string& task : axes.task()) {
    for (const std::string& encoding : axes.encoding()) all.emplace(std::pair(task, encoding), of(task, encoding));
  }
  return all;
}

// As the jobs of a sweep without systems have them. nullopt: this program does not take the sweep, which may be an old one.
std::optional<SettingsByJob> SettingsOfJobs(v1::SweepSpec sweep, std::span<const std::string> paths) {
  if (sweep.name().empty()) sweep.set_name("stored");  // The text in the store has none.
  const absl::StatusOr<Expansion> expansion = Expansion::Of(sweep);
  if (!expansion.ok()) return std::nullopt;
  return ByJob(sweep.axes(), [&](const std::string& task, const std::string& encoding) {
    const v1::JobSpec job = expansion->SettingsOf(task, encoding);
    SettingValues values;
    for (const std::string& path : paths) values.emplace(path, SettingOf(job, path));
    return values;
  });
}

// As a sweep says them that this program does not take.
SettingValues SaidSettings(const v1::SweepSpec& sweep, std::span<const std::string> paths) {
  const Kind* kind = FindKind(sweep.experiment());
  SettingValues values;
  for (const std::string& path : paths) {
    std::string value = SettingOf(sweep, path);
    if (value.empty() && kind != nullptr) value = SettingOf(kind->Defaults(), path);
    values.emplace(path, std::move(value));
  }
  return values;
}

}  // namespace

std::vector<SystemRange> SystemRanges(const v1::SweepSpec& sweep) {
  std::vector<SystemRange> ranges;
  const v1::Axes& axes = sweep.axes();
  int64_t end = 0;
  for (const v1::System* system : InOrder(sweep)) {
    const v1::Axes& own = system->with().axes();
    const auto size = [](int of_system, int of_sweep) { return int64_t{of_system > 0 ? of_system : of_sweep}; };
    end += size(own.task_size(), axes.task_size()) * size(own.encoding_size(), axes.encoding_size()) *
           size(own.learning_rate_size(), axes.learning_rate_size()) * size(own.seed_size(), axes.seed_size());
    ranges.push_back({.name = system->name(), .end = end});
  }
  return ranges;
}

std::optional<size_t> SystemIndexAt(std::span<const SystemRange> ranges, int64_t position) {
  const auto found = std::ranges::upper_bound(ranges, position, {}, &SystemRange::end);
  if (position < 0 || found == ranges.end()) return std::nullopt;
  return static_cast<size_t>(found - ranges.begin());
}

std::string SystemAt(std::span<const SystemRange> ranges, int64_t position) {
  const std::optional<size_t> index = SystemIndexAt(ranges, position);
  return index ? ranges[*index].name : std::string();
}

std::vector<SettingsByJob> SettingsOfSystems(const v1::SweepSpec& sweep, std::span<const std::string> paths) {
  std::vector<SettingsByJob> all;
  if (paths.empty()) return all;
  const auto add = [&](const v1::SweepSpec& whole) {
    if (std::optional<SettingsByJob> of_jobs = SettingsOfJobs(whole, paths)) {
      all.push_back(*std::move(of_jobs));
      return;
    }
    const SettingValues said = SaidSettings(whole, paths);
    all.push_back(ByJob(whole.axes(), [&said](const std::string&, const std::string&) { return said; }));
  };
  const v1::SweepSpec plain = WithoutSystems(sweep);
  for (const v1::System* system : InOrder(sweep)) add(WithSystem(plain, *system));
  if (all.empty()) add(plain);
  return all;
}

absl::StatusOr<Expansion> Expansion::OfSystems(const v1::SweepSpec& sweep, const Revisions& revisions) {
  Expansion expansion(revisions);
  std::string before;
  const std::vector<const v1::System*> systems = InOrder(sweep);
  const v1::SweepSpec plain = WithoutSystems(sweep);
  for (const v1::System* system : systems) {
    RETURN_IF_ERROR(CheckSystem(*system));
    if (system->name() == before) return absl::InvalidArgumentError(fmt::format("systems.{}: this system is there twice", before));
    before = system->name();
    RETURN_IF_ERROR(CheckRates(plain, *system));
    absl::StatusOr<Expansion> part = Of(WithSystem(plain, *system), revisions);
    if (!part.ok()) {
      // What the sweep is refused for without its systems as well is its own: a grid's systems have names that nobody wrote.
      if (Of(plain, revisions).status() == part.status()) return part.status();
      return absl::Status(part.status().code(), fmt::format("systems.{}: {}", system->name(), std::string(part.status().message())));
    }
    expansion.size_ += part->size();
    if (expansion.size_ > kMaxJobsOfSystems) {
      return absl::ResourceExhaustedError(
          fmt::format("systems: more than {} jobs together; split the sweep", kMaxJobsOfSystems));
    }
    expansion.systems_.push_back(*std::move(part));
  }
  RETURN_IF_ERROR(CheckDistinct(expansion.systems_, systems));
  expansion.kind_ = expansion.systems_.front().kind_;
  expansion.SetSweep(sweep);
  return expansion;
}

}  // namespace longreach::experiments
