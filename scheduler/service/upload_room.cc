#include "scheduler/service/upload_room.h"

#include <algorithm>

#include <fmt/format.h>

namespace longreach::service {

void UploadRoom::Refused(double bytes, const absl::Status& status) {
  if (status.code() != absl::StatusCode::kResourceExhausted) return;
  auto trouble = trouble_.Lock();
  const bool is_new = !trouble->has_value();
  if (is_new) trouble->emplace(Trouble{.bytes = bytes, .is_of_the_disk = true});
  (*trouble)->bytes = std::max(bytes, (*trouble)->bytes);
  if (space_() >= bytes) (*trouble)->is_of_the_disk = false;
  // The first one's words stay: each try has a temporary file of another name.
  if (!is_new) return;
  const std::string text = fmt::format("no room for files of jobs: {}", std::string_view(status.message().data(), status.message().size()));
  board_.SetFilesTrouble(text);
  log_(text);
}

void UploadRoom::Taken(double bytes) {
  auto trouble = trouble_.Lock();
  if (!trouble->has_value() || (bytes < (*trouble)->bytes && space_() < (*trouble)->bytes)) return;
  End(*trouble);
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
  trouble.reset();
  board_.SetFilesTrouble("");
  log_("there is room for files of jobs again");
}

}  // namespace longreach::service
