// Files for tests of data sets.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "tests/support/status.h"
#include "tests/support/temporary_folder.h"

namespace longreach::data {

inline void Write(const std::filesystem::path& file, std::string_view bytes) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
}

inline std::string Read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::string Golden(const std::string& name) { return Read(std::filesystem::path(LONGREACH_GOLDEN) / name); }

// Names in a folder, hidden ones too; what an import may leave behind.
inline std::string NamesIn(const std::filesystem::path& folder) {
  std::string names;
  if (!std::filesystem::exists(folder)) return names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names += entry.path().filename().string() + " ";
  return names;
}

}  // namespace longreach::data
