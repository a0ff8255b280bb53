// What a user may do who has no rights here but those of everybody. Tests may run as root, whom no file's mode binds.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace longreach::testing {

// While it lives, root is another user; anybody else is bound by modes as he is.
class OtherUser {
 public:
  OtherUser() : was_root_(geteuid() == 0) {
    if (was_root_ && seteuid(65534) != 0) std::abort();
  }
  ~OtherUser() {
    if (was_root_ && seteuid(0) != 0) std::abort();
  }
  OtherUser(const OtherUser&) = delete;
  OtherUser& operator=(const OtherUser&) = delete;

 private:
  const bool was_root_;
};

// While it lives, a folder and all that was in it may be read by everybody and written by nobody.
class ReadOnly {
 public:
  explicit ReadOnly(const std::filesystem::path& folder) : folder_(folder) {
    using enum std::filesystem::perms;
    Set(owner_read | group_read | others_read, owner_exec | group_exec | others_exec);
  }
  ~ReadOnly() {
    using enum std::filesystem::perms;
    Set(owner_read | owner_write, owner_exec);
  }
  ReadOnly(const ReadOnly&) = delete;
  ReadOnly& operator=(const ReadOnly&) = delete;

 private:
  void Set(std::filesystem::perms mode, std::filesystem::perms of_folders) const {
    // The outer folders first, which have to be writable, or at least open, for what is in them.
    std::filesystem::permissions(folder_, mode | of_folders);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
      std::filesystem::permissions(entry.path(), entry.is_directory() ? mode | of_folders : mode);
    }
  }

  const std::filesystem::path folder_;
};

}  // namespace longreach::testing
