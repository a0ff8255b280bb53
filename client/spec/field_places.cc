#include "client/spec/field_places.h"

#include <fmt/format.h>

#include <optional>

#include "client/errors.h"

namespace longreach::client {
namespace {

// What follows `name` and a '.'; nothing: the path goes on with another name.
std::optional<std::string_view> Behind(std::string_view path, std::string_view name) {
  if (name.empty() || !path.starts_with(name) || path.size() == name.size() || path[name.size()] != '.') return std::nullopt;
  return path.substr(name.size() + 1);
}

// What an element of a list of groups goes by.
std::string_view NameOf(const YamlTree& tree, const YamlNode& element) {
  for (const YamlNode::Entry& entry : element.entries) {
    if (entry.key == "name") return tree.node(entry.value).text;
  }
  return {};
}

std::optional<YamlPlace> Find(const YamlTree& tree, const YamlNode& group, std::string_view path) {
  for (const YamlNode::Entry& entry : group.entries) {
    const YamlNode& value = tree.node(entry.value);
    if (entry.key == path) return value.kind == YamlNode::Kind::kScalar || value.kind == YamlNode::Kind::kSequence ? value.place : entry.key_place;
    if (const auto rest = Behind(path, entry.key)) return Find(tree, value, *rest);
  }
  for (const int item : group.items) {
    const YamlNode& element = tree.node(item);
    const std::string_view name = NameOf(tree, element);
    if (!name.empty() && name == path) return element.place;
    const auto rest = Behind(path, name);
    if (!rest.has_value()) continue;
    // A name may have dots: another element's may be longer.
    if (const std::optional<YamlPlace> place = Find(tree, element, *rest)) return place;
  }
  return std::nullopt;
}

// The text up to ": "; nothing: it has none.
std::optional<std::string_view> FirstWords(std::string_view text) {
  const size_t end = text.find(": ");
  return end == std::string_view::npos ? std::nullopt : std::optional(text.substr(0, end));
}

}  // namespace

absl::Status FieldPlaces::WithPlace(const absl::Status& refusal) const {
  if (tree_ == nullptr || refusal.code() != absl::StatusCode::kInvalidArgument) return refusal;
  const std::string message = SplitError(refusal).message;
  const std::optional<std::string_view> field = FirstWords(message);
  if (!field.has_value()) return refusal;
  // "systems.yarn: training.steps: ..." is of the sweep as this system has it: its own value, else the sweep's.
  const std::optional<std::string_view> of_system = FirstWords(std::string_view(message).substr(field->size() + 2));
  if (!field->starts_with("systems.") || !of_system.has_value()) return WithPlaceOf(*field, refusal);
  const std::string own = fmt::format("{}.with.{}", *field, *of_system);
  if (!Holds(own)) return refusal;
  if (Find(*tree_, tree_->root(), own).has_value()) return WithPlaceOf(own, refusal);
  return WithPlaceOf(*of_system, refusal);
}

absl::Status FieldPlaces::WithPlaceOf(std::string_view path, const absl::Status& refusal) const {
  const std::optional<YamlPlace> place = Find(*tree_, tree_->root(), path);
  if (!place.has_value() || !Holds(path)) return refusal;
  const ErrorText text = SplitError(refusal);
  return tree_->ErrorAt(*place, text.message, text.hint);
}

}  // namespace longreach::client
