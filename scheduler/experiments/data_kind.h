// What experiment kinds have in common that read a data set: its name is a setting, by default the task's.
#pragma once

#include "proto/catalog/catalog.h"
#include "scheduler/experiments/registry.h"
#include "scheduler/experiments/score_curve.h"
#include "scheduler/experiments/transformer.h"

namespace longreach::experiments {

class DataKind : public Kind {
 public:
  absl::Status Validate(const v1::SweepSpec& sweep, std::string_view prefix) const override;
  void Complete(v1::JobSpec& job) const override;
  absl::Status ValidateInput(const v1::Input& input, const v1::JobSpec& maker, const v1::JobSpec& job,
                             std::string_view prefix) const override;
  // Accuracy, and its loss in at most two units, at each length and over all.
  double MeasurementsOf(const v1::JobSpec& job) const override {
    return 3.0 * (1 + job.evaluation().lengths_size() + static_cast<double>(CurveValues(job.training(), job.evaluation())));
  }
  Cost CostOf(const v1::JobSpec& job, const MakerStoresWeights& maker_does) const override;

 protected:
  // What only this kind refuses.
  virtual void CheckOwn(const Settings& settings, Checks& checks) const = 0;
  // The tokens that a length gives; 0: it is refused.
  virtual int64_t TapeOf(const v1::Model& model, int length) const = 0;
  // FLOP of one forward pass of one sequence.
  virtual double ForwardFlops(const v1::Model& model, int length) const = 0;
  // All numbers that are trained, but for the encoding's.
  virtual double Parameters(const v1::Model& model) const = 0;
  // Test sequences of the paper's data set at a length.
  virtual double TestExamples(int length) const = 0;
  // The job's data set may have any number of them; as many as the paper's only where all are asked for.
  virtual bool HasAnyNumberOfTests(const v1::JobSpec& /*job*/) const { return false; }

 private:
  // With defaults that depend on the longest tape.
  template <typename Spec>
  Settings Whole(const Spec& spec) const;
  const catalog::DataTask* FindTask(std::string_view name) const;
};

// Of texts that are read by the byte: words of the vocabulary, and the last twentieth of enwik8, on which is tested.
inline constexpr double kBytes = 256;
inline constexpr double kEnwik8TestBytes = 5e6;

// A sweep of such a kind that all of them begin with: sizes of 8 blocks of width 256, a million updates.
v1::JobSpec DataDefaults();

// Refuses what no import calls a data set. `name` is not empty.
void CheckDataName(std::string_view field, const std::string& name, Checks& checks);

// FLOP of a stack of blocks over `tape` tokens of which `pairs` attend.
double BlockFlops(const v1::Model& model, double layers, double tape, double pairs);

}  // namespace longreach::experiments
