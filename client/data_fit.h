// What of a sweep's data this machine can be asked about before the sweep is submitted: whether published models, the corpora beside them and LongBench tasks are
// what its jobs ask of them. Only the workers' data folder knows, and the worker's program looks there as its trainer would.
#pragma once

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
  v1::JobSpec job;     // What concerns published models, and no more.
};

// Those of jobs with a published model, and of the jobs that make their inputs, each once, of which `plan` says that open jobs read the data sets. `sweep` is one
// that the scheduler takes.
std::vector<DataNeed> DataNeedsOf(const v1::SweepSpec& sweep, const v1::Plan& plan);

// INVALID_ARGUMENT, with the field in front: a task or an encoding that is not theirs. Others: the data sets cannot be used. An exit code: the user has ended it.
absl::StatusOr<std::optional<int>> CheckDataFits(Session& session, const v1::SweepSpec& sweep, const v1::Plan& plan, const WorkerOptions& options,
                                                 const InterruptScope& interrupt);

}  // namespace longreach::client
