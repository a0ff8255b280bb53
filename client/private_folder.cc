#include "client/private_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "client/errors.h"
#include "client/output/text.h"

namespace longreach::client {

std::filesystem::path FolderOfTemporaryFiles() {
  std::error_code none;
  const std::filesystem::path named = std::filesystem::temp_directory_path(none);
  return none ? "/tmp" : named;
}

absl::StatusOr<PrivateFolder> PrivateFolder::Named(const std::filesystem::path& name) {
  std::string path = name.string() + "-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return absl::FailedPreconditionError(strerror(errno));
  return PrivateFolder(path);
}

absl::StatusOr<PrivateFolder> PrivateFolder::Temporary() {
  const std::filesystem::path parent = FolderOfTemporaryFiles();
  absl::StatusOr<PrivateFolder> folder = Named(parent / "longreach");
  if (folder.ok()) return folder;
  return Error(absl::StatusCode::kFailedPrecondition,
               fmt::format("no folder for temporary files can be made in '{}': {}", Printable(parent.string()), std::string(folder.status().message())),
               "set TMPDIR to a folder that can be written to");
}

absl::StatusOr<PrivateFolder> PrivateFolder::Beside(const std::filesystem::path& target) {
  absl::StatusOr<PrivateFolder> folder = Named(target.string() + ".part");
  if (folder.ok()) return folder;
  return Error(absl::StatusCode::kFailedPrecondition,
               fmt::format("cannot make a folder beside '{}': {}", Printable(target.string()), std::string(folder.status().message())),
               "is there a folder to write it into?");
}

PrivateFolder::PrivateFolder(std::filesystem::path path) : path_(std::move(path)) {}

PrivateFolder::PrivateFolder(PrivateFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

void PrivateFolder::Remove() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  path_.clear();
}

}  // namespace longreach::client
