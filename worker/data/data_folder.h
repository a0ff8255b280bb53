// The folder in which a machine's data sets lie: DATA/NAME/manifest.json and the files that it names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "proto/base/status.h"
#include "worker/data/manifest.h"

namespace longreach::data {

// $LONGREACH_DATA, else $XDG_DATA_HOME/longreach/data, else ~/.local/share/longreach/data, else ./longreach-data.
std::filesystem::path DefaultDataFolder();

// Letters, digits, '-', '_' and '.', at most 64, not beginning with '.'. INVALID_ARGUMENT otherwise.
absl::Status CheckName(const std::string& name);

// The names of the data sets in the folder, usable or not, ascending.
std::vector<std::string> DataSetNames(const std::filesystem::path& folder);

// The manifest of a data set whose files are there with their sizes. Errors as TextCorpus::Open(); of one that is not there the nearest name is told.
absl::StatusOr<Manifest> ReadDataSet(const std::filesystem::path& folder, const std::string& name);

// ReadDataSet(), and refuses one whose identity is not `sha256` (empty: any), or a model that has files beside those of its import: FAILED_PRECONDITION.
// INVALID_ARGUMENT: it is of another kind, as is every data set with its identity. DATA_LOSS: a file was written after the import, with other bytes.
absl::StatusOr<Manifest> ReadDataSet(const std::filesystem::path& folder, const std::string& name, const std::string& sha256, Kind kind);

// All bytes of a data set were compared with its import, by whoever says this, while it had this stamp (data_stamp.h): this process does not read them for that again.
void TakeAsVerified(const std::string& stamp);

// What is in the folder, ascending by name. A folder that is not there has nothing in it.
struct DamagedSet {
  std::string name;
  std::string reason;

  std::string Text() const { return name + ": " + reason; }
};
struct Listing {
  std::vector<Manifest> data_sets;
  std::vector<DamagedSet> damaged;  // Those that cannot be used.
  absl::Status status = absl::OkStatus();  // An error: the folder itself cannot be read, and may have more than is named here.
};
Listing ListDataSets(const std::filesystem::path& folder);

// INVALID_ARGUMENT: it is something else than a folder. One that is not there yet is made by the first import.
absl::Status CheckDataFolder(const std::filesystem::path& folder);

// DATA_LOSS, with what to do: `sha256`, that of a file's bytes now, is not that of its import.
absl::Status CheckHash(const std::filesystem::path& folder, const std::string& name, const FileEntry& entry, const std::string& sha256);

// Reads all files of a data set and compares their hashes. DATA_LOSS names the first file that is not as it was written, FAILED_PRECONDITION one
// that was not imported.
absl::Status CheckDataSet(const std::filesystem::path& folder, const std::string& name);

}  // namespace longreach::data
