// How commands of this program say that they refuse something.
#pragma once

#include "proto/base/status.h"

namespace longreach {

// Prints the error, as JSON where that is wanted, and gives the exit code: 2 for an INVALID_ARGUMENT, 4 for a NOT_FOUND, else 1.
int Refused(const absl::Status& status, bool json);

}  // namespace longreach
