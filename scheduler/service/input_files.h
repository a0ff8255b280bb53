// The files that jobs begin with: whether they are still there. One that is missing or damaged is neither a worker's fault nor a job's, and
// no worker can do anything about it.
#pragma once

#include "longreach/v1/worker.pb.h"
#include "proto/base/status.h"
#include "store/artifact_files.h"
#include "store/attempts.h"
#include "store/jobs.h"

namespace longreach::service {

// NOT_FOUND: the input's file is known to be lost; the message says how it comes back. `files` null: nothing is known.
absl::Status CheckFileOf(const v1::ResolvedInput& resolved, const store::JobInputRow& input, const store::ArtifactFiles* files);

// Whether a job of the attempt has an input whose file is known to be lost, so that its failure says nothing about who failed.
absl::StatusOr<bool> LacksFiles(sql::Connection& db, const store::AttemptRow& attempt, const store::ArtifactFiles* files);

}  // namespace longreach::service
