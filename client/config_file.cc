#include "client/config_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "client/errors.h"
#include "client/output/text.h"
#include "client/spec/yaml_tree.h"
#include "proto/base/names.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

constexpr const char* kContexts = "contexts";

// Nothing but blanks and comments.
bool IsBlank(const std::string& text) {
  for (const std::string& line : Split(text, '\n')) {
    if (const std::string_view words = Trim(line); !words.empty() && words.front() != '#') return false;
  }
  return true;
}

std::filesystem::path PathOfConfigFile(const Environment& environment) {
  const std::filesystem::path folder = environment.variable("XDG_CONFIG_HOME");
  const std::filesystem::path home = environment.variable("HOME");
  if (folder.empty() && home.empty()) return {};
  return (folder.empty() ? home / ".config" : folder) / "longreach" / "config.yaml";
}

// Of the file itself, or of one of its contexts.
class Reader {
 public:
  Reader(const YamlTree& tree, const std::string& path) : tree_(tree), path_(path) {}

  absl::Status ReadInto(ConfigFile& file) const {
    std::vector<std::string> known = SettingNames();
    known.insert(known.end(), {kContextSetting, kContexts});
    for (const YamlNode::Entry& entry : tree_.root().entries) {
      if (entry.key == kContexts) {
        ASSIGN_OR_RETURN(file.contexts, Contexts(tree_.node(entry.value)));
      } else {
        ASSIGN_OR_RETURN(file.settings[entry.key], Value(entry, known, ""));
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<SettingValue> Value(const YamlNode::Entry& entry, const std::vector<std::string>& known, const std::string& context) const {
    const YamlNode& value = tree_.node(entry.value);
    const std::string of_context = context.empty() ? "" : fmt::format(" (context {})", context);
    if (std::ranges::find(known, entry.key) == known.end()) {
      return tree_.ErrorAt(entry.key_place, fmt::format("unknown setting '{}'{}", Printable(entry.key), of_context),
                           JoinHints(DidYouMean(entry.key, known), fmt::format("there are: {}", Join(known, ", "))));
    }
    if (value.kind != YamlNode::Kind::kScalar) {
      // One that is left out has the place of whatever comes next.
      const bool is_left_out = value.kind == YamlNode::Kind::kNull;
      return tree_.ErrorAt(is_left_out ? entry.key_place : value.place, fmt::format("{}: expected one value{}", entry.key, of_context),
                           is_left_out ? "write one behind it, or leave the line out" : "");
    }
    return SettingValue{.text = value.text, .origin = fmt::format("{}:{}:{}{}", path_, value.place.line, value.place.column, of_context)};
  }

  absl::StatusOr<std::vector<std::pair<std::string, SettingValues>>> Contexts(const YamlNode& node) const {
    std::vector<std::pair<std::string, SettingValues>> contexts;
    if (node.kind == YamlNode::Kind::kNull) return contexts;
    if (node.kind != YamlNode::Kind::kMapping) {
      return tree_.ErrorAt(node.place, "contexts: expected 'NAME: {setting: value}' lines", "such as 'cluster: {scheduler: head:7070, ca: ~/ca.crt}'");
    }
    for (const YamlNode::Entry& entry : node.entries) {
      if (!IsOfNameCharacters(entry.key) || entry.key.front() == '-') {
        return tree_.ErrorAt(entry.key_place, fmt::format("'{}' is no name for a context", Printable(entry.key)),
                             "write letters, digits, '-', '_' and '.', and no '-' in front");
      }
      ASSIGN_OR_RETURN(SettingValues settings, SettingsOf(entry));
      contexts.emplace_back(entry.key, std::move(settings));
    }
    return contexts;
  }

  absl::StatusOr<SettingValues> SettingsOf(const YamlNode::Entry& context) const {
    SettingValues settings;
    const YamlNode& node = tree_.node(context.value);
    if (node.kind == YamlNode::Kind::kNull) return settings;
    if (node.kind != YamlNode::Kind::kMapping) {
      return tree_.ErrorAt(node.place, fmt::format("context {}: expected 'setting: value' lines", context.key), fmt::format("there are: {}", Join(SettingNames(), ", ")));
    }
    for (const YamlNode::Entry& entry : node.entries) {
      ASSIGN_OR_RETURN(settings[entry.key], Value(entry, SettingNames(), context.key));
    }
    return settings;
  }

  const YamlTree& tree_;
  const std::string& path_;
};

}  // namespace

const std::vector<std::string>& SettingNames() {
  static const std::vector<std::string> names = {"scheduler", "store", "output", "color", "ca", "certificate", "key", "token_file"};
  return names;
}

std::vector<std::string> ConfigFile::ContextNames() const {
  std::vector<std::string> names;
  names.reserve(contexts.size());
  for (const auto& [name, settings_of_it] : contexts) names.push_back(name);
  return names;
}

absl::StatusOr<ConfigFile> ReadConfigFile(const Environment& environment) {
  const std::filesystem::path path = PathOfConfigFile(environment);
  if (path.empty()) return ConfigFile{};
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  ConfigFile found{.path = path.string(), .exists = std::filesystem::exists(path, error) || error, .read = file.is_open()};
  if (!file) return found;
  std::ostringstream text;
  text << file.rdbuf();
  if (IsBlank(text.str())) return found;
  ASSIGN_OR_RETURN(const YamlTree tree, YamlTree::Parse(text.str(), found.path));
  RETURN_IF_ERROR(Reader(tree, found.path).ReadInto(found));
  return found;
}

}  // namespace longreach::client
