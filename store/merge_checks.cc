// What a merge does not begin with.
#include <optional>
#include <string>

#include <fmt/format.h>

#include "proto/base/sha256.h"
#include "store/merge.h"
#include "store/sweeps.h"

namespace longreach::store {
namespace {

absl::Status CheckDataSets(sql::Connection& theirs, sql::Connection& ours) {
  ASSIGN_OR_RETURN(sql::Rows rows, theirs.Query("SELECT name, sha256 FROM data_sets ORDER BY name"));
  while (rows.Next()) {
    const auto name = rows.Get<std::string>(0), hash = rows.Get<std::string>(1);
    ASSIGN_OR_RETURN(std::optional<std::string> own, ours.First<std::string>("SELECT sha256 FROM data_sets WHERE name = ?", name));
    if (!own.has_value() || *own == hash) continue;
    return absl::FailedPreconditionError(
        fmt::format("the data set '{}' stands for other bytes there (SHA-256 {}) than here ({}): results made with different "
                    "data cannot be in one store; nothing was merged",
                    name, hash, *own));
  }
  return rows.status();
}

absl::Status CheckSweeps(sql::Connection& theirs, sql::Connection& ours) {
  // Nobody goes on with the submission of a cancelled one: the jobs that are to come are so here, too.
  ASSIGN_OR_RETURN(sql::Rows rows, theirs.Query("SELECT id, name, state, iif(state = 'cancelled', 0, jobs_to_come) AS open FROM sweeps "
                                                "WHERE open > 0 OR unsettled_from IS NOT NULL ORDER BY num"));
  while (rows.Next()) {
    ASSIGN_OR_RETURN(std::optional<SweepRow> own, FindSweep(ours, rows.Get<std::string>(0)));
    if (own.has_value()) continue;
    if (rows.Get<int64_t>(3) > 0) {
      return absl::FailedPreconditionError(
          fmt::format("the sweep '{}' over there was not submitted to its end: {} of its jobs are to come; start a scheduler on that store, "
                      "which goes on with it, or submit the sweep there again; nothing was merged",
                      rows.Get<std::string>(1), rows.Get<int64_t>(3)));
    }
    return absl::FailedPreconditionError(
        fmt::format("the sweep '{}' over there was steered ({}), and not all of its jobs follow yet; start a scheduler on that store, which "
                    "goes on with it; nothing was merged",
                    rows.Get<std::string>(1), rows.Get<std::string>(2)));
  }
  return rows.status();
}

// What a store lives with, and a merge does not.
absl::Status CheckWhatIsCopied(sql::Connection& theirs) {
  ASSIGN_OR_RETURN(const std::optional<std::string> early, theirs.First<std::string>("SELECT j.id || ' over there comes before its input ' || i.name "
                                                                                     "FROM job_inputs AS i JOIN jobs AS j ON j.num = i.job "
                                                                                     "WHERE i.source >= i.job ORDER BY i.job, i.name LIMIT 1"));
  if (early.has_value()) return absl::DataLossError(fmt::format("job {}; nothing was merged", *early));
  ASSIGN_OR_RETURN(sql::Rows rows, theirs.Query("SELECT DISTINCT sha256 FROM artifacts ORDER BY sha256"));
  while (rows.Next()) {
    const auto hash = rows.Get<std::string>(0);
    if (!IsSha256(hash)) return absl::DataLossError(fmt::format("an artifact over there has the hash '{}', which is none; nothing was merged", hash));
  }
  return rows.status();
}

}  // namespace

absl::Status CheckMerge(sql::Connection& theirs, sql::Connection& ours) {
  RETURN_IF_ERROR(CheckDataSets(theirs, ours));
  RETURN_IF_ERROR(CheckSweeps(theirs, ours));
  return CheckWhatIsCopied(theirs);
}

}  // namespace longreach::store
