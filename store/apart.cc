#include "store/apart.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "store/job_row.h"

namespace longreach::store {
namespace {

// Jobs that are looked at before a search is given up, and those of a sweep before it leaps to the sweep's end.
constexpr int kMostLookedAt = 1000;
constexpr int kBeforeLeap = 32;

// One of these sweeps that has the job.
absl::StatusOr<std::optional<int64_t>> SweepWith(sql::Connection& db, int64_t job, const std::set<int64_t>& sweeps) {
  if (sweeps.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query("SELECT sweep FROM sweep_jobs WHERE job = ?", job));
  while (rows.Next()) {
    if (const auto sweep = rows.Get<int64_t>(0); sweeps.contains(sweep)) return sweep;
  }
  RETURN_IF_ERROR(rows.status());
  return std::nullopt;
}

absl::StatusOr<int64_t> LastMember(sql::Connection& db, int64_t sweep) {
  ASSIGN_OR_RETURN(const std::optional<int64_t> last,
                   db.First<int64_t>("SELECT job FROM sweep_jobs WHERE sweep = ? AND role = 'member' ORDER BY position DESC LIMIT 1", sweep));
  return last.value_or(0);
}

// A search through the line of one requirement.
class Search {
 public:
  Search(sql::Connection& db, int64_t requirement, const Apart& from) : db_(db), requirement_(requirement), from_(from) {}

  absl::StatusOr<std::optional<LeaseGroup>> Run() {
    auto below = int64_t{std::numeric_limits<int>::max()} + 1;
    while (left_ > 0) {
      ASSIGN_OR_RETURN(const std::optional<Place> first, FirstBelow(below));
      if (!first) return std::nullopt;
      below = first->priority;
      std::optional<int64_t> at = first->num;
      while (at && left_ > 0) {
        ASSIGN_OR_RETURN(const Look look, LookFrom(first->priority, *at));
        if (look.found) return look.found;
        at = look.leap_to;
      }
    }
    return std::nullopt;
  }

 private:
  struct Place {
    int priority = 0;
    int64_t num = 0;
  };
  struct Look {
    std::optional<LeaseGroup> found{};
    std::optional<int64_t> leap_to{};  // Neither: there is none of this priority.
  };

  // The first job in line below a priority.
  absl::StatusOr<std::optional<Place>> FirstBelow(int64_t priority) {
    ASSIGN_OR_RETURN(sql::Rows rows, db_.Query("SELECT priority, num FROM jobs WHERE requirement = ? AND state = 'queued' AND wanted = 1 "
                                               "AND priority < ? ORDER BY priority DESC, num LIMIT 1",
                                               requirement_, priority));
    if (rows.Next()) return Place{.priority = rows.Get<int>(0), .num = rows.Get<int64_t>(1)};
    RETURN_IF_ERROR(rows.status());
    return std::nullopt;
  }

  absl::StatusOr<Look> LookFrom(int priority, int64_t first) {
    ASSIGN_OR_RETURN(sql::Rows rows, db_.Query("SELECT num, pack_key, checkpoint_step, split_group FROM jobs WHERE requirement = ? AND "
                                               "state = 'queued' AND wanted = 1 AND priority = ? AND num >= ? ORDER BY num LIMIT ?",
                                               requirement_, priority, first, left_));
    int in_sweeps = 0;
    while (rows.Next()) {
      --left_;
      const LeaseGroup group{.first = rows.Get<int64_t>(0),
                             .priority = priority,
                             .pack_key = rows.Get<int64_t>(1),
                             .checkpoint_step = rows.Get<int>(2),
                             .split_group = rows.Get<int64_t>(3)};
      ASSIGN_OR_RETURN(const std::optional<int64_t> sweep, SweepWith(db_, group.first, from_.sweeps));
      if (!sweep && !from_.pack_keys.contains(group.pack_key) && !from_.jobs.contains(group.first)) return Look{.found = group};
      if (!sweep || ++in_sweeps < kBeforeLeap) continue;
      in_sweeps = 0;
      ASSIGN_OR_RETURN(const int64_t last, LastMember(db_, *sweep));
      if (last > group.first) return Look{.leap_to = last + 1};
    }
    RETURN_IF_ERROR(rows.status());
    return Look{};
  }

  sql::Connection& db_;
  const int64_t requirement_;
  const Apart& from_;
  int left_ = kMostLookedAt;
};

}  // namespace

absl::StatusOr<SweepsOfJobs> SweepsOf(sql::Connection& db, const std::set<int64_t>& jobs) {
  SweepsOfJobs sweeps;
  for (bool first = true; const int64_t job : jobs) {
    std::set<int64_t> of_job;
    ASSIGN_OR_RETURN(sql::Rows rows, db.Query("SELECT sweep FROM sweep_jobs WHERE job = ?", job));
    while (rows.Next()) of_job.insert(rows.Get<int64_t>(0));
    RETURN_IF_ERROR(rows.status());
    sweeps.any.insert(of_job.begin(), of_job.end());
    if (std::exchange(first, false)) sweeps.all = std::move(of_job);
    else std::erase_if(sweeps.all, [&](int64_t sweep) { return !of_job.contains(sweep); });
  }
  return sweeps;
}

absl::StatusOr<std::set<int64_t>> PackKeysOf(sql::Connection& db, const std::set<int64_t>& jobs) {
  std::set<int64_t> keys;
  for (const int64_t job : jobs) {
    ASSIGN_OR_RETURN(const std::optional<int64_t> key, db.First<int64_t>("SELECT pack_key FROM jobs WHERE num = ?", job));
    if (key) keys.insert(*key);
  }
  return keys;
}

absl::StatusOr<std::optional<LeaseGroup>> NextGroupApart(sql::Connection& db, int64_t requirement, const Apart& from) {
  return Search(db, requirement, from).Run();
}

absl::StatusOr<std::vector<JobRow>> JobsOfGroupApart(sql::Connection& db, const LeaseGroup& group, int limit, const Apart& from) {
  static const std::string kSql =
      SelectJobs("WHERE j.pack_key = ? AND j.checkpoint_step = ? AND j.split_group = ? AND j.priority = ? AND j.num >= ? AND "
                 "j.state = 'queued' AND j.wanted = 1 ORDER BY j.num LIMIT ?");
  ASSIGN_OR_RETURN(sql::Rows rows,
                   db.Query(kSql, group.pack_key, group.checkpoint_step, group.split_group, group.priority, group.first, limit));
  ASSIGN_OR_RETURN(std::vector<JobRow> jobs, ReadJobs(std::move(rows)));
  std::vector<JobRow> apart;
  const bool other_key = !from.pack_keys.contains(group.pack_key);
  for (JobRow& job : jobs) {
    ASSIGN_OR_RETURN(const std::optional<int64_t> sweep, SweepWith(db, job.num, from.sweeps));
    if (other_key && !sweep && !from.jobs.contains(job.num)) apart.push_back(std::move(job));
  }
  return apart;
}

}  // namespace longreach::store
