// All that a program did to its files, in order: what a power loss at any moment can be worked out from (disk_model.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longreach::faults {

struct Step {
  enum class Kind {
    kCreate,      // `path` names the new file `file`.
    kWrite,       // `bytes` at `offset` of `file`.
    kTruncate,    // `file` has `offset` bytes now.
    kSync,        // `file`.
    kMakeFolder,  // `path`.
    kSyncFolder,  // `path`: the names in it.
    kRename,      // `path` is called `to` now, instead of what was called so.
    kLink,        // `path` has the second name `to`.
    kRemove,      // `path` is gone.
    kSaid,        // Somebody was told that something is done: `offset` says how many such things by now.
  };
  Kind kind = Kind::kSaid;
  int64_t file = 0;
  int64_t offset = 0;
  std::string bytes = {};
  std::string path = {};
  std::string to = {};
};

// Steps below `folder` are kept from now on, with paths relative to it. Syncs are noted and left out, because nothing here loses
// power in earnest.
void StartTrace(std::string folder);
std::vector<Step> EndTrace();

// Whether steps are kept.
bool Tracing();
// Where a path lies in the traced folder; false: elsewhere.
bool InTrace(std::string_view path, std::string& relative);
// A number that stands for a file whatever it is called.
int64_t FileNumber(int fd);
int64_t FileNumber(const char* path);
void Note(Step step);

}  // namespace longreach::faults
