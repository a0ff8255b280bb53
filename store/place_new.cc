#include "store/place_new.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace longreach::store {
namespace {

bool IsOfFileSystem(int error) { return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK || error == EINVAL; }

int RenameToNew(const char* made, const char* target) { return renameat2(AT_FDCWD, made, AT_FDCWD, target, RENAME_NOREPLACE); }

}  // namespace

PlacingCalls SystemCalls() { return {.link = ::link, .rename_to_new = RenameToNew}; }

int PlaceNew(const std::filesystem::path& made, const std::filesystem::path& target, const PlacingCalls& calls) {
  // Neither replaces a file, and whoever looks finds none or all of it.
  if (calls.link(made.c_str(), target.c_str()) == 0) {
    unlink(made.c_str());
    return 0;
  }
  if (!IsOfFileSystem(errno)) return errno;
  if (calls.rename_to_new(made.c_str(), target.c_str()) == 0) return 0;
  if (!IsOfFileSystem(errno)) return errno;
  // An empty file of our own holds the name: that one may be replaced. Were this process killed here, it would be left.
  const int held = open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (held < 0) return errno;
  close(held);
  if (std::rename(made.c_str(), target.c_str()) == 0) return 0;
  const int error = errno;
  unlink(target.c_str());
  return error;
}

}  // namespace longreach::store
