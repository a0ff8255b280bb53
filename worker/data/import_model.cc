#include "worker/data/import_model.h"

#include "worker/data/data_folder.h"
#include "worker/data/files.h"
#include "worker/data/whole_files.h"

namespace longreach::data {

namespace fs = std::filesystem;

absl::StatusOr<Manifest> ImportModel(const ModelImport& wanted, Progress& progress) {
  RETURN_IF_ERROR(CheckName(wanted.name));
  Manifest manifest;
  manifest.kind = Kind::kModel;
  manifest.source = wanted.source.string();
  manifest.description = wanted.description;
  manifest.nope = wanted.nope;
  manifest.skipped = wanted.skipped;
  std::vector<WholeFile> files;
  for (const std::string& file : wanted.files) {
    std::error_code error;
    // A folder of the hub's cache holds links.
    files.push_back({.from = fs::canonical(wanted.source / file, error), .name = file});
    if (error) return SystemError("open", wanted.source / file, error.value());
  }
  return ImportWholeFiles(wanted.folder, wanted.name, files, wanted.link, [](size_t) { return absl::OkStatus(); }, manifest, progress);
}

}  // namespace longreach::data
