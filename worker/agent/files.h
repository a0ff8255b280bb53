// Files that must survive a crash, and the ends of logs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "proto/base/status.h"

namespace longreach::agent {

// Writes beside, syncs, renames, syncs the folder: afterwards there is the old content or the new one, never a part.
// RESOURCE_EXHAUSTED when the disk is full, else INTERNAL, with the path.
absl::Status WriteFileSynced(const std::filesystem::path& file, std::string_view bytes);

// NOT_FOUND; DATA_LOSS with the path: it cannot be read, is no regular file (a pipe without a writer would be waited for), or has more than `most` bytes.
absl::StatusOr<std::string> ReadFile(const std::filesystem::path& file, uint64_t most = uint64_t{1} << 30);

// The last bytes of a file; empty when it cannot be read, or is no regular one.
std::string ReadTail(const std::filesystem::path& file, size_t bytes);

// The last line of a log that is not blank, shortened to 300 bytes; empty when there is none, or no file.
std::string LastLineOf(const std::filesystem::path& log);

// As absl::Status; INTERNAL with the path when the folder is neither there nor can be made.
absl::Status MakeFolder(const std::filesystem::path& folder);

}  // namespace longreach::agent
