#include "tests/simulation/universe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "scheduler/experiments/expansion.h"

namespace longreach::simulation {
namespace {

uint64_t NumberOf(std::string_view id) { return std::strtoull(std::string(id.substr(0, 15)).c_str(), nullptr, 16); }

Fate FateOf(std::string_view id) {
  const uint64_t n = NumberOf(id) % 100;
  if (n < 8) return Fate::kDiverges;
  if (n < 13) return Fate::kPoison;
  if (n < 17) return Fate::kNonsense;
  return n < 25 ? Fate::kForgetful : Fate::kPlain;
}

v1::SweepSpec Spec(const std::string& name, std::vector<std::string> tasks, std::vector<std::string> encodings, std::vector<double> rates,
                   int seeds, int steps) {
  v1::SweepSpec spec;
  spec.set_name(name);
  spec.set_experiment("algorithmic");
  for (std::string& task : tasks) spec.mutable_axes()->add_task(std::move(task));
  for (std::string& encoding : encodings) spec.mutable_axes()->add_encoding(std::move(encoding));
  for (const double rate : rates) spec.mutable_axes()->add_learning_rate(rate);
  for (int seed = 0; seed < seeds; ++seed) spec.mutable_axes()->add_seed(static_cast<uint32_t>(seed));
  spec.mutable_training()->set_steps(steps);
  for (const int length : {1, 2, 3}) spec.mutable_training()->add_lengths(length);  // Few: specifications are read again and again.
  spec.mutable_evaluation()->add_lengths(50);
  return spec;
}

// Those of a sweep that go on from others: two of each encoding, by the seed or, where all begin with the same weights, by the rate.
v1::SweepSpec Further(const std::string& name, const std::string& task, const std::vector<std::string>& encodings, int steps, bool shared) {
  return Spec(name, {task}, encodings, shared ? std::vector{1e-3, 3e-4} : std::vector{1e-3}, shared ? 1 : 2, steps);
}

// `from` makes the weights that the jobs of a sweep begin with; `shared`: those of its first rate are for all.
v1::SweepSpec WithWeights(v1::SweepSpec spec, const v1::SweepSpec& from, bool shared) {
  v1::Input& input = *spec.add_inputs();
  input.set_name("weights");
  input.set_artifact("weights");
  *input.mutable_from()->mutable_training() = from.training();
  *input.mutable_from()->mutable_evaluation() = from.evaluation();
  if (shared) input.mutable_from()->mutable_axes()->add_learning_rate(1e-3);
  return spec;
}

v1::SweepSpec Noops(const std::string& name, const std::string& task, int seeds) {
  v1::SweepSpec spec;
  spec.set_name(name);
  spec.set_experiment("noop");
  spec.mutable_axes()->add_task(task);
  for (const char* encoding : {"none", "rope"}) spec.mutable_axes()->add_encoding(encoding);
  spec.mutable_axes()->add_learning_rate(1e-3);
  for (int seed = 0; seed < seeds; ++seed) spec.mutable_axes()->add_seed(static_cast<uint32_t>(seed));
  return spec;
}

class Maker {
 public:
  void Add(const v1::SweepSpec& spec) {
    absl::StatusOr<experiments::Expansion> expansion = experiments::Expansion::Of(spec);
    if (!expansion.ok()) {
      fmt::print(stderr, "the universe's sweep '{}' is refused: {}\n", spec.name(), std::string(expansion.status().message()));
      std::abort();
    }
    Sweep sweep;
    sweep.spec = spec;
    sweep.id = expansion->id().value;
    for (int64_t i = 0; i < expansion->size(); ++i) sweep.members.push_back(AddJob(expansion->At(i), sweep));
    for (const int job : sweep.order) {
      if (std::ranges::find(sweep.members, job) == sweep.members.end()) sweep.prerequisites.push_back(job);
    }
    universe_.sweeps.push_back(std::move(sweep));
  }

  Universe Take() {
    for (size_t i = 0; i < universe_.jobs.size(); ++i) {
      const Job& job = universe_.jobs[i];
      for (const int source : job.sources) universe_.jobs[static_cast<size_t>(source)].dependants.push_back(static_cast<int>(i));
    }
    for (size_t sweep = 0; sweep < universe_.sweeps.size(); ++sweep) {
      for (const int job : universe_.sweeps[sweep].order) universe_.jobs[static_cast<size_t>(job)].sweeps |= 1u << sweep;
    }
    return std::move(universe_);
  }

 private:
  int AddJob(const experiments::ExpandedJob& expanded, Sweep& sweep) {
    std::vector<int> sources;
    for (const experiments::ExpandedJob& maker : expanded.prerequisites) sources.push_back(AddJob(maker, sweep));
    auto [found, is_new] = universe_.by_id.emplace(expanded.id.value, static_cast<int>(universe_.jobs.size()));
    if (is_new) {
      Job job;
      job.id = expanded.id.value;
      job.pack_key = expanded.pack_key;
      job.task = expanded.spec.task();
      job.encoding = expanded.spec.encoding();
      job.randomized = expanded.spec.randomized();
      job.learning_rate = expanded.spec.learning_rate();
      job.seed = expanded.spec.seed();
      job.steps = expanded.spec.training().steps();
      job.sources = std::move(sources);
      job.noop = expanded.spec.experiment() == "noop";
      job.fate = FateOf(job.id);
      // There is no trainer that it could crash, and nothing of it to hand in.
      if (job.noop && job.fate != Fate::kNonsense) job.fate = Fate::kPlain;
      universe_.jobs.push_back(std::move(job));
    }
    if (std::ranges::find(sweep.order, found->second) == sweep.order.end()) sweep.order.push_back(found->second);
    return found->second;
  }

  Universe universe_;
};

// Five sweeps: the second shares jobs with the first, the third goes on from weights of the first, the fourth from the third's, and
// the fifth computes nothing.
Universe Make(int index) {
  const std::array<std::string, 3> tasks = {"even_pairs", "parity_check", "cycle_navigation"};
  const std::string& one = tasks[static_cast<size_t>(index % 3)];
  const std::string& two = tasks[static_cast<size_t>((index + 1) % 3)];
  const int seeds = 2 + index % 2;
  const int steps = 100 + index;  // Other ids, and so other fates.
  const v1::SweepSpec wide = Spec("wide", {one, two}, {"none", "rope", "rope:randomized"}, {1e-3}, seeds, steps);
  const v1::SweepSpec deep = Spec("deep", {one}, {"none", "rope", "alibi"}, {1e-3, 3e-4}, 2, steps);
  const bool shared = index >= kUniversesWithoutSharedInputs;
  const v1::SweepSpec tuned = WithWeights(Further("tuned", one, {"none", "rope"}, 40, shared), wide, shared);
  v1::SweepSpec twice = WithWeights(Further("twice", one, {"none"}, 60, shared), tuned, shared);
  *twice.mutable_inputs(0)->mutable_from()->mutable_inputs() = tuned.inputs();
  Maker maker;
  for (const v1::SweepSpec& spec : {wide, deep, tuned, twice, Noops("echoes", one, 4 + index)}) maker.Add(spec);
  return maker.Take();
}

}  // namespace

std::string EncodingOf(const Job& job) { return job.encoding + (job.randomized ? ":randomized" : ""); }

bool Some::Has(const Job& job) const {
  return task.value_or(job.task) == job.task && encoding.value_or(EncodingOf(job)) == EncodingOf(job) && seed.value_or(job.seed) == job.seed;
}

std::vector<std::string> Some::Texts() const {
  std::vector<std::string> texts;
  if (task) texts.push_back("task=" + *task);
  if (encoding) texts.push_back("encoding=" + *encoding);
  if (seed) texts.push_back(fmt::format("seed={}", *seed));
  return texts;
}

bool Universe::IsHopeless(int index) const {
  const Job& job = jobs[static_cast<size_t>(index)];
  return job.fate == Fate::kPoison || job.fate == Fate::kNonsense || std::ranges::any_of(job.sources, [this](int source) {
           const Fate fate = jobs[static_cast<size_t>(source)].fate;
           return IsHopeless(source) || fate == Fate::kForgetful || fate == Fate::kDiverges;  // Without weights, or with none that count.
         });
}

const Universe& UniverseOf(int index) {
  static const std::array<Universe, kUniverses> all = [] {
    std::array<Universe, kUniverses> made;
    for (int i = 0; i < kUniverses; ++i) made[static_cast<size_t>(i)] = Make(i);
    return made;
  }();
  return all[static_cast<size_t>(index)];
}

int UniverseOfSeed(uint64_t seed) {
  constexpr uint64_t kShared = kUniverses - kUniversesWithoutSharedInputs;
  if (seed % 5 == 4) return kUniversesWithoutSharedInputs + static_cast<int>(seed / 5 % kShared);
  return static_cast<int>(seed % kUniversesWithoutSharedInputs);
}

double AccuracyOf(const Job& job, int length) {
  return static_cast<double>((NumberOf(job.id) * 31 + static_cast<uint64_t>(length) * 17) % 1000) / 1000;
}

double LossOf(const Job& job, int step) { return 2.0 / (1 + step) + AccuracyOf(job, step) / 10; }

v1::MemberResult ResultOf(const Job& job) {
  v1::MemberResult result;
  result.set_job(job.id);
  if (job.fate == Fate::kDiverges) {
    result.set_diverged(true);
    result.set_diverged_at(7);
    return result;
  }
  if (job.noop) {
    v1::Measurement& echo = *result.add_measurements();
    echo.set_metric(job.fate == Fate::kNonsense ? "no_such_metric" : "echo");
    echo.set_value(AccuracyOf(job, 0));
    return result;
  }
  for (const int length : {0, 50}) {
    v1::Measurement& measurement = *result.add_measurements();
    measurement.set_metric("accuracy");
    measurement.set_length(length);
    measurement.set_value(AccuracyOf(job, length));
  }
  if (job.fate != Fate::kNonsense) return result;
  v1::Measurement& last = *result.mutable_measurements(1);
  switch (NumberOf(job.id) % 5) {
    case 0: last.set_value(std::numeric_limits<double>::quiet_NaN()); break;
    case 1: last.set_length(0); break;  // Twice.
    case 2: last.set_metric("no_such_metric"); break;
    case 3: last.set_length(-1); break;
    default: result.mutable_measurements(0)->set_slice("depth=3"); break;  // No score over all lengths.
  }
  return result;
}

std::string FileOf(const Universe& universe, const std::vector<int>& jobs, std::string_view kind, int step) {
  std::string bytes = fmt::format("{} of step {}:", kind, step);
  for (const int job : jobs) bytes += fmt::format(" {}", universe.jobs[static_cast<size_t>(job)].id.substr(0, 12));
  return bytes;
}

}  // namespace longreach::simulation
