#include "client/download.h"

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

absl::StatusOr<Download> Download::Begin(const std::filesystem::path& target) {
  std::string name = target.string() + ".download-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    return Error(absl::StatusCode::kFailedPrecondition, fmt::format("cannot make a folder beside '{}': {}", Printable(target.string()), strerror(errno)),
                 "is there a folder to write it into?");
  }
  return Download(name);
}

Download::Download(std::filesystem::path folder) : folder_(std::move(folder)) {}

Download::Download(Download&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}

Download::~Download() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

}  // namespace longreach::client
