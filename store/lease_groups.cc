// Finding work (declared in jobs.h). The WHERE clauses are those of the partial indexes jobs_ready and jobs_ready_together.
#include "store/job_row.h"
#include "store/jobs.h"

namespace longreach::store {

absl::StatusOr<std::vector<RequirementRow>> Requirements(sql::Connection& db) {
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query("SELECT num, experiment, task, task_revision, encoding, encoding_revision, "
                                            "model_revision, data FROM requirements ORDER BY num"));
  std::vector<RequirementRow> requirements;
  while (rows.Next()) {
    requirements.push_back({.num = rows.Get<int64_t>(0),
                            .requirement = {.experiment = rows.Get<std::string>(1),
                                            .task = rows.Get<std::string>(2),
                                            .task_revision = rows.Get<int>(3),
                                            .encoding = rows.Get<std::string>(4),
                                            .encoding_revision = rows.Get<int>(5),
                                            .model_revision = rows.Get<int>(6),
                                            .data = rows.Get<std::string>(7)}});
  }
  RETURN_IF_ERROR(rows.status());
  return requirements;
}

absl::StatusOr<std::optional<LeaseGroup>> NextGroup(sql::Connection& db, int64_t requirement) {
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query("SELECT num, priority, pack_key, checkpoint_step, split_group FROM jobs "
                                            "WHERE requirement = ? AND state = 'queued' AND wanted = 1 "
                                            "ORDER BY priority DESC, num LIMIT 1",
                                            requirement));
  if (!rows.Next()) {
    RETURN_IF_ERROR(rows.status());
    return std::nullopt;
  }
  return LeaseGroup{.first = rows.Get<int64_t>(0),
                    .priority = rows.Get<int>(1),
                    .pack_key = rows.Get<int64_t>(2),
                    .checkpoint_step = rows.Get<int>(3),
                    .split_group = rows.Get<int64_t>(4)};
}

absl::StatusOr<std::vector<JobRow>> JobsOfGroup(sql::Connection& db, const LeaseGroup& group, int limit) {
  static const std::string kSql =
      SelectJobs("WHERE j.pack_key = ? AND j.checkpoint_step = ? AND j.split_group = ? AND j.state = 'queued' "
                 "AND j.wanted = 1 ORDER BY j.priority DESC, j.num LIMIT ?");
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, group.pack_key, group.checkpoint_step, group.split_group, limit));
  return ReadJobs(std::move(rows));
}

absl::StatusOr<std::vector<JobRow>> FirstReady(sql::Connection& db, int64_t requirement, int limit) {
  static const std::string kSql =
      SelectJobs("WHERE j.requirement = ? AND j.state = 'queued' AND j.wanted = 1 ORDER BY j.priority DESC, j.num LIMIT ?");
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, requirement, limit));
  return ReadJobs(std::move(rows));
}

absl::StatusOr<std::vector<int64_t>> ReadyGroupSizes(sql::Connection& db) {
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query("SELECT count(*) FROM jobs WHERE state = 'queued' AND wanted = 1 GROUP BY pack_key, checkpoint_step, split_group"));
  std::vector<int64_t> sizes;
  while (rows.Next()) sizes.push_back(rows.Get<int64_t>(0));
  RETURN_IF_ERROR(rows.status());
  return sizes;
}

}  // namespace longreach::store
