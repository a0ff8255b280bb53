// Where the artifacts of a store lie, and which store a folder belongs to.
#pragma once

#include <filesystem>

#include "proto/base/status.h"
#include "store/sql/connection.h"

namespace longreach::store {

struct ArtifactsFolder {
  std::filesystem::path path;
  bool beside = true;  // It is FILE.artifacts; else the store has to say where it is,
  bool noted = false;  // and whose it is must be said in it.
};

// FILE.artifacts.
std::filesystem::path FolderBeside(const std::filesystem::path& store);

// The folder for `store`, whose file may not be there yet: `given`; if that is empty, what the store says in its row (schema 8), or FILE.artifacts
// beside it. A folder that the row names and that is away, or is another store's by now, gives way to one beside that is this store's own by its
// note: it moved with the file. `db`: the store, which may be of an older version; null: it is new. Nothing is written.
// FAILED_PRECONDITION: another store's folder; one with other things in it, where it is given and is nobody's; a folder of files for a new store; no folder where the row says.
absl::StatusOr<ArtifactsFolder> FindFolder(const std::filesystem::path& given, const std::filesystem::path& store, sql::Connection* db);

// FAILED_PRECONDITION: the folder is empty, or away though the store says that it is there, and the store names files in it.
absl::Status RefuseUnmounted(const ArtifactsFolder& folder, const std::filesystem::path& store, sql::Connection& db);

// The store says where its folder is, and the folder whose it is.
absl::Status KeepFolder(const ArtifactsFolder& folder, const std::filesystem::path& store, sql::Connection& db);

// Of a store of this version from which files are only read, though its folder may be that of a copy of it by now: each file has its hash.
// FAILED_PRECONDITION: there is no folder where the row says, nor beside.
absl::StatusOr<std::filesystem::path> FolderToRead(const std::filesystem::path& store, sql::Connection& db);

// A copy that goes elsewhere is of no folder.
absl::Status ForgetFolder(sql::Connection& db);

}  // namespace longreach::store
