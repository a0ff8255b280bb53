// A YAML file as it was written: every scalar as its text, every node with its place. Nothing is guessed:
// what a scalar means is decided by the field that it is for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/base/status.h"

namespace longreach::client {

struct YamlPlace {
  int line = 0;    // From 1.
  int column = 0;  // From 1.
};

struct YamlNode {
  enum class Kind { kNull, kScalar, kSequence, kMapping };
  struct Entry {
    std::string key;
    YamlPlace key_place;
    int value = 0;
  };

  Kind kind = Kind::kNull;
  YamlPlace place;
  std::string text = {};            // kScalar.
  std::vector<int> items = {};      // kSequence.
  std::vector<Entry> entries = {};  // kMapping.
};

// Nodes are named by their index; an alias is the index of its anchor, so nothing is copied.
class YamlTree {
 public:
  static constexpr size_t kMaxBytes = 16 << 20;

  // `name` is what error messages call the file: "NAME:LINE:COLUMN: what is wrong".
  // INVALID_ARGUMENT: not YAML, no mapping at the top, a key given twice, a key that is no scalar, tags,
  // several documents, more than 16 MiB or a million nodes.
  static absl::StatusOr<YamlTree> Parse(std::string_view text, std::string name);

  const YamlNode& root() const { return nodes_[root_]; }
  const YamlNode& node(int index) const { return nodes_[index]; }

  // An error at a place of this file.
  absl::Status ErrorAt(YamlPlace place, std::string_view message, std::string_view hint = {}) const;

 private:
  friend class YamlTreeBuilder;

  std::string name_;
  std::vector<YamlNode> nodes_;
  int root_ = 0;
};

}  // namespace longreach::client
