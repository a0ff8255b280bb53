#include "store/place_new.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace longreach::store {
namespace {

bool IsOfFileSystem(int error) { return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK; }

}  // namespace

int PlaceNew(const std::filesystem::path& made, const std::filesystem::path& target, int (*link)(const char*, const char*)) {
  // Not renamed: link() never replaces a file.
  if (link(made.c_str(), target.c_str()) == 0) {
    unlink(made.c_str());
    return 0;
  }
  if (!IsOfFileSystem(errno)) return errno;
  // An empty file of our own holds the name: that one may be replaced.
  const int held = open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (held < 0) return errno;
  close(held);
  if (std::rename(made.c_str(), target.c_str()) == 0) return 0;
  const int error = errno;
  unlink(target.c_str());
  return error;
}

}  // namespace longreach::store
