// What of a sweep's data this machine can be asked about before the sweep is submitted: whether its data sets, published models and LongBench tasks among them, are
// of the kind that its jobs read, and have what these ask of them. Only the workers' data folder knows, and the worker's program looks there as its trainer would.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/embedded.h"
#include "client/interrupt.h"
#include "client/session.h"
#include "longreach/v1/api.pb.h"

namespace longreach::client {

struct DataNeed {
  std::string system;  // The first that has it; empty: the sweep without systems.
  std::string input;   // "inputs.weights.from": of the job that makes it; empty: of the sweep's own.
  v1::JobSpec job;     // What concerns data sets, and no more.
};

// Those of jobs that read data sets, and of the jobs that make their inputs, each once, of which `plan` says that open jobs read them. `sweep` is one that the
// scheduler takes.
std::vector<DataNeed> DataNeedsOf(const v1::SweepSpec& sweep, const v1::Plan& plan);

// The data sets that a job's specification names: its own, a model's, those of tests and of a mixture.
std::vector<std::string> DataSetsOf(const v1::JobSpec& job);

// The data sets that `plan` says that open jobs read, and of which kind the sweep wants each, as 'longreach data import' takes it; empty: that is not known.
std::map<std::string, std::string> DataSetsOf(const v1::SweepSpec& sweep, const v1::Plan& plan);

// What is read are manifests, labels and the ends of documents; but where files were written after their manifests, as a plain copy writes them, all of their bytes,
// which takes an hour for some 500 GB.
inline constexpr std::chrono::hours kFitPatience{1};

// INVALID_ARGUMENT, with the field in front: a data set of another kind, or one that lacks what the jobs ask of it. Others: the data sets cannot be used. An exit
// code: the user has ended it. What is not known in time is left to the jobs, and said.
absl::StatusOr<std::optional<int>> CheckDataFits(Session& session, const v1::SweepSpec& sweep, const v1::Plan& plan, const WorkerOptions& options,
                                                 const InterruptScope& interrupt, std::chrono::milliseconds patience = kFitPatience);

}  // namespace longreach::client
