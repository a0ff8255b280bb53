// What a job asks of a worker, with the bytes that the store binds its data set to. Leases are given by it and
// explained by it, so that the two cannot disagree.
#pragma once

#include "proto/base/status.h"
#include "scheduler/core/packs.h"
#include "store/jobs.h"

namespace longreach::service {

absl::StatusOr<core::Needs> NeedsOf(sql::Connection& db, const store::Requirement& requirement);

}  // namespace longreach::service
