// The settings of jobs by their paths, as tables name them: "model.layers", "data". Those with one value; lists are none, nor are axes and
// inputs.
#pragma once

#include <google/protobuf/message.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace longreach {

// By path.
using SettingValues = std::map<std::string, std::string, std::less<>>;

// Ascending.
const std::vector<std::string>& SettingPaths();
bool IsSettingPath(std::string_view path);
// Those of the group that a wrong path names ("model.layer": all of model); of an unknown group all.
std::vector<std::string> SettingPathsNear(std::string_view path);
// Its values are numbers.
bool IsNumberSetting(std::string_view path);

// What a JobSpec or SweepSpec says, numbers as the shortest that read back the same. Empty: it says nothing.
std::string SettingOf(const google::protobuf::Message& spec, std::string_view path);

}  // namespace longreach
