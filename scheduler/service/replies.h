// Rows of the store as messages of the API.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "proto/types/words.h"
#include "scheduler/service/live_board.h"
#include "store/artifacts.h"
#include "store/attempts.h"
#include "store/jobs.h"
#include "store/reading.h"
#include "store/sweeps.h"
#include "store/workers.h"

namespace longreach::service {

// Without its specification.
v1::Sweep ToSweep(const store::SweepRow& row);
// Of a sweep. DATA_LOSS: what is stored cannot be read.
absl::StatusOr<v1::SweepSpec> SpecOf(const store::SweepRow& row);
v1::Job ToJob(const store::ListedJob& row, const LiveBoard::State& live);
// As the store has it, unless the worker is gone.
WorkerState StateOf(const store::WorkerRow& row, const LiveBoard::State& live);
// The attempts of each worker, by its id, ascending. Borrows of the state, and is made once for all workers of an answer: going through all
// attempts for each of them takes a tenth of a second where a thousand have eight each.
using AttemptsByWorker = std::unordered_map<std::string_view, std::vector<const std::pair<const int64_t, LiveAttempt>*>>;
AttemptsByWorker GroupByWorker(const LiveBoard::State& live);
v1::WorkerInfo ToWorkerInfo(const store::WorkerRow& row, const LiveBoard::State& live, const AttemptsByWorker& attempts);
// How a command that a message suggests names a worker: by its name if that is a word that no shell and no option parser would
// take for something else and no other worker's, else by its id: the beginning, where that is enough.
absl::StatusOr<std::string> WorkerInCommand(sql::Connection& db, const store::WorkerRow& row);
v1::Measurement ToMeasurement(const store::Measurement& row);
// As regards a job that it had, by the job's state and the attempt whose result that has or that it is leased to. `live` has what it does if it runs.
v1::AttemptInfo ToAttemptInfo(const store::AttemptRow& row, store::State job_state, std::optional<int64_t> job_attempt, const LiveBoard::State& live);
v1::ArtifactInfo ToArtifactInfo(const store::ArtifactRow& row);
v1::RunningAttempt ToRunningAttempt(int64_t attempt, const LiveAttempt& live);

// The metric that a job's score is, by its canonical text.
absl::StatusOr<std::string> MainMetricOfJob(std::string_view canonical);
// The same for the jobs of a sweep.
absl::StatusOr<std::string> MainMetricOfSweep(const v1::SweepSpec& spec);
// The lengths at which the jobs of a sweep are tested, ascending.
absl::StatusOr<std::vector<int>> TestLengthsOfSweep(const v1::SweepSpec& spec);

// INVALID_ARGUMENT: no answer had this page token.
absl::Status RefusePageToken(std::string_view token);

// Names the systems of a job in all of its sweeps.
absl::Status AddSystems(sql::Connection& db, int64_t num, v1::Job& job);

}  // namespace longreach::service
