// What the scheduler knows of each experiment kind: its defaults, what it refuses, what its jobs cost. A kind is one
// file in this folder and one line in registry.cc.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "longreach/v1/spec.pb.h"
#include "proto/base/status.h"
#include "proto/catalog/pair_tables.h"

namespace longreach::experiments {

// What a job costs, as far as its specification tells.
struct Cost {
  double flops = 0;             // Of matrix products, training and evaluation together.
  double checkpoint_bytes = 0;  // Of one member.
  double memory_bytes = 0;      // That one member adds to its pack: parameters, gradients, Adam's moments.
  double pair_bytes = 0;        // That it adds while it trains where LibTorch makes biases pair by pair.
  catalog::PairTables pair_tables;  // Of these biases where the fast engine for CPUs makes them.
  bool stores_weights = true;   // Its files hold all weights. Else they are a published model's, but for scales of its heads.
};

// Whether the job of this id, which makes an input, stores all weights.
using MakerStoresWeights = std::function<bool(const std::string& id)>;

class Kind {
 public:
  virtual ~Kind() = default;

  // As in SweepSpec.experiment.
  virtual std::string_view Name() const = 0;

  // The metric that a job's score is, over all lengths; the catalog's.
  std::string_view MainMetric() const;

  // A value for every setting that a job of this kind may have. Never changes once released.
  virtual const v1::JobSpec& Defaults() const = 0;
  // Those among them that mean the same as saying nothing, where this is the model: only these are left out of a specification's text.
  virtual v1::JobSpec SilentDefaults(const v1::Model& /*model*/) const { return Defaults(); }

  // Refuses a sweep that has a job which cannot be computed. Axes are complete and without duplicates; settings that
  // are absent stand for their defaults. `prefix` goes in front of field names in messages ("inputs.weights.from.").
  // INVALID_ARGUMENT: names field, value and next step.
  virtual absl::Status Validate(const v1::SweepSpec& sweep, std::string_view prefix) const = 0;

  // Makes a job of this kind whole: settings that are absent get their defaults, those that the job does not use are
  // taken away (so that they make no difference to its identity), lists that are sets are sorted. Its revisions are there already.
  virtual void Complete(v1::JobSpec& job) const = 0;

  // Refuses an input that does not fit the job which needs it. Both specifications are complete.
  virtual absl::Status ValidateInput(const v1::Input& input, const v1::JobSpec& maker, const v1::JobSpec& job,
                                     std::string_view prefix) const = 0;

  // Its jobs need no trainer: a worker's agent answers them itself, each as a pack of its own.
  virtual bool ComputesNothing() const { return false; }

  // At most so many measurements come of a complete job.
  virtual double MeasurementsOf(const v1::JobSpec& job) const = 0;

  // Of a complete job. Where nobody says what its inputs' makers store, it is all weights.
  virtual Cost CostOf(const v1::JobSpec& job, const MakerStoresWeights& maker_does = nullptr) const = 0;
};

// nullptr when there is none of this name.
const Kind* FindKind(std::string_view name);

// Ascending.
std::vector<std::string> KindNames();

// "FIELD: unknown WHAT 'VALUE'", a suggestion where one is near, and `advice`.
absl::Status UnknownWord(std::string_view field, std::string_view what, std::string_view value,
                         const std::vector<std::string>& known, std::string_view advice);
// "FIELD: the kind 'KIND' has no task 'TASK'", and the same behind it. Of a task of another kind that kind is the suggestion.
absl::Status UnknownTask(std::string_view field, std::string_view kind, std::string_view task, const std::vector<std::string>& known,
                         std::string_view advice);

}  // namespace longreach::experiments
