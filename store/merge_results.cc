// How two results of one job differ, and what results were made of (declared in merge.h).
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "proto/base/text.h"
#include "store/artifacts.h"
#include "store/job_row.h"
#include "store/measurements.h"
#include "store/merge.h"
#include "store/pack_file.h"

namespace longreach::store {

absl::StatusOr<std::string> DifferenceOfResults(sql::Connection& theirs, const JobRow& job, sql::Connection& ours, const JobRow& own) {
  if (job.diverged != own.diverged) return std::string(own.diverged ? "diverged here, not there" : "diverged there, not here");
  ASSIGN_OR_RETURN(const std::vector<Measurement> there, MeasurementsOf(theirs, job.num, false));
  ASSIGN_OR_RETURN(const std::vector<Measurement> here, MeasurementsOf(ours, own.num, false));
  const auto key = [](const Measurement& m) { return std::tie(m.metric, m.length, m.slice); };
  size_t differing = 0;
  std::string first;
  size_t i = 0;
  size_t j = 0;
  // Both ascend by their key.
  while (i < here.size() || j < there.size()) {
    const bool only_here = j == there.size() || (i < here.size() && key(here[i]) < key(there[j]));
    const bool only_there = i == here.size() || (j < there.size() && key(there[j]) < key(here[i]));
    if (only_here || only_there || here[i].value != there[j].value) {
      const Measurement& m = only_there ? there[j] : here[i];
      if (++differing == 1) {
        first = fmt::format("{}{} is {} here and {} there", m.metric,
                            m.length == 0 ? " over all lengths" : fmt::format(" at length {}", m.length),
                            only_there ? "missing" : ShortestNumber(here[i].value),
                            only_here ? "missing" : ShortestNumber(there[j].value));
      }
    }
    if (!only_there) ++i;
    if (!only_here) ++j;
  }
  return differing > 1 ? fmt::format("{}, and {} more values differ", first, differing - 1) : first;
}

absl::StatusOr<std::optional<TwoFiles>> OtherFilesOfWeights(sql::Connection& theirs, int64_t job, sql::Connection& ours, int64_t own) {
  static const std::string kWeights(Word(ArtifactKind::kWeights));
  ASSIGN_OR_RETURN(const std::optional<ArtifactRow> there, ArtifactOfResult(theirs, job, kWeights));
  ASSIGN_OR_RETURN(const std::optional<ArtifactRow> here, ArtifactOfResult(ours, own, kWeights));
  if (!there || !here || (there->sha256 == here->sha256 && there->member == here->member)) return std::nullopt;
  return TwoFiles{.theirs = there->sha256, .ours = here->sha256};
}

absl::StatusOr<std::map<std::string, TwoFiles>> WeightsToCompare(sql::Connection& theirs, sql::Connection& ours) {
  std::map<std::string, TwoFiles> pairs;
  ASSIGN_OR_RETURN(const std::vector<int64_t> jobs, theirs.All<int64_t>("SELECT DISTINCT j.num FROM artifacts AS f CROSS JOIN jobs AS j ON j.num = f.job AND j.state = 'succeeded' "
                                                                         "AND j.attempt = f.attempt WHERE f.kind = 'weights' ORDER BY j.num"));
  for (const int64_t num : jobs) {
    ASSIGN_OR_RETURN(const JobRow job, GetJob(theirs, num));
    ASSIGN_OR_RETURN(const std::optional<JobRow> own, FindJob(ours, job.id));
    if (!own || own->state != State::kSucceeded) continue;
    ASSIGN_OR_RETURN(std::optional<TwoFiles> files, OtherFilesOfWeights(theirs, num, ours, own->num));
    if (!files) continue;
    ASSIGN_OR_RETURN(const std::string difference, DifferenceOfResults(theirs, job, ours, *own));
    if (difference.empty()) pairs.emplace(job.id, *std::move(files));
  }
  return pairs;
}

absl::Status CompareWeights(const std::map<std::string, TwoFiles>& pairs, const ArtifactFiles& files, const std::stop_token& stop, std::map<std::string, bool>& same) {
  for (const auto& [job, two] : pairs) {
    if (!IsSha256(two.theirs) || !IsSha256(two.ours)) continue;
    ASSIGN_OR_RETURN(const std::optional<bool> equal, HaveSamePart(files.PathOf(two.theirs), files.PathOf(two.ours), job, stop));
    if (equal) same.emplace(job, *equal);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> MadeOfAnotherRun(sql::Connection& db, int64_t source) {
  static const std::string kSql = fmt::format("SELECT DISTINCT j.num FROM job_inputs AS i CROSS JOIN jobs AS s ON s.num = i.source CROSS JOIN jobs AS j ON j.num = i.job "
                                              "WHERE i.source = ? AND j.state = 'succeeded' AND {} ORDER BY j.num",
                                              kIsOfAnotherRun);
  return db.All<int64_t>(kSql, source);
}

}  // namespace longreach::store
