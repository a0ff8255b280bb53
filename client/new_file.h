// Files that must not be there yet, on disk when the call returns. Those with secrets are their owner's alone from the first byte on.
#pragma once

#include <filesystem>
#include <string_view>

#include "proto/base/status.h"

namespace longreach::client {

// ALREADY_EXISTS: there is something of that name; it is left alone. FAILED_PRECONDITION: it cannot be written.
absl::Status WriteNewFile(const std::filesystem::path& path, std::string_view text);
// The same without a secret in it: for all, but for the user's mask.
absl::Status WriteNewFileForAll(const std::filesystem::path& path, std::string_view bytes);
// Names a file that is there `path`, all at once, on the same file system.
absl::Status RenameToNewFile(const std::filesystem::path& from, const std::filesystem::path& path);
// Their refusals, before there is anything to write.
absl::Status CheckNewFile(const std::filesystem::path& path);
// Where a user wants a folder to be made: the path from the root on, with no slash at its end. Errors of AbsolutePath() and CheckNewFile().
absl::StatusOr<std::filesystem::path> CheckedNewFolder(std::string_view argument, const std::filesystem::path& folder);

// The same in place of what is there, which readers see whole or not at all.
absl::Status ReplaceFile(const std::filesystem::path& path, std::string_view text);

}  // namespace longreach::client
