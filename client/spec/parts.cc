#include "client/spec/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "client/errors.h"
#include "client/output/text.h"
#include "client/spec/field_parser.h"
#include "client/spec/table_order.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

constexpr size_t kMaxParts = 100;
constexpr std::string_view kFormOfPart = "a part is '- {sweep: NAME, set: [PATH=VALUE]}'";

absl::StatusOr<std::string> ReadText(const YamlTree& tree, const YamlNode& value, std::string_view path) {
  if (value.kind == YamlNode::Kind::kScalar && !Trim(value.text).empty()) return value.text;
  return tree.ErrorAt(value.place, fmt::format("{}: expected a text", path), kFormOfPart);
}

absl::StatusOr<SweepSource> ReadPart(const YamlTree& tree, const YamlNode& part) {
  if (part.kind != YamlNode::Kind::kMapping) return tree.ErrorAt(part.place, "parts: expected fields", kFormOfPart);
  SweepSource source;
  for (const YamlNode::Entry& entry : part.entries) {
    const YamlNode& value = tree.node(entry.value);
    if (entry.key == "sweep") {
      ASSIGN_OR_RETURN(source.spec, ReadText(tree, value, "parts.sweep"));
    } else if (entry.key == "set") {
      if (value.kind != YamlNode::Kind::kSequence) return tree.ErrorAt(value.place, "parts.set: expected a list", kFormOfPart);
      for (const int item : value.items) {
        ASSIGN_OR_RETURN(source.overrides.emplace_back(), ReadText(tree, tree.node(item), "parts.set"));
      }
    } else {
      return tree.ErrorAt(entry.key_place, fmt::format("unknown field '{}'", Printable(entry.key)),
                          JoinHints(DidYouMean(entry.key, {"sweep", "set"}), kFormOfPart));
    }
  }
  if (source.spec.empty()) return tree.ErrorAt(part.place, "parts: names no sweep", kFormOfPart);
  return source;
}

std::string_view PathOf(std::string_view override_argument) { return Trim(override_argument.substr(0, override_argument.find('='))); }

// What a part sets, but for what is set from outside.
std::vector<std::string> Merge(const std::vector<std::string>& own, const std::vector<std::string>& outer) {
  std::set<std::string_view> paths;
  for (const std::string& one : outer) paths.insert(PathOf(one));
  std::vector<std::string> merged;
  for (const std::string& one : own) {
    if (!paths.contains(PathOf(one))) merged.push_back(one);
  }
  merged.insert(merged.end(), outer.begin(), outer.end());
  return merged;
}

// A preset's name stays one; another path than one from the root begins where the file lies.
std::string SpecOfPart(const std::string& spec, const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  return LooksLikePath(spec) && !folder.empty() ? (folder / spec).string() : spec;
}

// Where what a title tells of was set, of the sweep or of a system or an input of it, the usual one stands, which says what is there.
void DropTitleOfOtherSettings(const std::vector<std::string>& overrides, SweepFile& file) {
  v1::SweepSpec spec = file.spec;  // Looking for a field makes the groups that it is in.
  const auto field_at = [&spec](std::string_view path) {
    const absl::StatusOr<FieldRef> found = FindField(path, spec);
    return found.ok() ? found->field : nullptr;
  };
  std::set<const google::protobuf::FieldDescriptor*> told;
  for (const std::string& path : file.title_depends_on) told.insert(field_at(path));
  if (std::ranges::any_of(overrides, [&](const std::string& one) { return told.contains(field_at(PathOf(one))); })) file.table.clear_title();
}

bool HasInputsAnywhere(const v1::SweepSpec& spec) {
  return !spec.inputs().empty() || std::ranges::any_of(spec.systems(), [](const v1::System& system) { return !system.with().inputs().empty(); });
}

// Whether this system of the file has a value of its own there.
bool SaysItself(v1::System system, std::string_view path) {
  const absl::StatusOr<FieldRef> found = FindField(path, *system.mutable_with());
  if (!found.ok()) return false;
  const google::protobuf::Reflection& of = *found->message->GetReflection();
  return found->field->is_repeated() ? of.FieldSize(*found->message, found->field) > 0 : of.HasField(*found->message, found->field);
}

// Where each system of a file says something itself, the sweep's value changes no job, and the results that are there would be taken for those of that value.
// Jobs behind inputs have what the sweep says.
absl::Status CheckChangesJobs(const std::vector<std::string>& overrides, const v1::SweepSpec& of_file) {
  if (of_file.systems().empty() || HasInputsAnywhere(of_file)) return absl::OkStatus();
  for (const std::string& one : overrides) {
    const std::string_view path = PathOf(one);
    if (!std::ranges::all_of(of_file.systems(), [&](const v1::System& system) { return SaysItself(system, path); })) continue;
    return UsageError(fmt::format("--set {}: each system of the sweep has a value of its own, so that this one would change nothing", Printable(path)),
                      "set that of a system ('--set systems.NAME.with.PATH=VALUE', where an axis is axes.seed or the like), or take it out of the file's systems");
  }
  return absl::OkStatus();
}

absl::StatusOr<LoadedSweep> LoadOne(SweepSource source, SweepFile file) {
  RETURN_IF_ERROR(ApplyOverrides(source.overrides, file));
  DropTitleOfOtherSettings(source.overrides, file);
  std::vector<std::string> own_systems;
  for (const v1::System& system : file.spec.systems()) own_systems.push_back(system.name());
  RETURN_IF_ERROR(CrossGrid(file.grid, file.spec));
  ListCrossedSystems(own_systems, file.spec, file.table);
  return LoadedSweep{.file = std::move(file), .source = std::move(source)};
}

// An error of what a part sets is told as the file has it: the user gave no such --set.
std::string AsWritten(const std::string& message, const std::vector<std::string>& own, const std::vector<std::string>& outer) {
  constexpr std::string_view kOption = "--set ";
  const auto is_of = [&](const std::string& one) { return message.starts_with(fmt::format("{}{}:", kOption, PathOf(one))); };
  const bool is_own = std::ranges::any_of(own, is_of) && std::ranges::none_of(outer, is_of);
  return is_own ? fmt::format("set: {}", message.substr(kOption.size())) : message;
}

// The part as its file has it: its number, from 1 on, and its sweep.
absl::StatusOr<LoadedSweep> LoadPart(size_t number, const SweepSource& part, const SweepSource& whole) {
  const std::string spec = SpecOfPart(part.spec, whole.spec);
  const auto refuse = [&](const absl::Status& status) {
    const auto [message, hint] = SplitError(status);
    return Error(status.code(), fmt::format("{}: part {}, '{}': {}", Printable(whole.spec), number, Printable(part.spec), AsWritten(message, part.overrides, whole.overrides)),
                 hint);
  };
  absl::StatusOr<SweepFile> file = LoadSweep(spec, std::filesystem::path(whole.spec).parent_path());
  if (!file.ok()) return refuse(file.status());
  if (!file->parts.empty()) return refuse(UsageError("it has parts itself", "name those"));
  absl::StatusOr<LoadedSweep> sweep = LoadOne({.spec = spec, .overrides = Merge(part.overrides, whole.overrides)}, *std::move(file));
  if (!sweep.ok()) return refuse(sweep.status());
  return sweep;
}

}  // namespace

absl::StatusOr<std::vector<SweepSource>> ReadParts(const YamlTree& tree, const YamlNode& list) {
  if (list.kind != YamlNode::Kind::kSequence) return tree.ErrorAt(list.place, "parts: expected a list", kFormOfPart);
  if (list.items.empty()) return tree.ErrorAt(list.place, "parts: a list without a part", kFormOfPart);
  if (list.items.size() > kMaxParts) {
    return tree.ErrorAt(list.place, fmt::format("parts: {} of them; at most {}", list.items.size(), kMaxParts));
  }
  std::vector<SweepSource> parts;
  for (const int item : list.items) {
    ASSIGN_OR_RETURN(parts.emplace_back(), ReadPart(tree, tree.node(item)));
  }
  return parts;
}

absl::StatusOr<std::vector<LoadedSweep>> LoadSweeps(const SweepSource& source) {
  ASSIGN_OR_RETURN(SweepFile file, LoadSweep(source.spec));
  std::vector<LoadedSweep> sweeps;
  if (file.parts.empty()) {
    const v1::SweepSpec of_file = file.spec;
    ASSIGN_OR_RETURN(sweeps.emplace_back(), LoadOne(source, std::move(file)));
    RETURN_IF_ERROR(CheckChangesJobs(source.overrides, of_file));
    return sweeps;
  }
  std::set<std::string> names;
  for (size_t i = 0; i < file.parts.size(); ++i) {
    ASSIGN_OR_RETURN(sweeps.emplace_back(), LoadPart(i + 1, file.parts[i], source));
    if (const std::string& name = sweeps.back().file.spec.name(); !names.insert(name).second) {
      return UsageError(fmt::format("parts of '{}': two have the name '{}'", Printable(source.spec), Printable(name)),
                        "give each a name of its own: 'set: [name=NAME]' in the part");
    }
  }
  return sweeps;
}

absl::Status InPart(const absl::Status& status, const LoadedSweep& part) {
  const auto [message, hint] = SplitError(status);
  return Error(status.code(), fmt::format("part '{}': {}", Printable(part.file.spec.name()), message), hint);
}

}  // namespace longreach::client
