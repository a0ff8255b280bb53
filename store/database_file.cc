#include "store/database_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "proto/base/shell_word.h"

namespace longreach::store {

bool IsEmpty(const std::filesystem::path& file) {
  std::error_code error;
  return !std::filesystem::exists(file, error) || std::filesystem::file_size(file, error) == 0;
}

absl::Status RefuseWhatIsNoDatabase(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) {
    return absl::FailedPreconditionError(fmt::format("'{}' is a folder; name a file for the store", file.string()));
  }
  const std::filesystem::path folder = file.parent_path();
  if (!std::filesystem::exists(folder, error)) {
    return absl::NotFoundError(
        fmt::format("cannot make the store '{}': there is no folder '{}'; make it, or name another", file.string(), folder.string()));
  }
  // A pipe above all, as <(...) of a shell is one: whoever opened it would wait for its writer.
  if (std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error)) {
    return absl::DataLossError(fmt::format("'{}' is not a database but a pipe, a device or the like; name a file for the store", file.string()));
  }
  if (IsEmpty(file)) return absl::OkStatus();
  std::ifstream in(file, std::ios::binary);
  char start[16] = {};
  in.read(start, sizeof start);
  if (!in) {
    return access(file.c_str(), R_OK) != 0
               ? absl::PermissionDeniedError(fmt::format("cannot read '{}': {}", file.string(), std::strerror(errno)))
               : absl::DataLossError(fmt::format("'{}' is not a database; it was left as it is. Name another file for the store",
                                                 file.string()));
  }
  // The power went while SQLite made the file: its first bytes are not there yet, but the journal that takes all of it back is.
  constexpr char kNothing[sizeof start] = {};
  const bool cut_off = std::memcmp(start, kNothing, sizeof start) == 0 && std::filesystem::exists(file.string() + "-journal", error);
  if (!cut_off && std::memcmp(start, "SQLite format 3", sizeof start) != 0) {
    return absl::DataLossError(fmt::format("'{}' is not a database; it was left as it is. Name another file for the store",
                                           file.string()));
  }
  return absl::OkStatus();
}

absl::Status RefuseWhatMayNotBeWritten(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return absl::OkStatus();
  for (const std::filesystem::path& one : {file, file.parent_path()}) {
    if (faccessat(AT_FDCWD, one.c_str(), W_OK, AT_EACCESS) != 0) return MayNotBeWritten(file, fmt::format("{}: {}", one.string(), std::strerror(errno)));
  }
  return absl::OkStatus();
}

absl::Status MayNotBeWritten(const std::filesystem::path& file, const std::string& why) {
  return absl::PermissionDeniedError(
      fmt::format("the store '{0}' may not be written by this user ({1}): commands that only look read it all the same; to change it, ask its owner, or take all that is in it over into "
                  "a store of your own with 'longreach store merge {2} --store FILE'",
                  file.string(), why, ShellWord(file.string())));
}

}  // namespace longreach::store
