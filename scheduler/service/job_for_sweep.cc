#include "scheduler/service/job_for_sweep.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "longreach/v1/api.pb.h"
#include "proto/base/text.h"
#include "proto/types/job.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/service/live_board.h"
#include "scheduler/service/replies.h"
#include "store/jobs.h"
#include "store/reading.h"
#include "store/reference.h"
#include "store/sweeps.h"

namespace longreach::service {
namespace {

// "the sweep 'mine' (1511d96a)", "the sweeps 'mine' (1511d96a), 'other' (aa01bb23)".
std::string SweepsInWords(const std::vector<store::SweepRow>& sweeps) {
  constexpr size_t kMost = 5;
  std::vector<std::string> words;
  for (size_t i = 0; i < sweeps.size() && i < kMost; ++i) words.push_back(fmt::format("'{}' ({})", sweeps[i].name, ShortId(sweeps[i].id)));
  if (sweeps.size() > kMost) words.emplace_back("...");
  return fmt::format("the sweep{} {}", sweeps.size() == 1 ? "" : "s", Join(words, ", "));
}

}  // namespace

absl::StatusOr<std::string> OnlyThisJob(const store::SweepRow& sweep, int64_t position, const store::ListedJob& row) {
  ASSIGN_OR_RETURN(const v1::SweepSpec spec, SpecOf(sweep));
  const v1::Job job = ToJob(row, LiveBoard::State());
  const std::string system = experiments::SystemAt(experiments::SystemRanges(spec), position);
  return fmt::format("{}--only task={} --only encoding={} --only learning_rate={} --only seed={}", system.empty() ? "" : fmt::format("--only system={} ", system),
                     job.task(), job.encoding(), ShortestNumber(job.learning_rate()), job.seed());
}

absl::Status RefuseJobForSweep(sql::Connection& db, std::string_view reference) {
  if (!store::IsIdPrefix(reference)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<std::string> ids, store::JobIdsBeginning(db, reference, 2));
  if (ids.size() != 1) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::optional<int64_t> num, store::FindJobNum(db, ids.front()));
  if (!num.has_value()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<store::SweepRow> all, store::SweepsOfJob(db, *num));
  std::vector<store::SweepRow> sweeps;  // Without those that need it for jobs of their own.
  std::optional<int64_t> position;      // In the newest of them.
  for (const store::SweepRow& sweep : all) {
    ASSIGN_OR_RETURN(const std::optional<int64_t> here, store::PositionInSweep(db, sweep.num, *num));
    if (!here.has_value()) continue;
    if (!position.has_value()) position = here;
    sweeps.push_back(sweep);
  }
  const std::string begin = fmt::format("'{}' is a job's id, and no sweep's", reference);
  const std::string shown = fmt::format("'longreach job {}' shows the job", ShortId(ids.front()));
  if (all.empty()) return absl::NotFoundError(fmt::format("{}; {}", begin, shown));
  if (sweeps.empty()) {
    return absl::NotFoundError(fmt::format("{}: it makes what jobs of {} need\n  it goes with these, and they with their sweep, {}; {}", begin, SweepsInWords(all),
                                           ShortId(all.front().id), shown));
  }
  ASSIGN_OR_RETURN(const store::ListedJob row, store::GetListedJob(db, *num, /*score_metric=*/""));
  ASSIGN_OR_RETURN(const std::string only, OnlyThisJob(sweeps.front(), *position, row));
  return absl::NotFoundError(fmt::format("{0}: it is of {1}\n  for that job alone: 'longreach retry {2} {3}'; cancel, jobs and results take the same options\n"
                                         "  commands without --only are for the whole sweep, {2}; {4}",
                                         begin, SweepsInWords(sweeps), ShortId(sweeps.front().id), only, shown));
}

}  // namespace longreach::service
