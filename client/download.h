// A folder for files of the scheduler's on their way, beside what is made of them and gone with this: what breaks off leaves nothing behind.
#pragma once

#include <filesystem>
#include <string_view>

#include "proto/base/status.h"

namespace longreach::client {

class Download {
 public:
  // FAILED_PRECONDITION: no folder can be made beside `target`.
  static absl::StatusOr<Download> Begin(const std::filesystem::path& target);
  Download(Download&& other) noexcept;
  Download& operator=(Download&&) = delete;
  ~Download();

  std::filesystem::path operator/(std::string_view name) const { return folder_ / name; }

 private:
  explicit Download(std::filesystem::path folder);
  std::filesystem::path folder_;
};

}  // namespace longreach::client
