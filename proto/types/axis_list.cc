#include "proto/types/axis_list.h"

#include <algorithm>

#include "proto/base/text.h"

namespace longreach {

std::vector<std::string> AxesIn(std::string_view list) {
  if (list.empty()) return {};
  std::vector<std::string> axes;
  for (const std::string& axis : Split(list, ',')) axes.emplace_back(Trim(axis));
  return axes;
}

bool HasAxis(std::string_view list, std::string_view axis) {
  const std::vector<std::string> axes = AxesIn(list);
  return std::ranges::find(axes, axis) != axes.end();
}

std::string JoinKeys(const std::vector<std::string>& keys) {
  if (keys.size() == 1) return keys.front();
  std::string joined;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) joined += ',';
    for (const char c : keys[i]) {
      if (c == ',' || c == '\\') joined += '\\';
      joined += c;
    }
  }
  return joined;
}

std::vector<std::string> SplitKeys(std::string_view key, size_t axes) {
  if (axes == 1) return {std::string(key)};
  std::vector<std::string> keys(1);
  for (size_t i = 0; i < key.size(); ++i) {
    if (key[i] == ',') {
      keys.emplace_back();
      continue;
    }
    if (key[i] == '\\' && i + 1 < key.size()) ++i;
    keys.back() += key[i];
  }
  keys.resize(axes);
  return keys;
}

}  // namespace longreach
