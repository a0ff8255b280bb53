// What several commands ask the scheduler about a sweep.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/session.h"
#include "client/spec/spec_reader.h"
#include "longreach/v1/api.pb.h"

namespace longreach::client {

// A sweep with its counts and its specification, by its id, the beginning of one, its name, or 'last'.
absl::StatusOr<v1::Sweep> FindSweep(Connection& connection, const std::string& sweep);

// Calls `use` with each page of the jobs that are asked for, in their order, until it has an error.
absl::Status ForEachJobPage(Connection& connection, v1::ListJobsRequest question, const std::function<absl::Status(v1::ListJobsResponse&)>& use);

// A file's sweep, ready to be submitted, with the table that it will be printed as: a slip in that is told before anything is trained.
v1::SubmitSweepRequest SubmissionOf(const SweepFile& file);

// Its jobs that have no end yet.
int64_t OpenJobs(const v1::Sweep& sweep);

// What the scheduler would do with it; nothing is changed.
absl::StatusOr<v1::SubmitSweepResponse> DryRun(Connection& connection, const SweepFile& file);

// Of a sweep that is new under a name that others have: that the name no longer says which one is meant, and what to do.
void SayIfNameIsTaken(Session& session, Connection& connection, const v1::SubmitSweepResponse& submitted);

// What nobody would see in the values of a sweep. That tests are of lengths that are trained on, where they are meant to be beyond these: of the kinds
// 'algorithmic' and 'sequences', as others are shown by length, and have one within for comparison. And that tests are too short for dynamic NTK to begin.
void SayOfTestLengths(Session& session, const v1::SweepSpec& sweep);

// Which settings a sweep gives that none of its jobs has, as its plan says: a slip, or they are meant for another sweep.
void SayOfUnusedSettings(Session& session, const v1::Plan& plan);

// Where a file has several sweeps, the plan of each: none is submitted before the scheduler is known to take all of them.
absl::StatusOr<std::vector<v1::Plan>> CheckParts(Connection& connection, const std::vector<LoadedSweep>& sweeps);

// Calls SteerSweep; the sweep after it.
absl::StatusOr<v1::Sweep> Steer(Connection& connection, const std::string& sweep, v1::SteerSweepRequest::Action action, int priority = 0);
// The same of some of its jobs, as --only names them.
absl::StatusOr<v1::Sweep> SteerJobs(Connection& connection, const std::string& sweep, v1::SteerSweepRequest::Action action, const std::vector<std::string>& only);
// As Steer(), and prints the sweep.
absl::StatusOr<int> SteerSweep(Session& session, const std::string& sweep,
                               v1::SteerSweepRequest::Action action, int priority = 0);

// Where nobody said which sweep is meant and the newest one is taken: that others are open too, so that its end is not taken for theirs. Empty: none is,
// or nobody would read it.
std::string OthersOpen(Session& session, Connection& connection, const v1::Sweep& newest);

// The newest state of a sweep.
absl::StatusOr<v1::SweepUpdate> SweepState(Connection& connection, const std::string& sweep);

}  // namespace longreach::client
