#include "scheduler/service/mend_members.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "proto/base/sha256.h"
#include "proto/base/text.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/service/member_places.h"
#include "store/jobs.h"
#include "store/sweeps.h"

namespace longreach::service {
namespace {

// By the numbers of jobs; 0: none.
struct PlaceToMend {
  int64_t position = 0;
  int64_t there = 0;
  int64_t expected = 0;
};

struct SweepToMend {
  std::string words{};
  std::vector<PlaceToMend> wrong{};   // Ascending by position.
  std::unordered_set<int64_t> own{};  // Jobs that belong in these places.
  bool is_left = false;

  bool IsWrongAt(int64_t position) const { return std::ranges::binary_search(wrong, position, {}, &PlaceToMend::position); }
};

class MembersMend {
 public:
  explicit MembersMend(sql::Transaction& tx) : tx_(tx) {}

  absl::Status Run(store::Mended& mended) {
    ASSIGN_OR_RETURN(const std::vector<int64_t> sweeps, tx_.All<int64_t>("SELECT num FROM sweeps ORDER BY num"));
    for (const int64_t num : sweeps) {
      ASSIGN_OR_RETURN(const store::SweepRow sweep, store::GetSweep(tx_, num));
      RETURN_IF_ERROR(Look(sweep));
    }
    RETURN_IF_ERROR(LeaveWhatWouldLoseJobs());
    store::LinesOfAKind lines;
    for (const auto& [num, sweep] : sweeps_) {
      if (!sweep.is_left && !sweep.wrong.empty()) RETURN_IF_ERROR(PutRight(num, sweep, lines));
    }
    std::move(lines).Tell(mended);
    return absl::OkStatus();
  }

 private:
  absl::Status Look(const store::SweepRow& sweep);
  absl::Status LeaveWhatWouldLoseJobs();
  absl::StatusOr<bool> BelongsElsewhere(int64_t job);
  absl::Status PutRight(int64_t num, const SweepToMend& sweep, store::LinesOfAKind& lines);

  sql::Transaction& tx_;
  std::map<int64_t, SweepToMend> sweeps_;  // All that this program expands as they were, by their numbers.
};

absl::Status MembersMend::Look(const store::SweepRow& sweep) {
  if (Sha256Of(sweep.spec) != sweep.id) return absl::OkStatus();
  absl::StatusOr<experiments::Expansion> expansion = experiments::ExpandStored(sweep.spec);
  if (!expansion.ok()) return absl::OkStatus();
  SweepToMend found{.words = SweepInWords(sweep)};
  int64_t lacking = 0, behind = 0;
  ASSIGN_OR_RETURN(const int64_t members, ForEachWrongPlace(tx_, sweep, *expansion, [&](const WrongPlace& place) -> absl::Status {
    PlaceToMend& wrong = found.wrong.emplace_back(PlaceToMend{.position = place.position, .there = place.there ? place.there->job : 0});
    lacking += place.there ? 0 : 1;
    if (place.expected == nullptr) {
      ++behind;
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const std::optional<int64_t> job, store::FindJobNum(tx_, place.expected->id.value));
    wrong.expected = job.value_or(0);
    if (job) found.own.insert(*job);
    else found.is_left = true;
    return absl::OkStatus();
  }));
  std::ranges::sort(found.wrong, {}, &PlaceToMend::position);
  // Some are there whose turn has not come, or it does not know how many are to come.
  found.is_left |= EndOfMembers(sweep, *expansion) != members - behind + lacking;
  bool has_own = std::ssize(found.wrong) < members + lacking;
  for (auto job = found.own.begin(); !has_own && job != found.own.end(); ++job) {
    ASSIGN_OR_RETURN(has_own, tx_.One<bool>("SELECT EXISTS (SELECT 1 FROM sweep_jobs WHERE job = ? AND sweep = ?)", *job, sweep.num));
  }
  found.is_left |= !has_own;
  sweeps_.emplace(sweep.num, std::move(found));
  return absl::OkStatus();
}

// A sweep that is left leaves its own jobs where they are, which may be another one's places: so until no more is left.
absl::Status MembersMend::LeaveWhatWouldLoseJobs() {
  for (bool is_done = false; !is_done;) {
    is_done = true;
    std::unordered_set<int64_t> placed;
    for (const auto& [num, sweep] : sweeps_) {
      if (!sweep.is_left) placed.insert(sweep.own.begin(), sweep.own.end());
    }
    for (auto& [num, sweep] : sweeps_) {
      for (const PlaceToMend& place : sweep.wrong) {
        if (sweep.is_left) break;
        if (place.there == 0 || placed.contains(place.there)) continue;
        ASSIGN_OR_RETURN(const bool belongs, BelongsElsewhere(place.there));
        sweep.is_left = !belongs;
      }
      if (!sweep.is_left || sweep.own.empty()) continue;
      sweep.own.clear();
      is_done = false;
    }
  }
  return absl::OkStatus();
}

// Where it is as a sweep's specification has it, or makes what a job of a sweep begins with.
absl::StatusOr<bool> MembersMend::BelongsElsewhere(int64_t job) {
  ASSIGN_OR_RETURN(const bool is_begun_with, tx_.One<bool>("SELECT EXISTS (SELECT 1 FROM job_inputs AS i CROSS JOIN sweep_jobs AS sj ON sj.job = i.job CROSS JOIN jobs AS d ON d.num = i.job "
                                                           "CROSS JOIN jobs AS m ON m.num = i.source WHERE i.source = ? AND instr(d.spec, '.job=' || m.id || char(10)) > 0)",
                                                           job));
  if (is_begun_with) return true;
  ASSIGN_OR_RETURN(sql::Rows rows, tx_.Query("SELECT sweep, position FROM sweep_jobs WHERE job = ? AND role = 'member' ORDER BY sweep", job));
  bool is_right = false;
  while (rows.Next()) {
    const auto sweep = sweeps_.find(rows.Get<int64_t>(0));
    is_right |= sweep != sweeps_.end() && !sweep->second.IsWrongAt(rows.Get<int64_t>(1));
  }
  RETURN_IF_ERROR(rows.status());
  return is_right;
}

absl::Status MembersMend::PutRight(int64_t num, const SweepToMend& sweep, store::LinesOfAKind& lines) {
  int64_t moved = 0, strangers = 0;
  // All before the first comes: a job is in a sweep once.
  for (const PlaceToMend& place : sweep.wrong) {
    if (place.there != 0) ++(sweep.own.contains(place.there) ? moved : strangers);
    RETURN_IF_ERROR(tx_.Run("DELETE FROM sweep_jobs WHERE sweep = ? AND role = 'member' AND position = ?", num, place.position).status());
    if (place.expected != 0) RETURN_IF_ERROR(tx_.Run("DELETE FROM sweep_jobs WHERE sweep = ? AND role = 'prerequisite' AND job = ?", num, place.expected).status());
  }
  for (const PlaceToMend& place : sweep.wrong) {
    if (place.expected == 0) continue;
    RETURN_IF_ERROR(tx_.Run("INSERT INTO sweep_jobs(sweep, role, position, job) VALUES (?, 'member', ?, ?)", num, place.position, place.expected).status());
  }
  std::vector<std::string> what;
  const auto add = [&what](int64_t count, std::string_view one, std::string_view more) {
    if (count > 0) what.push_back(fmt::format("{} {}", count, count == 1 ? one : more));
  };
  add(moved, "was at another position", "were at other positions");
  add(std::ssize(sweep.own) - moved, "was lacking", "were lacking");
  add(strangers, "was none of its jobs", "were none of its jobs");
  lines.Add(fmt::format("{} has its jobs where its specification has them: {}", sweep.words, Join(what, ", ")));
  return absl::OkStatus();
}

}  // namespace

absl::Status MendMembers(sql::Transaction& tx, store::Mended& mended) { return MembersMend(tx).Run(mended); }

}  // namespace longreach::service
