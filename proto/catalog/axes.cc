#include "proto/catalog/axes.h"

#include <algorithm>

#include "proto/catalog/catalog.h"

namespace longreach::catalog {

const std::vector<std::string>& TableAxes() {
  static const std::vector<std::string> axes = [] {
    std::vector<std::string> all = {"encoding", "learning_rate", "length", "seed", "system", "task"};
    for (const SliceAxis& axis : SliceAxes()) all.emplace_back(axis.name);
    std::ranges::sort(all);
    return all;
  }();
  return axes;
}

}  // namespace longreach::catalog
