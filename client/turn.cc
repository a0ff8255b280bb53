#include "client/turn.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace longreach::client {

bool Turn::IsOurs() {
  if (file_ < 0) file_ = open(store_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  return file_ < 0 || flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

Turn::~Turn() {
  if (file_ >= 0) close(file_);
}

}  // namespace longreach::client
