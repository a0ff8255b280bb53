#include "store/place_new.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <iterator>
#include <string_view>

namespace longreach::store {
namespace {

bool IsOfFileSystem(int error) { return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK || error == EINVAL; }

// A file that says what it is, should this process be killed before the copy takes its place.
int HoldName(const std::filesystem::path& target) {
  constexpr std::string_view kNotice = "Not the copy that was to be here: it was ended while it got its name. Remove this file.\n";
  const int held = open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (held < 0) return errno;
  const ssize_t written = write(held, kNotice.data(), kNotice.size());
  const int error = written < 0 ? errno : written < std::ssize(kNotice) ? ENOSPC : 0;
  close(held);
  if (error != 0) unlink(target.c_str());
  return error;
}

int RenameToNew(const char* made, const char* target) { return renameat2(AT_FDCWD, made, AT_FDCWD, target, RENAME_NOREPLACE); }

}  // namespace

PlacingCalls SystemCalls() { return {.link = ::link, .rename_to_new = RenameToNew, .symbolic_link = ::symlink, .rename = std::rename}; }

int PlaceNew(const std::filesystem::path& made, const std::filesystem::path& target, const PlacingCalls& calls) {
  // Neither replaces a file, and whoever looks finds none or all of it.
  if (calls.link(made.c_str(), target.c_str()) == 0) {
    unlink(made.c_str());
    return 0;
  }
  if (!IsOfFileSystem(errno)) return errno;
  if (calls.rename_to_new(made.c_str(), target.c_str()) == 0) return 0;
  if (!IsOfFileSystem(errno)) return errno;
  // What of our own holds the name may be replaced. Through a link, whoever looks finds all of the file already.
  if (calls.symbolic_link(made.filename().c_str(), target.c_str()) != 0) {
    if (!IsOfFileSystem(errno)) return errno;
    if (const int error = HoldName(target); error != 0) return error;
  }
  if (calls.rename(made.c_str(), target.c_str()) == 0) return 0;
  const int error = errno;
  unlink(target.c_str());
  return error;
}

}  // namespace longreach::store
