#include "proto/base/name_order.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace longreach {

std::vector<std::pair<std::string, double>> NumberedWords(std::string_view name) {
  std::vector<std::pair<std::string, double>> words;
  while (!name.empty()) {
    const size_t begin = std::min(name.find_first_of("0123456789"), name.size());
    double number = 0;
    const std::from_chars_result read = std::from_chars(name.data() + begin, name.data() + name.size(), number);
    const bool is_number = read.ec == std::errc();
    words.emplace_back(name.substr(0, begin), is_number ? number : 0);
    // Digits that are too many for a number are text.
    name.remove_prefix(is_number ? static_cast<size_t>(read.ptr - name.data()) : name.size());
  }
  return words;
}

}  // namespace longreach
