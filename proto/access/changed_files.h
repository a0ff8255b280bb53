// Files that others replace while a program uses them, one after the other: when they have changed, and whether they are whole again.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "proto/access/file_stamp.h"
#include "proto/base/status.h"

namespace longreach::access {

class ChangedFiles {
 public:
  // Reads and checks all of them. Unless it is OK, what was read before stays in use.
  using Take = std::function<absl::Status()>;

  // An empty path is none.
  explicit ChangedFiles(std::vector<std::filesystem::path> paths);

  // The first time.
  absl::Status Begin(const Take& take);
  // Takes them up if they have changed since that last was OK. Returns what is wrong with the change, for whoever keeps the files: once, and only when it
  // is so at two looks in a row, for between two renames it may be wrong for a moment. Else empty.
  std::string Look(const Take& take);

 private:
  std::vector<FileStamp> StampsNow() const;

  std::vector<std::filesystem::path> paths_;
  std::vector<FileStamp> good_;  // As they were when they were taken up.
  std::string wrong_;            // With what there was at the last look.
  std::string told_;             // And is still so.
};

}  // namespace longreach::access
