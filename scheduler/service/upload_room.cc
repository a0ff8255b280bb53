#include "scheduler/service/upload_room.h"

#include <algorithm>

#include <fmt/format.h>

namespace longreach::service {

void UploadRoom::Refused(double bytes, const absl::Status& status) {
  if (status.code() != absl::StatusCode::kResourceExhausted) return;
  auto refused = refused_.Lock();
  const bool is_new = !refused->has_value();
  *refused = std::max(bytes, refused->value_or(0));
  // The first one's words stay: each try has a temporary file of another name.
  if (!is_new) return;
  const std::string trouble = fmt::format("no room for files of jobs: {}", std::string_view(status.message().data(), status.message().size()));
  board_.SetFilesTrouble(trouble);
  log_(trouble);
}

void UploadRoom::Taken(double bytes) {
  auto refused = refused_.Lock();
  if (!refused->has_value() || (bytes < **refused && space_() < **refused)) return;
  refused->reset();
  board_.SetFilesTrouble("");
  log_("there is room for files of jobs again");
}

}  // namespace longreach::service
