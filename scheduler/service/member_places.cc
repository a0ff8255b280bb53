#include "scheduler/service/member_places.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "proto/types/job.h"
#include "proto/types/words.h"

namespace longreach::service {

std::string SweepInWords(const store::SweepRow& sweep) { return fmt::format("sweep {} ('{}')", ShortId(sweep.id), sweep.name); }

std::optional<int64_t> EndOfMembers(const store::SweepRow& sweep, const experiments::Expansion& expansion) {
  if (sweep.to_come < 0 || sweep.to_come > expansion.size()) return std::nullopt;
  return expansion.size() - sweep.to_come;
}

absl::StatusOr<int64_t> ForEachWrongPlace(sql::Connection& db, const store::SweepRow& sweep, experiments::Expansion& expansion, const std::function<absl::Status(const WrongPlace&)>& use) {
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query("SELECT sj.position, j.id, j.num, j.experiment, j.task, j.encoding, j.randomized, j.learning_rate, j.seed FROM sweep_jobs AS sj "
                                            "CROSS JOIN jobs AS j ON j.num = sj.job WHERE sj.sweep = ? AND sj.role = 'member' ORDER BY sj.position",
                                            sweep.num));
  const int64_t end = EndOfMembers(sweep, expansion).value_or(0);
  int64_t next = 0;  // The first position of which nothing is known yet.
  const auto lacking_before = [&](int64_t position) -> absl::Status {
    for (; next < std::min(position, end); ++next) {
      const experiments::ExpandedJob job = expansion.At(next);
      RETURN_IF_ERROR(use({.position = next, .there = {}, .expected = &job}));
    }
    return absl::OkStatus();
  };
  int64_t members = 0;
  while (rows.Next()) {
    ++members;
    const auto position = rows.Get<int64_t>(0);
    RETURN_IF_ERROR(lacking_before(position));
    next = std::max(next, position + 1);
    std::optional<experiments::ExpandedJob> job;
    if (position >= 0 && position < expansion.size()) job = expansion.At(position);
    if (job && rows.Get<std::string_view>(1) == job->id.value) continue;
    WrongPlace place{.position = position, .there = MemberThere{.job = rows.Get<int64_t>(2), .id = rows.Get<std::string>(1)}, .expected = job ? &*job : nullptr};
    place.there->axes = {.experiment = rows.Get<std::string>(3),
                         .task = rows.Get<std::string>(4),
                         .encoding = ToText(EncodingName{rows.Get<std::string>(5), rows.Get<bool>(6)}),
                         .learning_rate = rows.Get<double>(7),
                         .seed = rows.Get<uint32_t>(8)};
    RETURN_IF_ERROR(use(place));
  }
  RETURN_IF_ERROR(rows.status());
  RETURN_IF_ERROR(lacking_before(end));
  return members;
}

}  // namespace longreach::service
