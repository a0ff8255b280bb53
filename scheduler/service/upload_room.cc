#include "scheduler/service/upload_room.h"

#include <algorithm>

#include <fmt/format.h>

namespace longreach::service {
namespace {

bool IsOfTheFolder(const absl::Status& status) { return absl::IsNotFound(status) || absl::IsPermissionDenied(status) || absl::IsUnavailable(status); }

}  // namespace

void UploadRoom::Refused(double bytes, const absl::Status& status) {
  const bool is_of_room = absl::IsResourceExhausted(status);
  if (!is_of_room && !IsOfTheFolder(status)) return;
  auto trouble = trouble_.Lock();
  const bool is_new = !trouble->has_value();
  if (is_new) trouble->emplace(Trouble{.bytes = bytes, .is_of_the_disk = is_of_room, .is_of_room = is_of_room});
  (*trouble)->bytes = std::max(bytes, (*trouble)->bytes);
  if (!is_of_room || space_() >= bytes) (*trouble)->is_of_the_disk = false;
  // The first one's words stay: each try has a temporary file of another name.
  if (!is_new) return;
  const std::string_view why(status.message().data(), status.message().size());
  const std::string text = is_of_room ? fmt::format("no room for files of jobs: {}", why)
                                      : fmt::format("files of jobs cannot be written: {}; see whether their folder is there, and whether the scheduler may write in it", why);
  board_.SetFilesTrouble(text);
  log_(text);
}

void UploadRoom::Taken(double bytes) {
  auto trouble = trouble_.Lock();
  if (!trouble->has_value()) return;
  if ((*trouble)->is_of_room && bytes < (*trouble)->bytes && space_() < (*trouble)->bytes) return;
  End(*trouble);
}

void UploadRoom::StoreIsWell() {
  auto trouble = trouble_.Lock();
  if (trouble->has_value() && (*trouble)->is_of_room && space_() >= (*trouble)->bytes) End(*trouble);
}

std::optional<SteadyTime> UploadRoom::NextLook() {
  auto trouble = trouble_.Lock();
  if (!trouble->has_value() || !(*trouble)->is_of_the_disk) return std::nullopt;
  return (*trouble)->look_at;
}

void UploadRoom::Look(SteadyTime now) {
  auto trouble = trouble_.Lock();
  if (!trouble->has_value() || !(*trouble)->is_of_the_disk || now < (*trouble)->look_at) return;
  (*trouble)->look_at = now + kBetweenLooks;
  if (space_() >= (*trouble)->bytes) End(*trouble);
}

void UploadRoom::End(std::optional<Trouble>& trouble) {
  const bool is_of_room = trouble->is_of_room;
  trouble.reset();
  board_.SetFilesTrouble("");
  log_(is_of_room ? "there is room for files of jobs again" : "files of jobs can be written again");
}

}  // namespace longreach::service
