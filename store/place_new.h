// A finished file under a name that nobody has.
#pragma once

#include <filesystem>

namespace longreach::store {

// What the system is asked for, in this order until one of the first three is known there; each sets errno. A file system may not have them all: FAT, exFAT and some that come
// over a network have no links, and NFS and most of those that are programs (FUSE) cannot rename so.
struct PlacingCalls {
  int (*link)(const char* made, const char* target);
  int (*rename_to_new)(const char* made, const char* target);    // Fails where `target` is there.
  int (*symbolic_link)(const char* name, const char* target);
  int (*rename)(const char* made, const char* target);           // Onto what holds the name.
};
PlacingCalls SystemCalls();

// Gives `made`, a file in the folder of `target`, that name, and never replaces a file that somebody else has made there meanwhile: 0, or the error's number (EEXIST: there
// is one). `made` is gone then, or as it was.
//
// At each moment there is nothing under the name, or what leads to all of `made`; a process that is killed leaves it so. Only where a file system has none of the three, a
// file stands there for a moment that says that it is not the copy: nobody takes it for a database, and an empty one, which would be taken for a new store, is there no
// longer than it takes to write that line.
int PlaceNew(const std::filesystem::path& made, const std::filesystem::path& target, const PlacingCalls& calls = SystemCalls());

}  // namespace longreach::store
