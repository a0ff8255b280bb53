// A store's file, where it is taken for the name of what is in it.
#pragma once

#include <string>

namespace longreach::client {

// A file is there that is called *.db, or begins as SQLite's do.
bool IsStoreFile(const std::string& word);

}  // namespace longreach::client
