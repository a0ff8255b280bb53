// Whether a file may be a store, by a look at its first bytes.
#pragma once

#include <filesystem>

#include "proto/base/status.h"

namespace longreach::store {

// There is no such file, or nothing in it.
bool IsEmpty(const std::filesystem::path& file);

// A file that is something else is refused before anything is put beside it. An empty one, and one that is not there, may become a store.
// FAILED_PRECONDITION: a folder; NOT_FOUND: there is no folder for it; PERMISSION_DENIED; DATA_LOSS: not a database.
absl::Status RefuseWhatIsNoDatabase(const std::filesystem::path& file);

}  // namespace longreach::store
