// A text corpus from files.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "proto/base/status.h"
#include "worker/data/manifest.h"
#include "worker/data/progress.h"

namespace longreach::data {

struct TextImport {
  std::filesystem::path folder = {};                // The data folder.
  std::string name = {};
  std::vector<std::filesystem::path> sources = {};  // As OpenSource() takes them.
  // Per cent of the bytes for training, validation and test, from the front; they add up to 100.
  std::array<int, 3> split = {90, 5, 5};
};

// Writes the corpus and returns its manifest. An import of the same files that was interrupted is continued. What was left out of folders
// is all named in what is returned, and up to 1000 in the file.
//
// Under the name of a corpus that everybody knows (enwik8), the bytes must be its bytes.
// ALREADY_EXISTS, and the errors of OpenSource(); INVALID_ARGUMENT: too few bytes to split; FAILED_PRECONDITION: not the bytes
// that the name stands for.
absl::StatusOr<Manifest> ImportText(const TextImport& wanted, Progress& progress);

// A corpus that the whole field knows by its name.
struct KnownText {
  std::string_view name;
  int64_t bytes;
  std::string_view sha256;  // Of the file.
  std::array<int, 3> split;
};
std::optional<KnownText> FindKnownText(std::string_view name);

}  // namespace longreach::data
