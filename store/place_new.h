// A finished file under a name that nobody has.
#pragma once

#include <filesystem>

namespace longreach::store {

// What the system is asked for, in this order; each sets errno. A file system may not have them all: FAT, exFAT and some that come over a network have no links, and
// NFS cannot rename so.
struct PlacingCalls {
  int (*link)(const char* made, const char* target);
  int (*rename_to_new)(const char* made, const char* target);  // Fails where `target` is there.
};
PlacingCalls SystemCalls();

// Gives `made`, a file in the folder of `target`, that name, and never replaces a file that somebody else has made there meanwhile: 0, or the error's number (EEXIST: there
// is one). `made` is gone then, or as it was.
int PlaceNew(const std::filesystem::path& made, const std::filesystem::path& target, const PlacingCalls& calls = SystemCalls());

}  // namespace longreach::store
