// A file of a data set in the making.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "proto/base/sha256.h"
#include "proto/base/status.h"
#include "worker/data/files.h"
#include "worker/data/manifest.h"

namespace longreach::data {

// It may be written in small parts: they are gathered.
class HashedFile {
 public:
  // Begins it anew. Errors of OutputFile, here as below.
  static absl::StatusOr<HashedFile> Open(const std::filesystem::path& path);

  absl::Status Write(std::string_view bytes);
  // Syncs it and gives what the manifest says of it. The object is used up.
  absl::StatusOr<FileEntry> Close();

 private:
  HashedFile(std::string name, OutputFile out) : name_(std::move(name)), out_(std::move(out)) {}
  absl::Status Flush();

  std::string name_;
  OutputFile out_;
  std::string gathered_;
  Sha256 hash_;
  int64_t bytes_ = 0;
};

}  // namespace longreach::data
