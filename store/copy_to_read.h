// Looking into a store that this user may read and not write: a colleague's, an archive, a disk that is mounted read-only. SQLite makes files
// beside a database that it opens, and the schema may be an older one: so a copy is looked into.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "proto/base/status.h"

namespace longreach::store {

// Copies a store's database to a new file, with what is in its log alone yet, as it is at one moment. Nothing is made beside it, and who writes to
// it goes on.
// `say` is told, once and before, of a copy that takes time and room: how large it is, and where it lies. One that has the other's blocks takes neither.
// PERMISSION_DENIED: it cannot be read. RESOURCE_EXHAUSTED: there is no room for the copy. UNAVAILABLE: it changes all the time, or another error.
absl::Status CopyToRead(const std::filesystem::path& file, const std::filesystem::path& copy, const std::function<void(const std::string& line)>& say = nullptr);

}  // namespace longreach::store
