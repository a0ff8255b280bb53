// Which field of the settings has named what a data set is refused for.
#pragma once

#include <string_view>
#include <utility>

#include "proto/base/status.h"
#include "proto/base/text.h"

namespace longreach::trainer {

// What was opened; a refusal of the argument, as a data set of another kind is, with the field in front. What cannot be used for another reason is no field's.
template <typename Opened>
absl::StatusOr<Opened> NamedBy(std::string_view field, absl::StatusOr<Opened> opened) {
  if (!absl::IsInvalidArgument(opened.status())) return opened;
  return absl::InvalidArgumentError(Text(field, ": ", opened.status().message()));
}

}  // namespace longreach::trainer
