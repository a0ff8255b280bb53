#include "client/absolute_path.h"

#include <fmt/format.h>

#include <system_error>

#include "client/errors.h"
#include "client/output/text.h"

namespace longreach::client {

absl::StatusOr<std::filesystem::path> AbsolutePath(std::string_view argument, const std::filesystem::path& path) {
  if (path.empty()) return UsageError(fmt::format("{}: is empty", argument), "write a path");
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (!error) return absolute;
  return Error(absl::StatusCode::kFailedPrecondition,
               fmt::format("{}: '{}' begins in the folder that this was called in, which cannot be named: {}", argument, Printable(path.string()), error.message()),
               "it may have been removed: go to another one with 'cd', or write a path that begins with '/'");
}

}  // namespace longreach::client
