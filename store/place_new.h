// A finished file under a name that nobody has.
#pragma once

#include <filesystem>

namespace longreach::store {

// Gives `made`, a file in the folder of `target`, that name, and never replaces a file that somebody else has made there meanwhile: 0, or the error's number (EEXIST: there
// is one). `made` is gone then, or as it was. `link` is the system's; another file system may not have it, as FAT, exFAT and some that come over a network.
int PlaceNew(const std::filesystem::path& made, const std::filesystem::path& target, int (*link)(const char*, const char*));

}  // namespace longreach::store
