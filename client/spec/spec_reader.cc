#include "client/spec/spec_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <utility>

#include "client/errors.h"
#include "client/output/text.h"
#include "client/spec/field_parser.h"
#include "client/spec/field_paths.h"
#include "client/spec/meant_field.h"
#include "client/spec/parts.h"
#include "client/spec/table_order.h"
#include "client/store_file.h"
#include "proto/base/names.h"
#include "proto/base/text.h"
#include "proto/catalog/catalog.h"

namespace longreach::client {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Aliases make a small file large when it is walked: no more values than this are read from one file.
constexpr int kMaxVisits = 2'000'000;

// The path to a field of this name somewhere below `message`, or "".
std::string PathBelow(const Descriptor& message, const std::string& name) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (field.message_type() == nullptr || field.is_repeated()) continue;
    if (field.message_type()->FindFieldByName(name) != nullptr) return field.name();
    if (const std::string below = PathBelow(*field.message_type(), name); !below.empty()) {
      return field.name() + "." + below;
    }
  }
  return "";
}

bool HasDigits(std::string_view text, size_t least) { return text.size() >= least && text.size() <= 3 && text.find_first_not_of("0123456789") == std::string_view::npos; }

// Within braces a ',' ends a value, and what stands behind it is a field without one to YAML: "{steps: 10,000}", "{seed: 0, 1}". What to write where the entry at `at`, which is no
// field of `type`, is such a one; else empty.
std::string HintOfComma(const YamlTree& tree, const YamlNode& mapping, size_t at, const Descriptor& type) {
  constexpr size_t kMostShown = 200;
  if (at == 0) return "";
  const YamlNode::Entry& before = mapping.entries[at - 1];
  const YamlNode& value = tree.node(before.value);
  if (value.kind != YamlNode::Kind::kScalar) return "";
  std::string list = value.text, number = value.text;
  bool is_number = HasDigits(value.text, 1), is_list = true;
  const size_t first = at;
  for (; at < mapping.entries.size(); ++at) {
    const YamlNode::Entry& entry = mapping.entries[at];
    // Outside of braces each field has a line of its own.
    const bool is_bare = tree.node(entry.value).kind == YamlNode::Kind::kNull && entry.key_place.line == value.place.line;
    if (!is_bare || type.FindFieldByName(entry.key) != nullptr) break;
    if (list.size() < kMostShown) list += ", " + entry.key;
    if (number.size() < kMostShown) number += entry.key;
    is_number = is_number && HasDigits(entry.key, 3);
    is_list = is_list && !(entry.key.size() > 1 && HasDigits(entry.key, 2) && entry.key.front() == '0');
  }
  if (at == first) return "";
  if (list.size() >= kMostShown) list = list.substr(0, list.find(',')) + ", ...";
  const std::string as_list = Printable(fmt::format("'{}: [{}]'", before.key, list));
  if (!is_number) return fmt::format("in braces a ',' ends a value: write {}", as_list);
  return fmt::format("a number has no ',' in it: write '{}: {}'{}", before.key, number, is_list ? fmt::format(", or {} for several values", as_list) : "");
}

class Filler {
 public:
  // `root` is what is filled in the end. With a grid, the fields of a sweep may have lists where they take one value.
  Filler(const YamlTree& tree, const Descriptor& root, FieldGrid* grid = nullptr) : tree_(tree), root_(root), grid_(grid) {}

  // `more` are keys that the caller reads itself; `path` is how error messages call the mapping.
  absl::Status Fill(const YamlNode& mapping, const std::string& path, Message& message,
                    const std::set<std::string>& more = {}) {
    for (size_t i = 0; i < mapping.entries.size(); ++i) {
      const YamlNode::Entry& entry = mapping.entries[i];
      if (more.contains(entry.key)) continue;
      const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(entry.key);
      if (field == nullptr) return Unknown(mapping, i, path, *message.GetDescriptor(), more);
      const std::string field_path = path.empty() ? field->name() : path + "." + field->name();
      RETURN_IF_ERROR(FillField(entry, field_path, *field, message));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Unknown(const YamlNode& mapping, size_t at, const std::string& path, const Descriptor& type,
                       const std::set<std::string>& more) {
    const YamlNode::Entry& entry = mapping.entries[at];
    const std::string message = fmt::format("unknown field '{}'", Printable(entry.key));
    std::vector<std::string> known = FieldNames(type);
    known.insert(known.end(), more.begin(), more.end());
    const std::string meant = Meant(entry.key, path, type, known);
    if (const std::string comma = HintOfComma(tree_, mapping, at, type); meant.empty() && !comma.empty()) return tree_.ErrorAt(entry.key_place, message, comma);
    const std::string where = path.empty() ? "a sweep" : fmt::format("'{}'", path);
    return tree_.ErrorAt(entry.key_place, message, JoinHints(meant, fmt::format("{} has: {}", where, Join(known, ", "))));
  }

  // Instead of a field of the group `type`, which has the `known` ones.
  std::string Meant(const std::string& key, const std::string& path, const Descriptor& type, const std::vector<std::string>& known) const {
    const std::string key_path = path.empty() ? key : path + "." + key;
    // A group may have slipped into another.
    std::string meant = root_.FindFieldByName(key) != nullptr ? key : FieldCalled(key_path, root_);
    if (meant.empty()) {
      if (std::string own = DidYouMean(key, known); !own.empty()) return own;
      meant = FieldNear(key_path, root_);
    }
    if (meant.empty()) return "";
    const std::string name = meant.substr(meant.rfind('.') + 1);
    if (type.FindFieldByName(name) != nullptr) return fmt::format("did you mean '{}'?", name);
    // Of a system it may be below that.
    std::string group = PathBelow(type, name);
    if (group.empty() && meant != name) group = meant.substr(0, meant.rfind('.'));
    const std::string where = group.empty() ? "in no group" : fmt::format("under '{}:'", group);
    return name == key ? fmt::format("'{}' belongs {};", name, where) : fmt::format("did you mean '{}', which belongs {}?", name, where);
  }

  absl::Status FillField(const YamlNode::Entry& entry, const std::string& path, const FieldDescriptor& field,
                         Message& message) {
    const YamlNode& value = tree_.node(entry.value);
    if (field.message_type() != nullptr) return FillGroup(entry, path, field, message);
    const bool several = value.kind == YamlNode::Kind::kSequence || (value.kind == YamlNode::Kind::kScalar && IsList(value.text, field));
    if (several && !field.is_repeated() && grid_ != nullptr) return FillGrid(value, path, field, message);
    if (value.kind == YamlNode::Kind::kSequence && field.is_repeated()) {
      if (value.items.empty()) {
        return tree_.ErrorAt(value.place, fmt::format("{}: a list without a value", path), HintOfNothing(path));
      }
      for (const int item : value.items) RETURN_IF_ERROR(FillScalar(tree_.node(item), path, field, message));
      return absl::OkStatus();
    }
    return FillScalar(value, path, field, message);
  }

  // A list for a field of one value.
  absl::Status FillGrid(const YamlNode& value, const std::string& path, const FieldDescriptor& field, Message& message) {
    if (const std::string why = WhyNoGrid(path); !why.empty()) {
      return tree_.ErrorAt(value.place, fmt::format("{}: a list where one value belongs", path), why);
    }
    GridField several{.path = path, .where = SplitError(tree_.ErrorAt(value.place, path)).message, .values = {}};
    if (value.kind != YamlNode::Kind::kSequence) {
      RETURN_IF_ERROR(AddValues(value, path, field, message, several.values));
    } else if (value.items.empty()) {
      return tree_.ErrorAt(value.place, fmt::format("{}: a list without a value", path), "leave the field out to get its default");
    }
    for (const int item : value.items) {
      RETURN_IF_ERROR(AddValues(tree_.node(item), path, field, message, several.values));
    }
    return PutIntoGrid(std::move(several), field, message, *grid_);
  }

  absl::Status AddValues(const YamlNode& value, const std::string& path, const FieldDescriptor& field, const Message& message,
                         std::vector<std::string>& values) {
    RETURN_IF_ERROR(CheckScalar(value, path));
    const absl::Status status = ParseValues(value.text, field, message, kMaxGridSystems, values);
    return status.ok() ? status : ErrorIn(value, path, status);
  }

  absl::Status FillScalar(const YamlNode& value, const std::string& path, const FieldDescriptor& field,
                          Message& message) {
    RETURN_IF_ERROR(CheckScalar(value, path));
    const absl::Status status = ParseIntoField(value.text, field, message);
    return status.ok() ? status : ErrorIn(value, path, status);
  }

  // What is wrong with a field's value.
  absl::Status ErrorIn(const YamlNode& value, const std::string& path, const absl::Status& status) {
    const ErrorText text = SplitError(status);
    return tree_.ErrorAt(value.place, fmt::format("{}: {}", path, text.message), text.hint);
  }

  // What to do where nothing stands as a value. An axis has no default that it could be left to.
  static std::string_view HintOfNothing(std::string_view path) {
    return path.starts_with("axes.") ? "give at least one value" : "leave the field out to get its default";
  }

  absl::Status CheckScalar(const YamlNode& value, const std::string& path) {
    RETURN_IF_ERROR(CountVisit(value));
    switch (value.kind) {
      case YamlNode::Kind::kScalar: break;
      case YamlNode::Kind::kNull:
        return tree_.ErrorAt(value.place, fmt::format("{}: no value", path), HintOfNothing(path));
      case YamlNode::Kind::kSequence:
        return tree_.ErrorAt(value.place, fmt::format("{}: a list where one value belongs", path));
      case YamlNode::Kind::kMapping:
        // To YAML a ':' with a blank behind it makes a field.
        return tree_.ErrorAt(value.place, fmt::format("{}: fields where a value belongs", path),
                             path.ends_with("axes.encoding") ? "an encoding is written without a blank behind its ':', as in rope:randomized" : "");
    }
    return absl::OkStatus();
  }

  absl::Status FillGroup(const YamlNode::Entry& entry, const std::string& path, const FieldDescriptor& field,
                         Message& message) {
    const YamlNode& value = tree_.node(entry.value);
    const google::protobuf::Reflection& reflection = *message.GetReflection();
    if (!field.is_repeated()) return FillOne(value, path, *reflection.MutableMessage(&message, &field));
    if (value.kind != YamlNode::Kind::kSequence) {
      return tree_.ErrorAt(value.place, fmt::format("{}: expected a list", path),
                           "begin each entry with '- '");
    }
    for (const int item : value.items) {
      RETURN_IF_ERROR(FillOne(tree_.node(item), path, *reflection.AddMessage(&message, &field)));
    }
    return absl::OkStatus();
  }

  absl::Status FillOne(const YamlNode& value, const std::string& path, Message& message) {
    RETURN_IF_ERROR(CountVisit(value));
    // "training:" with all lines below commented out.
    if (value.kind == YamlNode::Kind::kNull) return absl::OkStatus();
    if (value.kind != YamlNode::Kind::kMapping) {
      return tree_.ErrorAt(value.place, fmt::format("{}: expected fields below it", path),
                           fmt::format("it has: {}", Join(FieldNames(*message.GetDescriptor()), ", ")));
    }
    return Fill(value, path, message);
  }

  absl::Status CountVisit(const YamlNode& node) {
    if (++visits_ <= kMaxVisits) return absl::OkStatus();
    return tree_.ErrorAt(node.place, "the file is too large once its aliases are followed");
  }

  const YamlTree& tree_;
  const Descriptor& root_;
  FieldGrid* grid_;
  int visits_ = 0;
};

constexpr const char* kTitleDependsOn = "title_depends_on";

// The table's list of paths, each of a field of the sweep.
absl::StatusOr<std::vector<std::string>> ReadTitleDependsOn(const YamlTree& tree, const YamlNode& list, v1::SweepSpec spec) {
  const auto refuse = [&](const YamlNode& value, const std::string& what, const std::string& hint) {
    return tree.ErrorAt(value.place, fmt::format("table.{}: {}", kTitleDependsOn, what), hint);
  };
  constexpr const char* kForm = "it is a list of fields' paths, as [training.lengths, encoding]";
  if (list.kind != YamlNode::Kind::kSequence) return refuse(list, "expected a list", kForm);
  std::vector<std::string> paths;
  for (const int item : list.items) {
    const YamlNode& path = tree.node(item);
    if (path.kind != YamlNode::Kind::kScalar) return refuse(path, "expected a text", kForm);
    if (const absl::Status found = FindField(path.text, spec).status(); !found.ok()) {
      const ErrorText text = SplitError(found);
      return refuse(path, text.message, text.hint);
    }
    paths.push_back(path.text);
  }
  return paths;
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) {
    return Error(errno == EACCES ? absl::StatusCode::kPermissionDenied : absl::StatusCode::kNotFound,
                 fmt::format("cannot read sweep file '{}': {}", Printable(path), std::strerror(errno)),
                 "name a file, or a preset: 'longreach list presets' shows them");
  }
  if (S_ISDIR(info.st_mode)) {
    return UsageError(fmt::format("'{}' is a folder", Printable(path)), "name the sweep file in it");
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error(absl::StatusCode::kPermissionDenied,
                 fmt::format("cannot read sweep file '{}': {}", Printable(path), errno == 0 ? "it does not open" : std::strerror(errno)),
                 "read it as a user who may, or make it readable");
  }
  // Hardly more than the reader admits, so that it can say so; the path may be a pipe or a device.
  std::string text;
  while (file && text.size() <= YamlTree::kMaxBytes) {
    char piece[1 << 14];
    file.read(piece, sizeof piece);
    text.append(piece, static_cast<size_t>(file.gcount()));
  }
  return text;
}

// A name that the scheduler admits, made of the file's.
std::string NameFromPath(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string().substr(0, kMaxNameBytes);
  for (char& c : name) {
    if (!IsNameCharacter(c)) c = '_';
  }
  return name;
}

// Gives the field at a path, which takes one value, those of a list.
absl::Status PutList(std::string_view text, const std::string& path, const FieldRef& at, FieldGrid& grid) {
  if (const std::string why = WhyNoGrid(path); !why.empty()) return UsageError("a list where one value belongs", why);
  GridField several{.path = path, .where = fmt::format("--set {}", path), .values = {}};
  RETURN_IF_ERROR(ParseValues(text, *at.field, *at.message, kMaxGridSystems, several.values));
  return PutIntoGrid(std::move(several), *at.field, *at.message, grid);
}

// A list may have the brackets that it has in a file: "[1, 2]" is "1, 2". A single text keeps them, as they may be part of it.
std::string_view WithoutBrackets(std::string_view text, const FieldDescriptor& field) {
  const bool is_text = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING && !field.is_repeated() && !IsList(text, field);
  const std::string_view list = Trim(text);
  return !is_text && list.size() >= 2 && list.front() == '[' && list.back() == ']' ? list.substr(1, list.size() - 2) : text;
}

// An axis goes by its bare name in --set alone.
std::string PathInFile(const std::string& path, const FieldDescriptor& field) {
  if (field.containing_type() != v1::Axes::descriptor()) return path;
  constexpr std::string_view kGroup = "axes.";
  const size_t name = path.size() - std::string_view(field.name()).size();
  return std::string_view(path).substr(0, name).ends_with(kGroup) ? path : fmt::format("{}{}{}", path.substr(0, name), kGroup, field.name());
}

// As a path, of a file in `folder`: that of this name, or of this name and an ending. Empty: there is none.
std::string FileMeant(const std::string& name, const std::filesystem::path& folder) {
  const auto is_there = [&folder](const std::string& file) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(folder / file, ignored);
  };
  if (is_there(name)) return "./" + name;
  for (const char* const ending : {".yaml", ".yml"}) {
    if (is_there(name + ending)) return name + ending;
  }
  return "";
}

}  // namespace

absl::StatusOr<SweepFile> ReadSweepFile(std::string_view text, std::string name) {
  ASSIGN_OR_RETURN(YamlTree parsed, YamlTree::Parse(text, std::move(name)));
  const auto whole = std::make_shared<const YamlTree>(std::move(parsed));
  const YamlTree& tree = *whole;
  SweepFile file;
  file.places = FieldPlaces(whole);
  RETURN_IF_ERROR(Filler(tree, *v1::SweepSpec::descriptor(), &file.grid).Fill(tree.root(), "", file.spec, {"summary", "table", "parts"}));
  for (const YamlNode::Entry& entry : tree.root().entries) {
    const YamlNode& value = tree.node(entry.value);
    if (entry.key == "summary") {
      if (value.kind != YamlNode::Kind::kScalar) {
        return tree.ErrorAt(value.place, "summary: expected one line of text");
      }
      file.summary = std::string(Trim(value.text));
    }
    if (entry.key == "table") {
      if (value.kind != YamlNode::Kind::kMapping) {
        return tree.ErrorAt(value.place, "table: expected fields below it",
                            "it has: rows, columns, metric, aggregate, ...");
      }
      file.has_table = true;
      RETURN_IF_ERROR(Filler(tree, *v1::TableSpec::descriptor()).Fill(value, "table", file.table, {kTitleDependsOn}));
      for (const YamlNode::Entry& field : value.entries) {
        if (field.key != kTitleDependsOn) continue;
        ASSIGN_OR_RETURN(file.title_depends_on, ReadTitleDependsOn(tree, tree.node(field.value), file.spec));
      }
      RETURN_IF_ERROR(CheckTableOrder(tree, value, file.table, file.spec, file.grid));
    }
    if (entry.key == "parts") {
      ASSIGN_OR_RETURN(file.parts, ReadParts(tree, value));
    }
  }
  if (file.parts.empty()) return file;
  for (const YamlNode::Entry& entry : tree.root().entries) {
    if (entry.key == "parts" || entry.key == "name" || entry.key == "summary") continue;
    return tree.ErrorAt(entry.key_place, fmt::format("{}: a file with parts has no settings of its own", entry.key),
                        "set it in the parts: '- {sweep: NAME, set: [PATH=VALUE]}'");
  }
  return file;
}

bool LooksLikePath(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".yaml") || name.ends_with(".yml");
}

absl::StatusOr<SweepFile> LoadSweep(const std::string& preset_or_path, const std::filesystem::path& folder) {
  if (!LooksLikePath(preset_or_path)) {
    if (const catalog::File* preset = catalog::FindPreset(preset_or_path); preset != nullptr) {
      ASSIGN_OR_RETURN(SweepFile file, ReadSweepFile(preset->text, fmt::format("preset {}", preset->name)));
      file.places = {};
      return file;
    }
    std::vector<std::string> known;
    for (const catalog::File& preset : catalog::Presets()) known.emplace_back(preset.name);
    std::string hint =
        JoinHints(DidYouMean(preset_or_path, known), "'longreach list presets' shows all of them");
    if (const std::string file = FileMeant(preset_or_path, folder); !file.empty()) {
      hint = IsStoreFile((folder / file).string()) ? fmt::format("'--store {}' names a store; a preset or a sweep file says what to train", Printable(preset_or_path))
                                   : fmt::format("there is a file {0} here: to read it, write '{0}'", Printable(file));
    }
    if (preset_or_path == "-") hint = "to read a sweep file from standard input, write /dev/stdin";
    return Error(absl::StatusCode::kNotFound,
                 fmt::format("there is no preset '{}'", Printable(preset_or_path)), hint);
  }
  const absl::StatusOr<std::string> text = ReadWholeFile(preset_or_path);
  if (absl::IsNotFound(text.status())) {
    if (const std::string meant = FileMeant(preset_or_path, {}); !meant.empty()) {
      return Error(absl::StatusCode::kNotFound, SplitError(text.status()).message, fmt::format("there is a file {0}: to read it, write '{0}'", Printable(meant)));
    }
  }
  RETURN_IF_ERROR(text.status());
  ASSIGN_OR_RETURN(SweepFile file, ReadSweepFile(*text, preset_or_path));
  if (file.spec.name().empty()) file.spec.set_name(NameFromPath(preset_or_path));
  return file;
}

absl::Status ApplyOverrides(const std::vector<std::string>& overrides, SweepFile& file) {
  std::set<std::pair<const Message*, const FieldDescriptor*>> seen;
  for (const std::string& argument : overrides) {
    const size_t equals = argument.find('=');
    const std::string path(Trim(std::string_view(argument).substr(0, equals)));
    if (equals == std::string::npos || path.empty()) {
      return UsageError(fmt::format("--set {}: expected PATH=VALUE", Printable(argument)),
                        "for example --set training.steps=1000 or --set seed=0..4");
    }
    if (path == "table" || path.starts_with("table.")) {
      return UsageError(fmt::format("--set {}: how results are printed is no part of the sweep", Printable(path)),
                        "say it in the sweep file, or as options of 'longreach results': --rows, --columns, --metric and others");
    }
    const auto at = [&path](const absl::Status& status) {
      const ErrorText text = SplitError(status);
      return UsageError(fmt::format("--set {}: {}", Printable(path), text.message), text.hint);
    };
    const absl::StatusOr<FieldRef> ref = FindField(path, file.spec);
    if (!ref.ok()) return at(ref.status());
    if (!seen.insert({ref->message, ref->field}).second) {
      return at(UsageError("given twice", ref->field->is_repeated() ? "write all values with ',' between them"
                                                                    : "remove one of the two"));
    }
    ref->message->GetReflection()->ClearField(ref->message, ref->field);
    const std::string_view text = WithoutBrackets(std::string_view(argument).substr(equals + 1), *ref->field);
    const bool several = !ref->field->is_repeated() && IsList(text, *ref->field);
    const absl::Status status = several ? PutList(text, path, *ref, file.grid) : ParseIntoField(text, *ref->field, *ref->message);
    if (!status.ok()) return at(status);
    if (!several) RemoveFromGrid(path, file.grid);
    file.places.Forget(PathInFile(path, *ref->field));
  }
  return absl::OkStatus();
}

}  // namespace longreach::client
