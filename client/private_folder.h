// A folder of this process's own, which its owner alone may look into, and which goes away with this and all that is in it: what breaks off
// leaves nothing behind.
#pragma once

#include <filesystem>
#include <string_view>

#include "proto/base/status.h"

namespace longreach::client {

// TMPDIR, else /tmp.
std::filesystem::path FolderOfTemporaryFiles();

class PrivateFolder {
 public:
  // In FolderOfTemporaryFiles(). FAILED_PRECONDITION: none can be made there.
  static absl::StatusOr<PrivateFolder> Temporary();
  // For files on their way to `target`, on its file system. FAILED_PRECONDITION: no folder can be made beside it.
  static absl::StatusOr<PrivateFolder> Beside(const std::filesystem::path& target);
  // Of this name, with letters of its own behind it. FAILED_PRECONDITION: why it cannot be made.
  static absl::StatusOr<PrivateFolder> Named(const std::filesystem::path& name);

  PrivateFolder(PrivateFolder&& other) noexcept;
  PrivateFolder& operator=(PrivateFolder&&) = delete;
  ~PrivateFolder() { Remove(); }

  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

  // Now.
  void Remove();

 private:
  explicit PrivateFolder(std::filesystem::path path);
  std::filesystem::path path_;
};

}  // namespace longreach::client
