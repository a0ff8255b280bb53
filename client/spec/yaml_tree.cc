#include "client/spec/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <optional>
#include <sstream>

#include "client/errors.h"
#include "client/output/text.h"

namespace longreach::client {
namespace {

constexpr size_t kMaxNodes = 1'000'000;

// Ends yaml-cpp's parse from within an event; caught in Parse() below.
struct Refused {
  absl::Status status;
};

YamlPlace PlaceOf(const YAML::Mark& mark) { return {.line = mark.line + 1, .column = mark.column + 1}; }

}  // namespace

class YamlTreeBuilder final : public YAML::EventHandler {
 public:
  explicit YamlTreeBuilder(YamlTree& tree) : tree_(tree) {}

  bool empty() const { return !root_.has_value(); }
  int root() const { return *root_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(YamlNode{.kind = YamlNode::Kind::kNull, .place = PlaceOf(mark)}, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto at = anchors_.find(anchor);
    // An anchor is known once its node is complete: a node cannot contain itself.
    if (at == anchors_.end()) Refuse(PlaceOf(mark), "an alias inside of its own anchor");
    Attach(at->second, PlaceOf(mark));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    RefuseTag(mark, tag);
    Add(YamlNode{.kind = YamlNode::Kind::kScalar, .place = PlaceOf(mark), .text = value}, anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    RefuseTag(mark, tag);
    Open(YamlNode{.kind = YamlNode::Kind::kSequence, .place = PlaceOf(mark)}, anchor);
  }
  void OnSequenceEnd() override { Close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    RefuseTag(mark, tag);
    Open(YamlNode{.kind = YamlNode::Kind::kMapping, .place = PlaceOf(mark)}, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct OpenNode {
    int index;
    YAML::anchor_t anchor;
    std::optional<YamlNode::Entry> key = {};  // A mapping's key that waits for its value.
    std::map<std::string, int> lines = {};    // Where each key of a mapping was given.
  };

  [[noreturn]] void Refuse(YamlPlace place, std::string_view message, std::string_view hint = {}) {
    throw Refused{tree_.ErrorAt(place, message, hint)};
  }

  void RefuseTag(const YAML::Mark& mark, const std::string& tag) {
    // "?" and "!" are what yaml-cpp calls plain and quoted scalars without a tag.
    if (!tag.empty() && tag != "?" && tag != "!") {
      Refuse(PlaceOf(mark), fmt::format("tag '{}' is not understood here", Printable(tag)),
             "leave it out: a value has the type of its field");
    }
  }

  int Append(YamlNode node) {
    if (tree_.nodes_.size() >= kMaxNodes) {
      Refuse(node.place, fmt::format("more than {} values in one file", kMaxNodes),
             "write long lists as ranges: 0..999");
    }
    tree_.nodes_.push_back(std::move(node));
    return static_cast<int>(tree_.nodes_.size()) - 1;
  }

  void Add(YamlNode node, YAML::anchor_t anchor) {
    const YamlPlace place = node.place;
    const int index = Append(std::move(node));
    if (anchor != 0) anchors_[anchor] = index;
    Attach(index, place);
  }

  // Makes a finished or just opened node the next value of the innermost open one.
  void Attach(int index, YamlPlace place) {
    if (open_.empty()) {
      root_ = index;
      return;
    }
    OpenNode& parent = open_.back();
    YamlNode& parent_node = tree_.nodes_[parent.index];
    if (parent_node.kind == YamlNode::Kind::kSequence) {
      parent_node.items.push_back(index);
      return;
    }
    if (parent.key.has_value()) {
      parent.key->value = index;
      parent_node.entries.push_back(*std::move(parent.key));
      parent.key.reset();
      return;
    }
    const YamlNode& key = tree_.nodes_[index];
    if (key.kind != YamlNode::Kind::kScalar) Refuse(place, "a key must be a word");
    const auto [before, is_new] = parent.lines.emplace(key.text, place.line);
    if (!is_new) {
      Refuse(place, fmt::format("'{}' is given twice; the first is in line {}", Printable(key.text), before->second),
             // As of the second "000" of {steps: 1,000,000}.
             !key.text.empty() && key.text.find_first_not_of("0123456789") == std::string::npos ? "a number has no ',' in it; values are written [1, 2]" : "remove one of the two");
    }
    parent.key = YamlNode::Entry{.key = key.text, .key_place = place};
  }

  void Open(YamlNode node, YAML::anchor_t anchor) {
    const YamlPlace place = node.place;
    const int index = Append(std::move(node));
    Attach(index, place);
    open_.push_back(OpenNode{.index = index, .anchor = anchor});
  }

  void Close() {
    const OpenNode closed = std::move(open_.back());
    open_.pop_back();
    if (closed.anchor != 0) anchors_[closed.anchor] = closed.index;
  }

  YamlTree& tree_;
  std::optional<int> root_;
  std::vector<OpenNode> open_;
  std::map<YAML::anchor_t, int> anchors_;
};

absl::Status YamlTree::ErrorAt(YamlPlace place, std::string_view message, std::string_view hint) const {
  return UsageError(fmt::format("{}:{}:{}: {}", name_, place.line, place.column, message), hint);
}

namespace {

// What is mostly behind the words of the parser.
std::string_view HintOfBroken(std::string_view text, std::string_view words) {
  if (text.find('\t') != std::string_view::npos) return "there are tabs in this file; YAML is indented by spaces alone";
  if (words == YAML::ErrorMsg::MAP_VALUE) {
    return "a ':' is missing before this place, a text that has ': ' in it stands without quotes, or this line is indented too far";
  }
  if (words == YAML::ErrorMsg::FLOW_END) return "this bracket closes none that is open before it: '[' goes with ']', and '{' with '}'";
  if (words == YAML::ErrorMsg::END_OF_SEQ_FLOW) return "a '[' before this place is not closed";
  if (words == YAML::ErrorMsg::END_OF_MAP_FLOW) return "a '{' before this place is not closed";
  if (words == YAML::ErrorMsg::END_OF_MAP || words == YAML::ErrorMsg::END_OF_SEQ) {
    return "this line is indented otherwise than those it belongs to, or something stands behind a closed bracket or quote";
  }
  if (words == YAML::ErrorMsg::UNKNOWN_TOKEN) return "a text that begins with this character needs quotes";
  return "";
}

// To YAML a carriage return alone ends a line, too; to yaml-cpp it is a character of a word. In UTF-16, where each character of a key has a byte 0, it may be half of
// another one.
std::string WithPlainLineEnds(std::string_view text) {
  std::string plain(text);
  if (text.find('\0') != std::string_view::npos) return plain;
  for (size_t at = plain.find('\r'); at != std::string::npos; at = plain.find('\r', at + 1)) {
    if (at + 1 == plain.size() || plain[at + 1] != '\n') plain[at] = '\n';
  }
  return plain;
}

}  // namespace

absl::StatusOr<YamlTree> YamlTree::Parse(std::string_view text, std::string name) {
  YamlTree tree;
  tree.name_ = std::move(name);
  if (text.size() > kMaxBytes) {
    return UsageError(fmt::format("{}: a sweep file may have at most {} bytes", tree.name_, kMaxBytes),
                      "write long lists as ranges: 0..999");
  }
  YamlTreeBuilder builder(tree);
  try {
    std::istringstream stream{WithPlainLineEnds(text)};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder) || builder.empty()) {
      return UsageError(fmt::format("{}: the file is empty", tree.name_),
                        "'longreach list presets' names sweeps to start from");
    }
    tree.root_ = builder.root();
    YamlTree rest;
    rest.name_ = tree.name_;
    YamlTreeBuilder second(rest);
    if (parser.HandleNextDocument(second)) {
      return UsageError(fmt::format("{}: more than one YAML document", tree.name_),
                        "put each sweep into a file of its own");
    }
  } catch (const Refused& refused) {
    return refused.status;
  } catch (const YAML::Exception& e) {
    return tree.ErrorAt(PlaceOf(e.mark), fmt::format("not valid YAML: {}", Printable(e.msg)), HintOfBroken(text, e.msg));
  }
  if (tree.root().kind != YamlNode::Kind::kMapping) {
    return tree.ErrorAt(tree.root().place, "expected 'field: value' lines",
                        "see docs/reference/sweep-files.md");
  }
  return tree;
}

}  // namespace longreach::client
