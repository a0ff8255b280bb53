// Whether a file may be a store, by a look at its first bytes, and whether it may be written.
#pragma once

#include <filesystem>
#include <string>

#include "proto/base/status.h"

namespace longreach::store {

// There is no such file, or nothing in it.
bool IsEmpty(const std::filesystem::path& file);

// A file that is something else is refused before anything is put beside it. An empty one, and one that is not there, may become a store.
// FAILED_PRECONDITION: a folder; NOT_FOUND: there is no folder for it; PERMISSION_DENIED; DATA_LOSS: not a database.
absl::Status RefuseWhatIsNoDatabase(const std::filesystem::path& file);

// PERMISSION_DENIED: this user may not write the file, or not into the folder, where its log goes. Of a file that is not there nothing is said.
absl::Status RefuseWhatMayNotBeWritten(const std::filesystem::path& file);
// That refusal, `why` being what the system says.
absl::Status MayNotBeWritten(const std::filesystem::path& file, const std::string& why);

}  // namespace longreach::store
