#include "scheduler/experiments/expansion.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "proto/base/names.h"
#include "proto/base/text.h"
#include "proto/types/canonical.h"
#include "proto/types/sweep_parts.h"
#include "proto/types/words.h"
#include "scheduler/experiments/lengths.h"
#include "scheduler/experiments/transformer.h"

namespace longreach::experiments {
namespace {

// Inputs of inputs of inputs: deeper than any experiment, and far from the end of the stack.
constexpr int kMaxInputDepth = 10;

absl::Status Refuse(std::string_view prefix, std::string_view field, std::string_view why) {
  return absl::InvalidArgumentError(fmt::format("{}{}: {}", prefix, field, why));
}

absl::Status CheckName(const std::string& name) {
  if (name.empty()) return Refuse("", "name", "a sweep needs a name\n  set 'name' in the file, or submit with --set name=NAME");
  if (!IsOfNameCharacters(name)) {
    return Refuse("", "name", fmt::format("'{}' has other characters than letters, digits, '-', '_' and '.'", name));
  }
  // After that, as it counts bytes and cuts between two: of other characters either would be wrong.
  if (name.size() > kMaxNameBytes) {
    return Refuse("", "name", fmt::format("'{}...' has {} characters; at most {}", name.substr(0, 16), name.size(), kMaxNameBytes));
  }
  if (name[0] == '-' || name[0] == '.') return Refuse("", "name", fmt::format("'{}' must begin with a letter, a digit or '_'", name));
  if (name == "last") return Refuse("", "name", "'last' stands for the newest sweep; choose another name");
  return absl::OkStatus();
}

// No axis may be empty (`complete`), longer than one (an input's maker), or name a value twice.
template <typename Values, typename ToTextFunction>
absl::Status CheckAxis(const Values& values, std::string_view prefix, std::string_view axis, bool complete, ToTextFunction to_text) {
  const std::string field = fmt::format("axes.{}", axis);
  if (complete && values.empty()) return Refuse(prefix, field, fmt::format("no value; give at least one, as '{0}: VALUE' below 'axes:' in the file or as --set {0}=VALUE", axis));
  if (!complete && values.size() > 1) {
    return Refuse(prefix, field, fmt::format("{} values; an input comes from one job, so at most one (none: the job's own)", values.size()));
  }
  std::set<std::decay_t<decltype(*values.begin())>> seen;
  for (const auto& value : values) {
    if (!seen.insert(value).second) return Refuse(prefix, field, fmt::format("'{}' is there twice", to_text(value)));
  }
  return absl::OkStatus();
}

absl::Status CheckAxes(const v1::Axes& axes, std::string_view prefix, bool complete) {
  const auto same = [](const std::string& text) { return text; };
  const auto integer = [](uint32_t value) { return fmt::to_string(value); };
  for (const double value : axes.learning_rate()) {
    if (!std::isfinite(value) || value <= 0) {
      return Refuse(prefix, "axes.learning_rate", fmt::format("{} is not a finite number above 0", ShortestNumber(value)));
    }
    if (!IsAboveZeroInFloat32(value)) {
      return Refuse(prefix, "axes.learning_rate", fmt::format("{} is not a finite number above 0 in float32", ShortestNumber(value)));
    }
  }
  RETURN_IF_ERROR(CheckAxis(axes.task(), prefix, "task", complete, same));
  RETURN_IF_ERROR(CheckAxis(axes.encoding(), prefix, "encoding", complete, same));
  RETURN_IF_ERROR(CheckAxis(axes.learning_rate(), prefix, "learning_rate", complete, ShortestNumber));
  return CheckAxis(axes.seed(), prefix, "seed", complete, integer);
}

absl::StatusOr<const Kind*> KindOf(const std::string& experiment, std::string_view prefix) {
  if (const Kind* kind = FindKind(experiment)) return kind;
  const std::vector<std::string> known = KindNames();
  if (experiment.empty()) {
    return Refuse(prefix, "experiment", fmt::format("is missing\n  set 'experiment' to the kind that the sweep is of; there are: {}", Join(known, ", ")));
  }
  return UnknownWord(fmt::format("{}experiment", prefix), "experiment kind", experiment, known,
                     fmt::format("known: {}", Join(known, ", ")));
}

// The number of jobs, or RESOURCE_EXHAUSTED. Never overflows.
absl::StatusOr<int64_t> CountJobs(const v1::Axes& axes) {
  if (const std::string too_many = TooManyJobs(axes); !too_many.empty()) return absl::ResourceExhaustedError(too_many);
  return static_cast<int64_t>(CountOf(axes));
}

// Settings of a sweep with one value for each axis as a complete job, without its inputs.
v1::JobSpec JobOf(const v1::SweepSpec& sweep, const Kind& kind, const Revisions& revisions, const std::string& task,
                  const std::string& encoding, double learning_rate, uint32_t seed) {
  v1::JobSpec job;
  job.set_experiment(sweep.experiment());
  job.set_task(task);
  const std::optional<EncodingName> name = ParseEncodingName(encoding);
  job.set_encoding(name ? name->name : encoding);
  job.set_randomized(name && name->randomized);
  job.set_learning_rate(learning_rate);
  job.set_seed(seed);
  job.set_data(sweep.data());
  if (sweep.has_model()) *job.mutable_model() = sweep.model();
  if (sweep.has_positions()) *job.mutable_positions() = sweep.positions();
  if (sweep.has_training()) *job.mutable_training() = sweep.training();
  if (sweep.has_evaluation()) *job.mutable_evaluation() = sweep.evaluation();
  *job.mutable_revisions() = revisions.Of(job.task(), job.encoding());
  kind.Complete(job);
  return job;
}

// `sweep` was validated.
ExpandedJob Expand(const v1::SweepSpec& sweep, const Kind& kind, const Revisions& revisions, const std::string& task,
                   const std::string& encoding, double learning_rate, uint32_t seed) {
  ExpandedJob expanded;
  expanded.spec = JobOf(sweep, kind, revisions, task, encoding, learning_rate, seed);
  v1::Axes axes;
  axes.add_task(task);
  axes.add_encoding(encoding);
  axes.add_learning_rate(learning_rate);
  axes.add_seed(seed);
  std::vector<const v1::Input*> inputs;
  for (const v1::Input& input : sweep.inputs()) inputs.push_back(&input);
  std::ranges::sort(inputs, {}, [](const v1::Input* input) -> const std::string& { return input->name(); });
  for (const v1::Input* input : inputs) {
    const v1::SweepSpec maker = MakerSweep(*input, axes, sweep);
    ExpandedJob made = Expand(maker, *FindKind(maker.experiment()), revisions, maker.axes().task(0), maker.axes().encoding(0),
                              maker.axes().learning_rate(0), maker.axes().seed(0));
    v1::JobInput& needed = *expanded.spec.add_inputs();
    needed.set_name(input->name());
    needed.set_job(made.id.value);
    needed.set_artifact(input->artifact());
    needed.set_metric(input->metric());
    expanded.prerequisites.push_back(std::move(made));
  }
  expanded.canonical = CanonicalText(expanded.spec, kind.SilentDefaults(expanded.spec.model()));
  expanded.id = JobIdOf(expanded.canonical);
  expanded.pack_key = PackKeyOf(expanded.canonical);
  return expanded;
}

absl::Status ValidateSettings(const v1::SweepSpec& sweep, const Kind& kind, std::string_view prefix, int depth);

// Initial weights are all that a seed draws, and without training a learning rate is of nothing but them. Where one job gives the weights to all, each value
// would be the same job once more, and their results look like independent ones without any spread.
absl::Status CheckIsNoRepetition(const v1::SweepSpec& sweep, const v1::Input& input, std::string_view prefix) {
  if (input.name() != "weights") return absl::OkStatus();
  const v1::Axes &axes = sweep.axes(), &theirs = input.from().axes();
  if (axes.seed_size() > 1 && theirs.seed_size() == 1) {
    return Refuse(prefix, "axes.seed",
                  fmt::format("{} seeds, which draw initial weights, and those of all come from seed {} (inputs.weights.from): the jobs would be one and the same\n"
                              "  give one, or leave the seed out there; training.data_seed and evaluation.seed draw other data", axes.seed_size(), theirs.seed(0)));
  }
  const bool trains = !sweep.training().has_steps() || sweep.training().steps() > 0;
  if (!trains && axes.learning_rate_size() > 1 && theirs.learning_rate_size() == 1) {
    return Refuse(prefix, "axes.learning_rate",
                  fmt::format("{} rates, and nothing is trained (training.steps: 0) and the weights of all come from rate {} (inputs.weights.from): the jobs would be one and "
                              "the same\n  give one, or leave the rate out there", axes.learning_rate_size(), ShortestNumber(theirs.learning_rate(0))));
  }
  return absl::OkStatus();
}

absl::Status ValidateInputs(const v1::SweepSpec& sweep, const Kind& kind, std::string_view prefix, int depth) {
  std::set<std::string> names;
  for (const v1::Input& input : sweep.inputs()) {
    const std::string field = fmt::format("inputs.{}", input.name());
    if (input.name().size() > kMaxNameBytes || !IsOfNameCharacters(input.name())) {
      return Refuse(prefix, "inputs.name", fmt::format("'{}' is not a word of letters, digits, '-', '_' and '.'", input.name()));
    }
    if (!names.insert(input.name()).second) return Refuse(prefix, field, "this input is there twice");
    if (input.artifact().empty() == input.metric().empty()) {
      return Refuse(prefix, field, "exactly one of 'artifact' and 'metric' says what is taken from the other job");
    }
    RETURN_IF_ERROR(CheckIsNoRepetition(sweep, input, prefix));
    if (!input.from().systems().empty()) return Refuse(prefix, field, "from.systems: an input comes from one job\n  leave them out");
    if (depth >= kMaxInputDepth) return Refuse(prefix, field, fmt::format("inputs are nested deeper than {}", kMaxInputDepth));
    const std::string inner = fmt::format("{}{}.from.", prefix, field);
    RETURN_IF_ERROR(CheckAxes(input.from().axes(), inner, false));
    const v1::SweepSpec maker = MakerSweep(input, sweep.axes(), sweep);
    ASSIGN_OR_RETURN(const Kind* maker_kind, KindOf(maker.experiment(), inner));
    RETURN_IF_ERROR(ValidateSettings(maker, *maker_kind, inner, depth + 1));
    // Whether the maker fits is decided by tasks and encodings, so each pair is looked at once.
    for (const std::string& task : sweep.axes().task()) {
      for (const std::string& encoding : sweep.axes().encoding()) {
        const v1::JobSpec job = JobOf(sweep, kind, {}, task, encoding, 1, 0);
        const v1::JobSpec made =
            JobOf(maker, *maker_kind, {}, input.from().axes().task_size() == 1 ? input.from().axes().task(0) : task,
                  input.from().axes().encoding_size() == 1 ? input.from().axes().encoding(0) : encoding, 1, 0);
        RETURN_IF_ERROR(kind.ValidateInput(input, made, job, prefix));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateSettings(const v1::SweepSpec& sweep, const Kind& kind, std::string_view prefix, int depth) {
  RETURN_IF_ERROR(kind.Validate(sweep, prefix));
  return ValidateInputs(sweep, kind, prefix, depth);
}

// What a sweep says of models, in any of its systems and inputs: its own settings are theirs too.
v1::Model AllModels(const v1::SweepSpec& sweep) {
  v1::Model all = sweep.model();
  for (const v1::System& system : sweep.systems()) all.MergeFrom(AllModels(system.with()));
  for (const v1::Input& input : sweep.inputs()) all.MergeFrom(AllModels(input.from()));
  return all;
}

// Adds what the jobs of a sweep, and those that make their inputs, use above its first revision. `sweep` was validated.
void AddUsed(const v1::SweepSpec& sweep, const Kind& kind, const Revisions& revisions, Revisions& used) {
  const v1::Axes& axes = sweep.axes();
  for (const std::string& task : axes.task()) used.Add(JobOf(sweep, kind, revisions, task, axes.encoding(0), 1, 0));
  for (const std::string& encoding : axes.encoding()) used.Add(JobOf(sweep, kind, revisions, axes.task(0), encoding, 1, 0));
  for (const v1::Input& input : sweep.inputs()) {
    const v1::SweepSpec maker = MakerSweep(input, axes, sweep);
    AddUsed(maker, *FindKind(maker.experiment()), revisions, used);
  }
}

v1::SweepSpec SweepDefaults(const v1::JobSpec& job) {
  v1::SweepSpec defaults;
  defaults.set_data(job.data());
  *defaults.mutable_model() = job.model();
  *defaults.mutable_positions() = job.positions();
  *defaults.mutable_training() = job.training();
  *defaults.mutable_evaluation() = job.evaluation();
  return defaults;
}

}  // namespace

absl::StatusOr<Expansion> Expansion::Of(const v1::SweepSpec& sweep) { return Of(sweep, CatalogRevisions()); }

absl::StatusOr<Expansion> Expansion::Of(const v1::SweepSpec& sweep, const Revisions& revisions) {
  if (const absl::Status known = RefuseUnknownFields(sweep); !known.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("{}; update the scheduler, or use a client of its version", std::string_view(known.message().data(), known.message().size())));
  }
  RETURN_IF_ERROR(CheckName(sweep.name()));
  if (!sweep.systems().empty()) return OfSystems(sweep, revisions);
  Expansion expansion(revisions);
  ASSIGN_OR_RETURN(expansion.kind_, KindOf(sweep.experiment(), ""));
  if (sweep.axes().learning_rate().empty() && sweep.training().has_steps() && sweep.training().steps() == 0) {
    return Refuse("", "axes.learning_rate", "no value; nothing is trained (training.steps: 0), but a job has one, and so have those of its inputs that name none\n"
                                            "  set any, the same in all such sweeps, as in --set learning_rate=1e-4, so that the same test is one job");
  }
  RETURN_IF_ERROR(CheckAxes(sweep.axes(), "", true));
  ASSIGN_OR_RETURN(expansion.size_, CountJobs(sweep.axes()));
  if (!sweep.inputs().empty() && expansion.size_ > kMaxJobsWithInputs) {
    return absl::ResourceExhaustedError(fmt::format("inputs: {} jobs that need others; at most {} are submitted together: split the sweep, by its seeds for example",
                                                    expansion.size_, kMaxJobsWithInputs));
  }
  RETURN_IF_ERROR(ValidateSettings(sweep, *expansion.kind_, "", 0));
  expansion.SetSweep(sweep);
  return expansion;
}

void Expansion::SetSweep(const v1::SweepSpec& sweep) {
  sweep_ = sweep;
  PutLengthsInOrder(*sweep_.mutable_training(), *sweep_.mutable_evaluation());
  canonical_ = CanonicalText(sweep_, SweepDefaults(kind_->SilentDefaults(AllModels(sweep_))));
  // A correction makes another sweep: else its jobs of today would never be looked for.
  canonical_ += ToLines(UsedRevisions());
  id_ = SweepIdOf(canonical_);
}

Revisions Expansion::UsedRevisions() const {
  Revisions used;
  if (revisions_->AllAreFirst()) return used;
  if (systems_.empty()) AddUsed(sweep_, *kind_, *revisions_, used);
  for (const Expansion& system : systems_) AddUsed(system.sweep_, *system.kind_, *revisions_, used);
  return used;
}

bool Expansion::has_inputs() const {
  return !sweep_.inputs().empty() || std::ranges::any_of(systems_, [](const Expansion& system) { return system.has_inputs(); });
}

void Expansion::Share(int64_t index, const std::string& task, const std::string& encoding) {
  if (shared_.index == index) return;
  shared_ = Shared{.index = index, .spec = SettingsOf(task, encoding)};  // Learning rate and seed are 0 there, which has no line.
  const std::string text = CanonicalText(shared_.spec, kind_->SilentDefaults(shared_.spec.model()));
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at) + 1;
    const std::string_view line = std::string_view(text).substr(at, end - at);
    // The version comes first, then paths in ascending order.
    std::string& part = at == 0 || line < "learning_rate=" ? shared_.before : line < "seed=" ? shared_.between : shared_.after;
    part += line;
    at = end;
  }
  shared_.pack_key = PackKeyOf(text);
}

v1::JobSpec Expansion::SettingsOf(const std::string& task, const std::string& encoding) const { return JobOf(sweep_, *kind_, *revisions_, task, encoding, 0, 0); }

ExpandedJob Expansion::At(int64_t index) {
  for (Expansion& system : systems_) {
    if (index < system.size()) return system.At(index);
    index -= system.size();
  }
  const v1::Axes& axes = sweep_.axes();
  const auto take = [&index](int size) {
    const int at = static_cast<int>(index % size);
    index /= size;
    return at;
  };
  const uint32_t seed = axes.seed(take(axes.seed_size()));
  const double learning_rate = axes.learning_rate(take(axes.learning_rate_size()));
  const int64_t shared = index;
  const std::string& encoding = axes.encoding(take(axes.encoding_size()));
  const std::string& task = axes.task(take(axes.task_size()));
  if (!sweep_.inputs().empty()) return Expand(sweep_, *kind_, *revisions_, task, encoding, learning_rate, seed);

  Share(shared, task, encoding);
  ExpandedJob job;
  job.spec = shared_.spec;
  job.spec.set_learning_rate(learning_rate);
  job.spec.set_seed(seed);
  job.canonical = fmt::format("{}learning_rate={}\n{}", shared_.before, ShortestNumber(learning_rate), shared_.between);
  if (seed != 0) job.canonical += fmt::format("seed={}\n", seed);
  job.canonical += shared_.after;
  job.id = JobIdOf(job.canonical);
  job.pack_key = shared_.pack_key;
  return job;
}

absl::StatusOr<v1::JobSpec> ReadJob(std::string_view canonical) {
  ASSIGN_OR_RETURN(v1::JobSpec job, ParseCanonicalJob(canonical));
  ASSIGN_OR_RETURN(const Kind* kind, KindOf(job.experiment(), ""));
  // Not the catalog's revisions of today: those that the text leaves out were 1 when it was written.
  v1::Revisions revisions = kind->Defaults().revisions();
  revisions.MergeFrom(job.revisions());
  *job.mutable_revisions() = revisions;
  kind->Complete(job);
  return job;
}

absl::StatusOr<v1::SweepSpec> ReadSweep(std::string_view canonical) { return ParseCanonicalSweep(SplitSweepText(canonical).specification); }

absl::StatusOr<Expansion> ExpandStored(std::string_view canonical) {
  const SweepText text = SplitSweepText(canonical);
  ASSIGN_OR_RETURN(const v1::SweepSpec sweep, ParseCanonicalSweep(text.specification));
  ASSIGN_OR_RETURN(Expansion expansion, Expansion::Of(sweep, text.revisions));
  if (expansion.canonical() == canonical) return expansion;
  return absl::InvalidArgumentError("this program makes another sweep of the text; submit it again");
}

}  // namespace longreach::experiments
