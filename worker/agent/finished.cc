#include "worker/agent/finished.h"

#include <fmt/format.h>

#include <system_error>

#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "worker/agent/files.h"
#include "worker/agent/left_checkpoint.h"

namespace longreach::agent {
namespace {

constexpr const char* kName = "finished.pb";

}  // namespace

v1::FinishedAttempt FinishedOf(const Attempt& attempt) {
  v1::FinishedAttempt kept;
  *kept.mutable_report() = attempt.report;
  kept.mutable_report()->set_attempt(attempt.number());
  kept.mutable_report()->set_detail(ValidUtf8(attempt.report.detail()));
  kept.mutable_points()->Assign(attempt.points.begin(), attempt.points.end());
  kept.mutable_members()->Assign(attempt.members.begin(), attempt.members.end());
  kept.mutable_dropped()->Assign(attempt.dropped.begin(), attempt.dropped.end());
  kept.set_step(attempt.step);
  if (attempt.began_at) kept.set_began_at(*attempt.began_at);
  for (const FileToHandIn& file : attempt.files) {
    v1::FinishedAttempt::File& to = *kept.add_files();
    to.set_kind(std::string(Word(file.kind)));
    to.set_step(file.step);
    to.set_name(file.file.filename().string());
    to.set_job(file.job);
  }
  return kept;
}

absl::Status KeepFinished(const std::filesystem::path& folder, const v1::FinishedAttempt& finished) {
  return WriteFileSynced(folder / kName, finished.SerializeAsString());
}

absl::StatusOr<std::shared_ptr<Attempt>> ReadFinished(const std::filesystem::path& folder) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(folder / kName));
  v1::FinishedAttempt kept;
  if (!kept.ParseFromString(bytes) || folder.filename() != std::to_string(kept.report().attempt())) {
    return absl::DataLossError(fmt::format("{} is no finished attempt", (folder / kName).string()));
  }
  auto attempt = std::make_shared<Attempt>();
  attempt->lease.set_attempt(kept.report().attempt());
  attempt->folder = folder;
  attempt->stage = Attempt::Stage::kHandingIn;
  attempt->kept = true;
  attempt->report = kept.report();
  attempt->points.assign(kept.points().begin(), kept.points().end());
  attempt->members.assign(kept.members().begin(), kept.members().end());
  attempt->dropped.insert(kept.dropped().begin(), kept.dropped().end());
  attempt->step = kept.step();
  if (kept.has_began_at()) attempt->began_at = kept.began_at();
  for (const v1::FinishedAttempt::File& file : kept.files()) {
    const std::optional<ArtifactKind> kind = ParseArtifactKind(file.kind());
    if (!kind) continue;  // Of a later version: the results are worth more than what only that one knows.
    attempt->files.push_back({.kind = *kind, .step = file.step(), .file = folder / file.name(), .job = file.job()});
  }
  return attempt;
}

std::vector<std::filesystem::path> RemoveUnfinished(const std::filesystem::path& attempts) {
  std::vector<std::filesystem::path> all, kept;
  std::error_code ignored;
  // Nothing else is ours.
  for (const auto& entry : std::filesystem::directory_iterator(attempts, ignored)) {
    if (ParseInteger(entry.path().filename().string()).has_value()) all.push_back(entry.path());
  }
  for (const std::filesystem::path& folder : all) {
    if (std::filesystem::exists(folder / kName, ignored) || HasCheckpoint(folder)) kept.push_back(folder);
    else std::filesystem::remove_all(folder, ignored);
  }
  return kept;
}

}  // namespace longreach::agent
