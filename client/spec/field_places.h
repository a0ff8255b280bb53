// Where the fields of a sweep stand in its file: what the scheduler refuses is told with that, as what the reader of the file refuses is.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "client/spec/yaml_tree.h"
#include "proto/base/status.h"

namespace longreach::client {

class FieldPlaces {
 public:
  FieldPlaces() = default;  // Of no file: there are none.
  explicit FieldPlaces(std::shared_ptr<const YamlTree> tree) : tree_(std::move(tree)) {}

  // What the file says of the field of this path ("axes.seed") does not hold: --set has another value.
  void Forget(const std::string& path) { forgotten_.insert(path); }

  // A refusal that begins with the path of a field ("training.steps: -3 is below 0"), with the file, line and column of that in front. As it
  // is where the field does not stand in the file, where what stands there does not hold, and where the refusal is none of a field.
  absl::Status WithPlace(const absl::Status& refusal) const;

 private:
  absl::Status WithPlaceOf(std::string_view path, const absl::Status& refusal) const;
  bool Holds(std::string_view path) const { return !forgotten_.contains(path); }

  std::shared_ptr<const YamlTree> tree_;
  std::set<std::string, std::less<>> forgotten_;
};

}  // namespace longreach::client
