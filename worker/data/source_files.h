// The files that an import is given: by themselves, or as what is below a folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/status.h"

namespace longreach::data {

// A zero byte within so many tells a file that is no text.
inline constexpr size_t kTextHead = 8192;

struct SourceFiles {
  // In the order of the sources; those of a folder ascending by path, byte by byte: the same on every machine.
  std::vector<std::filesystem::path> files = {};
  std::vector<size_t> of_source = {};  // How many of them each source has.
  // What the folders have besides, each with the reason: "b.txt.gz (gzip)"; where there are several sources, with all of its path. Hidden files
  // are not named.
  std::vector<std::string> left_out = {};
};

// Files, and the text files of folders: regular ones or links to such, not hidden, not packed (gzip, xz, ...), without a zero byte at their
// beginning. Links to folders are not followed there, and a link to a file that the folder has is left out. What begins with `also` is taken besides. A packed file that is given by itself is refused, but for a zip archive.
//
// NOT_FOUND, PERMISSION_DENIED, INVALID_ARGUMENT: no text in a folder, a file twice, a pipe or the like, a packed file.
absl::StatusOr<SourceFiles> FindSourceFiles(const std::vector<std::filesystem::path>& sources, std::string_view also = {});

// What all of these have, for an import's progress. Errors of the system.
absl::StatusOr<int64_t> SizeOfFiles(const std::vector<std::filesystem::path>& files);
// What a manifest says that it was made of: "a, b, c (test)".
std::string SourceText(const std::vector<std::filesystem::path>& sources, const std::vector<std::filesystem::path>& test_sources);

// As a manifest has it: of a folder with a million pictures in it that stays a file that is soon read. The first 1000, and how many more there are.
std::vector<std::string> LeftOutInManifest(std::vector<std::string> left_out);

bool IsZip(const std::filesystem::path& file);

}  // namespace longreach::data
