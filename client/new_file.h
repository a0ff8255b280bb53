// Files with secrets: their owner's alone from the first byte on, on disk when the call returns.
#pragma once

#include <filesystem>
#include <string_view>

#include "proto/base/status.h"

namespace longreach::client {

// ALREADY_EXISTS: there is something of that name; it is left alone. FAILED_PRECONDITION: it cannot be written.
absl::Status WriteNewFile(const std::filesystem::path& path, std::string_view text);

// The same in place of what is there, which readers see whole or not at all.
absl::Status ReplaceFile(const std::filesystem::path& path, std::string_view text);

}  // namespace longreach::client
