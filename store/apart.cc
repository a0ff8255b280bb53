#include "store/apart.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "store/given_up.h"
#include "store/job_row.h"

namespace longreach::store {
namespace {

// Jobs that are looked at before a search is given up, and those of a sweep before it passes over the rest of their run.
constexpr int kMostLookedAt = 1000;
constexpr int kBeforeLeap = 32;

// Where a sweep has a job.
struct InSweep {
  int64_t sweep = 0;
  std::string role = {};
  int64_t position = 0;
};

// In one of these sweeps, which wants it.
absl::StatusOr<std::optional<InSweep>> PlaceIn(sql::Connection& db, int64_t job, const std::set<int64_t>& sweeps) {
  if (sweeps.empty()) return std::nullopt;
  static const std::string kSql = fmt::format("SELECT sj.sweep, sj.role, sj.position FROM sweep_jobs AS sj WHERE sj.job = ? AND {} ORDER BY sj.sweep", NotGivenUp("sj"));
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, job));
  while (rows.Next()) {
    const auto sweep = rows.Get<int64_t>(0);
    if (sweeps.contains(sweep)) return InSweep{.sweep = sweep, .role = rows.Get<std::string>(1), .position = rows.Get<int64_t>(2)};
  }
  RETURN_IF_ERROR(rows.status());
  return std::nullopt;
}

// The last job of the run that `job` is in: jobs of a sweep that follow each other have numbers that do, where they came with it and nothing
// else came in between. What the sweep has given up and another one wants ends it.
absl::StatusOr<int64_t> EndOfRun(sql::Connection& db, int64_t job, const InSweep& place) {
  const auto in_run = [&](int64_t further) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const std::optional<int64_t> there, db.First<int64_t>("SELECT job FROM sweep_jobs WHERE sweep = ? AND role = ? AND position = ?",
                                                                           place.sweep, place.role, place.position + further));
    return there == job + further;
  };
  int64_t inside = 0, outside = 1;
  while (true) {
    ASSIGN_OR_RETURN(const bool is_in, in_run(outside));
    if (!is_in) break;
    inside = outside;
    outside *= 2;
  }
  while (outside - inside > 1) {
    const int64_t middle = inside + (outside - inside) / 2;
    ASSIGN_OR_RETURN(const bool is_in, in_run(middle));
    (is_in ? inside : outside) = middle;
  }
  ASSIGN_OR_RETURN(const std::optional<int64_t> given_up,
                   db.First<int64_t>("SELECT gu.job FROM given_up AS gu CROSS JOIN jobs AS j ON j.num = gu.job WHERE gu.sweep = ? AND gu.job > ? AND gu.job <= ? "
                                     "AND j.state = 'queued' AND j.wanted = 1 ORDER BY gu.job LIMIT 1",
                                     place.sweep, job, job + inside));
  return given_up ? *given_up - 1 : job + inside;
}

// A job is one of those to stay away from, whatever sweeps it is in.
bool IsNamed(const Apart& from, int64_t pack_key, int64_t job) { return from.pack_keys.contains(pack_key) || from.jobs.contains(job); }

// A search through the line of one requirement.
class Search {
 public:
  Search(sql::Connection& db, int64_t requirement, const Apart& from) : db_(db), requirement_(requirement), from_(from) {}

  absl::StatusOr<ApartGroup> Run() {
    auto below = int64_t{std::numeric_limits<int>::max()} + 1;
    while (left_ > 0) {
      ASSIGN_OR_RETURN(const std::optional<Place> first, FirstBelow(below));
      if (!first) return ApartGroup{};
      below = first->priority;
      std::optional<int64_t> at = first->num;
      while (at && left_ > 0) {
        ASSIGN_OR_RETURN(const Look look, LookFrom(first->priority, *at));
        if (look.found) return ApartGroup{.group = look.found};
        at = look.leap_to;
      }
    }
    return ApartGroup{.gave_up = true};
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
    while (rows.Next()) {
      --left_;
      const LeaseGroup group{.first = rows.Get<int64_t>(0),
                             .priority = priority,
                             .pack_key = rows.Get<int64_t>(1),
                             .checkpoint_step = rows.Get<int>(2),
                             .split_group = rows.Get<int64_t>(3)};
      ASSIGN_OR_RETURN(const std::optional<InSweep> place, PlaceIn(db_, group.first, from_.sweeps));
      if (!place && !IsNamed(from_, group.pack_key, group.first)) return Look{.found = group};
      if (!place || ++in_sweeps_ < kBeforeLeap) continue;
      ASSIGN_OR_RETURN(const int64_t last, EndOfRun(db_, group.first, *place));
      if (last > group.first) return Look{.leap_to = last + 1};
    }
    RETURN_IF_ERROR(rows.status());
    return Look{};
  }

  sql::Connection& db_;
  const int64_t requirement_;
  const Apart& from_;
  int left_ = kMostLookedAt;
  int in_sweeps_ = 0;  // Jobs of the sweeps that were looked at.
};

// `which`: a condition on the row `sj` of sweep_jobs.
absl::StatusOr<std::set<int64_t>> SweepsWith(sql::Connection& db, int64_t job, std::string_view which) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> sweeps,
                   db.All<int64_t>(fmt::format("SELECT sj.sweep FROM sweep_jobs AS sj WHERE sj.job = ? AND {} ORDER BY sj.sweep", which), job));
  return std::set<int64_t>(sweeps.begin(), sweeps.end());
}

absl::StatusOr<std::set<int64_t>> SweepsOfAll(sql::Connection& db, const std::set<int64_t>& jobs, std::string_view which) {
  std::set<int64_t> sweeps;
  for (bool first = true; const int64_t job : jobs) {
    ASSIGN_OR_RETURN(std::set<int64_t> of_job, SweepsWith(db, job, which));
    if (std::exchange(first, false)) sweeps = std::move(of_job);
    else std::erase_if(sweeps, [&of_job](int64_t sweep) { return !of_job.contains(sweep); });
  }
  return sweeps;
}

}  // namespace

absl::StatusOr<std::set<int64_t>> SweepsWithAll(sql::Connection& db, const std::set<int64_t>& jobs) { return SweepsOfAll(db, jobs, "TRUE"); }

absl::StatusOr<std::set<int64_t>> SweepsWantingAll(sql::Connection& db, const std::set<int64_t>& jobs) { return SweepsOfAll(db, jobs, NotGivenUp("sj")); }

absl::StatusOr<std::set<int64_t>> SweepsWantingAny(sql::Connection& db, const std::set<int64_t>& jobs) {
  std::set<int64_t> sweeps;
  for (const int64_t job : jobs) {
    ASSIGN_OR_RETURN(std::set<int64_t> of_job, SweepsWith(db, job, NotGivenUp("sj")));
    if (of_job.empty()) {
      ASSIGN_OR_RETURN(of_job, SweepsWith(db, job, "TRUE"));
    }
    sweeps.insert(of_job.begin(), of_job.end());
  }
  return sweeps;
}

absl::StatusOr<std::set<int64_t>> LiveElseAll(sql::Connection& db, const std::set<int64_t>& sweeps) {
  std::set<int64_t> live;
  for (const int64_t sweep : sweeps) {
    ASSIGN_OR_RETURN(const std::optional<int64_t> found, db.First<int64_t>("SELECT num FROM sweeps WHERE num = ? AND state = 'live'", sweep));
    if (found) live.insert(*found);
  }
  return live.empty() ? sweeps : live;
}

absl::StatusOr<std::set<int64_t>> PackKeysOf(sql::Connection& db, const std::set<int64_t>& jobs) {
  std::set<int64_t> keys;
  for (const int64_t job : jobs) {
    ASSIGN_OR_RETURN(const std::optional<int64_t> key, db.First<int64_t>("SELECT pack_key FROM jobs WHERE num = ?", job));
    if (key) keys.insert(*key);
  }
  return keys;
}

absl::StatusOr<ApartGroup> NextGroupApart(sql::Connection& db, int64_t requirement, const Apart& from) {
  return Search(db, requirement, from).Run();
}

absl::StatusOr<bool> IsApart(sql::Connection& db, int64_t job, const Apart& from) {
  ASSIGN_OR_RETURN(const int64_t key, db.One<int64_t>("SELECT pack_key FROM jobs WHERE num = ?", job));
  ASSIGN_OR_RETURN(const std::optional<InSweep> place, PlaceIn(db, job, from.sweeps));
  return !place && !IsNamed(from, key, job);
}

absl::StatusOr<std::vector<JobRow>> JobsOfGroupApart(sql::Connection& db, const LeaseGroup& group, int limit, const Apart& from) {
  static const std::string kSql =
      SelectJobs("WHERE j.pack_key = ? AND j.checkpoint_step = ? AND j.split_group = ? AND j.priority = ? AND j.num >= ? AND "
                 "j.state = 'queued' AND j.wanted = 1 ORDER BY j.num LIMIT ?");
  ASSIGN_OR_RETURN(sql::Rows rows,
                   db.Query(kSql, group.pack_key, group.checkpoint_step, group.split_group, group.priority, group.first, limit));
  ASSIGN_OR_RETURN(std::vector<JobRow> jobs, ReadJobs(std::move(rows)));
  std::vector<JobRow> apart;
  for (JobRow& job : jobs) {
    ASSIGN_OR_RETURN(const std::optional<InSweep> place, PlaceIn(db, job.num, from.sweeps));
    if (!place && !IsNamed(from, group.pack_key, job.num)) apart.push_back(std::move(job));
  }
  return apart;
}

}  // namespace longreach::store
