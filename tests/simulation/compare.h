// The reference model beside what a scheduler answered and what its store holds.
#pragma once

#include <map>
#include <set>

#include "longreach/v1/worker.pb.h"
#include "proto/base/status.h"
#include "store/artifact_files.h"
#include "store/sql/connection.h"
#include "tests/simulation/model.h"
#include "tests/simulation/scheduler.h"
#include "tests/simulation/world.h"

namespace longreach::simulation {

// Directives, leases with their jobs and checkpoints, acknowledgements, refusal.
void CompareResponse(World& world, const v1::SynchronizeRequest& request, const v1::SynchronizeResponse& given,
                     const absl::StatusOr<v1::SynchronizeResponse>& expected);

// The first column of a query, one line for each row.
std::string ReadText(World& world, sql::Connection& db, std::string_view query);

// All jobs, sweeps with their counters, workers and attempts.
void CompareAll(World& world, const Model& model, sql::Connection& db);

// store::Check, files read: invariants 1 and 2 of the design, and that states and counters add up.
void CheckLedger(World& world, sql::Connection& db, const store::ArtifactFiles& files);
// No file lies there for ever: each has a row, or somebody knows of it.
void CheckFiles(World& world, sql::Connection& db, const store::ArtifactFiles& artifacts);
// Every acknowledged point of a loss curve is there.
void CheckPoints(World& world, const Universe& universe, sql::Connection& db, const std::set<Scheduler::Point>& points);
// Every attempt of which that was acknowledged began where its worker said.
void CheckBegins(World& world, sql::Connection& db, const std::map<uint64_t, int>& begins);
// Every succeeded job has the result that is a function of its id, and no other.
void CheckTable(World& world, const Universe& universe, sql::Connection& db);

}  // namespace longreach::simulation
