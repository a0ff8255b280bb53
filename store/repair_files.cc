// Rows that name files (declared in repair.h).
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "proto/base/sha256.h"
#include "store/artifacts.h"
#include "store/job_row.h"
#include "store/repair.h"

namespace longreach::store {
namespace {

// Checkpoints that have gone: a job goes on from what is left, as the pack that made it, or begins anew. One that runs is asked nothing.
constexpr const char* kOfCheckpoints =
    "UPDATE jobs SET checkpoint_step = ifnull((SELECT max(a.step) FROM artifacts AS a WHERE a.job = jobs.num AND a.kind = 'checkpoint'), 0), "
    "split_group = iif(split_group < 0 AND state <> 'leased', {}, split_group) WHERE num = ?1";

absl::Status ForgetLost(sql::Transaction& tx, const NamedFile& file, LinesOfAKind& lines) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> begun,
                   tx.All<int64_t>("SELECT DISTINCT job FROM artifacts WHERE sha256 = ? AND bytes = ? AND kind = 'checkpoint' ORDER BY job", file.sha256, file.bytes));
  ASSIGN_OR_RETURN(const int gone, tx.Run("DELETE FROM artifacts WHERE sha256 = ? AND bytes = ? AND kind IN ('checkpoint', 'log')", file.sha256, file.bytes));
  if (gone == 0) return absl::OkStatus();
  const std::string again = fmt::format(kOfCheckpoints, kPackOfCheckpoint);
  for (const int64_t job : begun) RETURN_IF_ERROR(tx.Run(again, job).status());
  lines.Add(fmt::format("{} is forgotten, as its file is lost{}", file.What(), begun.empty() ? "" : ": jobs go on from the checkpoint before, or begin anew"));
  return absl::OkStatus();
}

// The file is whole, and its row has another size.
absl::StatusOr<bool> MendSize(sql::Transaction& tx, const NamedFile& file, const ArtifactFiles& files, LinesOfAKind& lines) {
  if (!IsSha256(file.sha256)) return false;
  std::error_code error;
  const auto size = std::filesystem::file_size(files.PathOf(file.sha256), error);
  if (error || static_cast<int64_t>(size) == file.bytes || !files.Verify(file.sha256).ok()) return false;
  ASSIGN_OR_RETURN(const int changed, tx.Run("UPDATE artifacts SET bytes = ? WHERE sha256 = ? AND bytes = ?", static_cast<int64_t>(size), file.sha256, file.bytes));
  if (changed > 0) lines.Add(fmt::format("{} has {} bytes, as its file has, and not {}", file.What(), size, file.bytes));
  return true;
}

// A job's part is what the file says of it. Where that is nothing, a checkpoint is none of the job's, and weights are left as they are: what has been made of them is to be found.
absl::Status MendPart(sql::Transaction& tx, const MisplacedPart& found, LinesOfAKind& lines) {
  const NamedPart& part = found.part;
  const std::string what = fmt::format("{} {} of job {}", Word(part.kind), found.sha256.substr(0, 8), part.id.substr(0, 8));
  constexpr std::string_view kWhich = "WHERE job = ? AND kind = ? AND step = ? AND attempt = ? AND sha256 = ?";
  if (found.member) {
    static const std::string kMove = fmt::format("UPDATE artifacts SET member = ? {}", kWhich);
    ASSIGN_OR_RETURN(const int moved, tx.Run(kMove, *found.member, part.job, Word(part.kind), part.step, part.attempt, found.sha256));
    if (moved > 0) lines.Add(fmt::format("{} is its member {}, as the file says, and not {}", what, *found.member, part.member));
    return absl::OkStatus();
  }
  if (part.kind != ArtifactKind::kCheckpoint) return absl::OkStatus();
  // Of a job that has its result they may be its weights under a wrong word, which others begin with.
  static const std::string kForget = fmt::format("DELETE FROM artifacts {} AND NOT EXISTS (SELECT 1 FROM jobs AS j WHERE j.num = artifacts.job AND j.state = 'succeeded')", kWhich);
  ASSIGN_OR_RETURN(const int gone, tx.Run(kForget, part.job, Word(part.kind), part.step, part.attempt, found.sha256));
  if (gone == 0) return absl::OkStatus();
  lines.Add(fmt::format("{} is forgotten, as the file is not of that job and step: it goes on from the checkpoint before, or begins anew", what));
  return tx.Run(fmt::format(kOfCheckpoints, kPackOfCheckpoint), part.job).status();
}

std::vector<MendingRule> RulesOfFiles() {
  const std::string again = fmt::format(kOfCheckpoints, kPackOfCheckpoint);
  return {
      {.find = "SELECT j.num, 'job ' || substr(j.id, 1, 8) || ': checkpoints of attempts that did not have it are forgotten: ' || count(*) FROM artifacts AS f CROSS JOIN jobs AS j ON j.num = f.job "
               "WHERE f.kind = 'checkpoint' AND NOT EXISTS (SELECT 1 FROM attempt_jobs AS aj WHERE aj.attempt = f.attempt AND aj.job = f.job) GROUP BY j.num ORDER BY j.num",
       .mends = {"DELETE FROM artifacts WHERE job = ?1 AND kind = 'checkpoint' AND NOT EXISTS (SELECT 1 FROM attempt_jobs AS aj WHERE aj.attempt = artifacts.attempt AND aj.job = artifacts.job)",
                 again}},
      {.find = "SELECT j.num, 'job ' || substr(j.id, 1, 8) || ' has its result, and its checkpoints are forgotten: ' || count(*) FROM artifacts AS f CROSS JOIN jobs AS j ON j.num = f.job "
               "WHERE f.kind = 'checkpoint' AND j.state = 'succeeded' AND f.attempt <> j.attempt GROUP BY j.num ORDER BY j.num",
       .mends = {"DELETE FROM artifacts WHERE job = ?1 AND kind = 'checkpoint' AND attempt <> (SELECT j.attempt FROM jobs AS j WHERE j.num = ?1)", again}},
      {.find = fmt::format("SELECT j.num, 'job ' || substr(j.id, 1, 8) || ' had ' || count(*) || ' checkpoints, of which the newest {0} stay' FROM artifacts AS f CROSS JOIN jobs AS j ON j.num = f.job "
                           "WHERE f.kind = 'checkpoint' GROUP BY j.num HAVING count(*) > {0} ORDER BY j.num",
                           kCheckpointsKept),
       .mends = {fmt::format("DELETE FROM artifacts WHERE job = ?1 AND kind = 'checkpoint' AND (step, attempt) NOT IN (SELECT n.step, n.attempt FROM artifacts AS n WHERE n.job = ?1 AND n.kind = "
                             "'checkpoint' ORDER BY n.step DESC, n.attempt DESC LIMIT {})",
                             kCheckpointsKept),
                 again}},
      {.find = "SELECT num, 'job ' || substr(id, 1, 8) || ' has its checkpoint at step ' || (SELECT ifnull(max(a.step), 0) FROM artifacts AS a WHERE a.job = jobs.num AND a.kind = 'checkpoint') || "
               "', and not at ' || checkpoint_step FROM jobs WHERE checkpoint_step <> (SELECT ifnull(max(a.step), 0) FROM artifacts AS a WHERE a.job = jobs.num AND a.kind = 'checkpoint') ORDER BY num",
       .mends = {again}},
  };
}

}  // namespace

absl::Status MendFiles(sql::Transaction& tx, const CheckReport& found, const ArtifactFiles& files, Mended& mended) {
  // What rows name is not to be removed, whatever is done with these rows below: that keeps the file.
  ASSIGN_OR_RETURN(const int kept, tx.Run("DELETE FROM unused_files WHERE EXISTS (SELECT 1 FROM artifacts AS f WHERE f.sha256 = unused_files.sha256)"));
  if (kept > 0) mended.done.push_back(fmt::format("{} that rows name {} not to be removed any more", kept == 1 ? "1 file" : fmt::format("{} files", kept), kept == 1 ? "is" : "are"));
  LinesOfAKind lines;
  for (const NamedFile& file : found.lost) {
    ASSIGN_OR_RETURN(const bool is_whole, MendSize(tx, file, files, lines));
    if (!is_whole) RETURN_IF_ERROR(ForgetLost(tx, file, lines));
  }
  for (const MisplacedPart& part : found.misplaced) RETURN_IF_ERROR(MendPart(tx, part, lines));
  std::move(lines).Tell(mended);
  for (const MendingRule& rule : RulesOfFiles()) RETURN_IF_ERROR(Follow(tx, rule, mended).status());
  return absl::OkStatus();
}

}  // namespace longreach::store
