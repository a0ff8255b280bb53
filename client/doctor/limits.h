// What the system allows a process.
#pragma once

#include <cstdint>

#include "client/doctor/check.h"

namespace longreach::client {

struct OpenFilesLimit {
  uint64_t soft = 0;  // That holds.
  uint64_t hard = 0;  // That a process may raise it to.
};
// Of this process, and so of those that it starts.
OpenFilesLimit LookAtOpenFiles();

// The check "open_files".
Check JudgeOpenFiles(const OpenFilesLimit& limit);

}  // namespace longreach::client
