#include "scheduler/service/upload_room.h"

#include <algorithm>

#include <fmt/format.h>

namespace longreach::service {
namespace {

bool IsOfTheFolder(const absl::Status& status) { return absl::IsNotFound(status) || absl::IsPermissionDenied(status) || absl::IsUnavailable(status); }

}  // namespace

void UploadRoom::Refused(double bytes, const absl::Status& status, const std::vector<std::string>& jobs) {
  const bool is_of_room = absl::IsResourceExhausted(status);
  if (!is_of_room && !IsOfTheFolder(status)) return;
  auto trouble = trouble_.Lock();
  const bool is_new = !trouble->has_value();
  if (is_new) trouble->emplace(Trouble{.is_of_the_disk = is_of_room, .is_of_room = is_of_room});
  Note(**trouble, bytes, jobs);
  if (!is_of_room || space_() >= bytes) (*trouble)->is_of_the_disk = false;
  // The first one's words stay: each try has a temporary file of another name.
  if (!is_new) return;
  const std::string_view why(status.message().data(), status.message().size());
  const std::string text = is_of_room ? fmt::format("no room for files of jobs: {}", why)
                                      : fmt::format("files of jobs cannot be written: {}; see whether their folder is there, and whether the scheduler may write in it", why);
  board_.SetFilesTrouble(text);
  log_(text);
}

void UploadRoom::Note(Trouble& trouble, double bytes, const std::vector<std::string>& jobs) {
  trouble.bytes = std::max(bytes, trouble.bytes);
  if (jobs.empty()) trouble.all_known = false;
  for (const std::string& job : jobs) {
    if (trouble.jobs.size() == kMostJobs && !trouble.jobs.contains(job)) {
      trouble.all_known = false;
      continue;
    }
    double& largest = trouble.jobs[job];
    largest = std::max(bytes, largest);
  }
}

void UploadRoom::Taken(double bytes) {
  auto trouble = trouble_.Lock();
  if (!trouble->has_value()) return;
  if ((*trouble)->is_of_room && bytes < (*trouble)->bytes && space_() < (*trouble)->bytes) return;
  End(*trouble, IsOver(**trouble));
}

void UploadRoom::StoreIsWell() {
  auto trouble = trouble_.Lock();
  if (trouble->has_value() && (*trouble)->is_of_room && space_() >= (*trouble)->bytes) End(*trouble, IsOver(**trouble));
}

std::optional<SteadyTime> UploadRoom::NextLook() {
  auto trouble = trouble_.Lock();
  if (!trouble->has_value() || (!(*trouble)->is_of_the_disk && !(*trouble)->all_known)) return std::nullopt;
  return (*trouble)->look_at;
}

void UploadRoom::Look(SteadyTime now, const std::function<bool(const std::string&)>& is_open) {
  auto trouble = trouble_.Lock();
  if (!trouble->has_value() || now < (*trouble)->look_at) return;
  (*trouble)->look_at = now + kBetweenLooks;
  if ((*trouble)->is_of_the_disk && space_() >= (*trouble)->bytes) return End(*trouble, IsOver(**trouble));
  if (!(*trouble)->all_known) return;
  std::map<std::string, double>& jobs = (*trouble)->jobs;
  std::erase_if(jobs, [&is_open](const auto& job) { return !is_open(job.first); });
  if (jobs.empty()) return End(*trouble, "nobody needs the files of jobs any more that could not be written");
  (*trouble)->bytes = 0;
  for (const auto& [job, bytes] : jobs) (*trouble)->bytes = std::max(bytes, (*trouble)->bytes);
}

void UploadRoom::End(std::optional<Trouble>& trouble, const std::string& why) {
  trouble.reset();
  board_.SetFilesTrouble("");
  log_(why);
}

std::string UploadRoom::IsOver(const Trouble& trouble) {
  return trouble.is_of_room ? "there is room for files of jobs again" : "files of jobs can be written again";
}

}  // namespace longreach::service
