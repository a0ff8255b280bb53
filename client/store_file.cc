#include "client/store_file.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace longreach::client {

bool IsStoreFile(const std::string& word) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(word, error)) return false;
  if (word.ends_with(".db")) return true;
  constexpr std::string_view kBegin = "SQLite format 3";
  std::array<char, kBegin.size()> begin{};
  std::ifstream file(word, std::ios::binary);
  return file.read(begin.data(), begin.size()) && std::string_view(begin.data(), begin.size()) == kBegin;
}

}  // namespace longreach::client
