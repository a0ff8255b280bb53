// Folders that this installation writes to: whether it may, how much room there is, and on what kind of file system they lie.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "client/doctor/check.h"

namespace longreach::client {

// By what a kernel's statfs() calls it.
struct FileSystem {
  enum class Kind {
    kLocal,
    kMemory,   // Gone when the machine is switched off.
    kPassed,   // A program or a host stands behind it: a disk of its own, or a network.
    kNetwork,  // Other machines write there too.
  } kind = Kind::kLocal;
  std::string name;  // "nfs"; of one that is not known "0x1234".
};
FileSystem FileSystemOf(uint32_t magic);

struct FolderSeen {
  std::filesystem::path path;
  bool exists = false;
  bool is_folder = false;
  bool readable = false;  // Its names and the files in it.
  bool writable = false;
  bool can_be_made = true;  // Of one that is not there: in the nearest folder above it that is.
  // Of the file system; none: it did not say.
  std::optional<double> free_bytes = {};
  FileSystem file_system = {};
};
// As this user sees it.
FolderSeen LookAtFolder(const std::filesystem::path& path);

// A store's file and the folder that it lies in, or would.
struct StoreSeen {
  std::filesystem::path file;
  bool named = false;  // By the user; else it is the one that `longreach run` would take.
  bool exists = false;
  bool is_file = false;
  bool readable = false;
  bool writable = false;
  bool may_be_store = true;  // By its first bytes, where they are all in the file; no scheduler opens it.
  bool lacks_artifacts = false;  // Something is in it, and there is no folder of artifacts beside it, which every scheduler that opens it makes.
  FolderSeen folder;
};
StoreSeen LookAtStore(const std::filesystem::path& file, bool named);

// What was seen of room in a folder, as part of another check. `what`: what is written there. `without`: what it means that there is hardly any.
void AddRoom(const FolderSeen& folder, std::string_view what, Findings& findings, CheckState without = CheckState::kFailed);

// The check "store".
Check JudgeStore(const StoreSeen& store);

// The check "state_folder": that of the worker which `longreach run` starts, beside the store.
Check JudgeStateFolder(const FolderSeen& folder);

}  // namespace longreach::client
