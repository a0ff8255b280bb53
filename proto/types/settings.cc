#include "proto/types/settings.h"

#include <algorithm>
#include <iterator>

#include "proto/base/text.h"
#include "proto/types/field_text.h"

namespace longreach {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr const char* kGroups[] = {"model", "positions", "training", "evaluation"};

bool IsSingle(const FieldDescriptor& field) { return !field.is_repeated() && field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE; }

std::vector<std::string> AllPaths() {
  std::vector<std::string> paths = {"data"};
  for (const char* group : kGroups) {
    const FieldDescriptor& field = *v1::JobSpec::descriptor()->FindFieldByName(group);
    for (int i = 0; i < field.message_type()->field_count(); ++i) {
      const FieldDescriptor& setting = *field.message_type()->field(i);
      if (IsSingle(setting)) paths.push_back(field.name() + "." + setting.name());
    }
  }
  std::ranges::sort(paths);
  return paths;
}

// nullptr: there is none.
const FieldDescriptor* FindIn(const Descriptor& type, std::string_view path) {
  const size_t dot = path.find('.');
  const FieldDescriptor* field = type.FindFieldByName(std::string(path.substr(0, dot)));
  if (dot == std::string_view::npos || field == nullptr || field->message_type() == nullptr) return field;
  return FindIn(*field->message_type(), path.substr(dot + 1));
}

std::string LastWordOf(std::string_view path) { return std::string(path.substr(path.rfind('.') + 1)); }

}  // namespace

const std::vector<std::string>& SettingPaths() {
  static const std::vector<std::string> paths = AllPaths();
  return paths;
}

bool IsSettingPath(std::string_view path) { return std::ranges::binary_search(SettingPaths(), path); }

std::vector<std::string> SettingPathsNear(std::string_view path) {
  const std::string_view group = path.substr(0, path.find('.') + 1);
  std::vector<std::string> near;
  for (const std::string& one : SettingPaths()) {
    if (!group.empty() && one.starts_with(group)) near.push_back(one);
  }
  return near.empty() ? SettingPaths() : near;
}

bool NamesSettingGroup(std::string_view path) {
  const size_t dot = path.find('.');
  return dot != std::string_view::npos && std::ranges::find(kGroups, path.substr(0, dot)) != std::end(kGroups);
}

std::string WhereSettingsAre() {
  return Text("settings begin with ", Join({std::begin(kGroups), std::end(kGroups)}, "., "), ".; 'longreach list fields' shows all of them");
}

std::vector<std::string> AxesMeant(std::string_view word, const std::vector<std::string>& axes) {
  std::vector<std::string> words = axes;
  for (const std::string& path : SettingPaths()) words.push_back(LastWordOf(path));
  std::string closest = ClosestWord(word, words);
  if (closest.empty()) closest = ClosestWord(word, axes);  // "lr" is short for learning_rate, but for learned_rows too.
  if (closest.empty() || std::ranges::find(axes, closest) != axes.end()) return closest.empty() ? std::vector<std::string>() : std::vector{closest};
  std::vector<std::string> meant = SettingPaths();
  std::erase_if(meant, [&closest](const std::string& path) { return LastWordOf(path) != closest; });
  return meant;
}

bool IsFlagSetting(std::string_view path) {
  return IsSettingPath(path) && FindIn(*v1::JobSpec::descriptor(), path)->cpp_type() == FieldDescriptor::CPPTYPE_BOOL;
}

bool IsNumberSetting(std::string_view path) {
  if (!IsSettingPath(path)) return false;
  const FieldDescriptor::CppType type = FindIn(*v1::JobSpec::descriptor(), path)->cpp_type();
  return type != FieldDescriptor::CPPTYPE_STRING && type != FieldDescriptor::CPPTYPE_BOOL && type != FieldDescriptor::CPPTYPE_ENUM;
}

std::string SettingOf(const Message& spec, std::string_view path) {
  const size_t dot = path.find('.');
  const FieldDescriptor* field = spec.GetDescriptor()->FindFieldByName(std::string(path.substr(0, dot)));
  if (field == nullptr) return "";
  if (dot == std::string_view::npos) return IsSingle(*field) && spec.GetReflection()->HasField(spec, field) ? FieldText(spec, *field) : "";
  if (field->is_repeated() || field->message_type() == nullptr) return "";
  return SettingOf(spec.GetReflection()->GetMessage(spec, field), path.substr(dot + 1));
}

void ClearSettings(v1::SweepSpec& spec) {
  spec.clear_data();
  const google::protobuf::Reflection& at = *spec.GetReflection();
  for (const char* name : kGroups) {
    const FieldDescriptor& field = *spec.GetDescriptor()->FindFieldByName(name);
    if (!at.HasField(spec, &field)) continue;
    Message& group = *at.MutableMessage(&spec, &field);
    std::vector<const FieldDescriptor*> settings;
    group.GetReflection()->ListFields(group, &settings);
    for (const FieldDescriptor* setting : settings) {
      if (IsSingle(*setting)) group.GetReflection()->ClearField(&group, setting);
    }
    if (group.ByteSizeLong() == 0) at.ClearField(&spec, &field);
  }
}

}  // namespace longreach
